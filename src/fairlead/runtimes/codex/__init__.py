"""Codex, once per turn."""
