"""Sessions that are started for a task, and the way of their completions."""
