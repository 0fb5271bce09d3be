"""What is owed to people: planned, sent piece by piece, retried until it arrived or was given up openly."""
