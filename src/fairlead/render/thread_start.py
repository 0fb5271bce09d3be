"""What stands at the head of a session's thread. The same in every language: names and a path."""

from fairlead.core.state import Project
from fairlead.render.safe_text import one_line


def opening_text(project: Project, tool: str) -> str:
    return f"**{project.name}** · {tool}\n-# {one_line(project.path, 1000)}"


def thread_name(project: str, since: str) -> str:
    """`since` is when it was asked for, so that the name is the same on every attempt."""
    return f"{project} · {since[5:10]} {since[11:16]}"
