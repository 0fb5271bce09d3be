"""The descriptions of the commands, one file per language."""
