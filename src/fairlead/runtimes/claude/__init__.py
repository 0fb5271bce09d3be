"""Claude Code, long-lived over its control protocol or once per turn."""
