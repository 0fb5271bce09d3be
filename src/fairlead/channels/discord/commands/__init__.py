"""Slash commands: the tree, who calls, the acknowledgement, the reply."""
