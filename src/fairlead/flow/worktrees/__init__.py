"""Worktrees of sessions: git does what the journal says, and the journal says what git did."""
