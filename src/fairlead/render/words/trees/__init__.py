"""What is said about the files of projects: changes, undo. One module for each language."""
