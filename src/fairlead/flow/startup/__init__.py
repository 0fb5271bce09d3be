"""The steps of a start, in order, before any job may run."""
