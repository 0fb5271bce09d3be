"""What people read about worktrees of sessions, a file for each language."""
