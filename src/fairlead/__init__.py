"""Fairlead leads every chat conversation to its own coding-agent session, and the answers back."""

__version__ = "0.1.0"
