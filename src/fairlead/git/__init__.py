"""Work trees of projects, by the real git: snapshots, changes, worktrees. Knows no job and no channel."""
