"""The application: from a message that came in to an answer that went out. Knows only ports."""
