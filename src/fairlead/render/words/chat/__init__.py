"""What chat channels that send by themselves say, one file per language."""
