"""What every channel's commands do, each of them once."""
