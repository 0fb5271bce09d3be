"""Gemini CLI, once per turn."""
