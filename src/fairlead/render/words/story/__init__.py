"""What became of a message, step by step: `/why`."""
