"""What commands reply, one file per language."""
