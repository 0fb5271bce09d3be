"""What people send, on its way into the journal."""
