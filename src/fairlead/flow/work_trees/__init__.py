"""The files that turns work on: snapshots at their start and end, what changed, undo."""
