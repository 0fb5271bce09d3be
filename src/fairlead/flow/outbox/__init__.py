"""Outbox entries: planned, sent piece by piece, and tried again until the person has them or is told of the failure."""
