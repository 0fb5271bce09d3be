"""What a start does, in order, before any job may run."""
