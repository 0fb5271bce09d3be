"""What the terminal says, one file per language."""
