"""Schedules: the clock starts jobs, through the same way in as people."""
