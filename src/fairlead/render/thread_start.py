"""What stands at the head of a session's thread, and what the thread is called. The same in every language: names."""

import re
from typing import Final

from fairlead.core.state import Project
from fairlead.render.safe_text import one_line

_TITLE: Final = 80
_MARKS: Final = re.compile(r"<[@#][!&]?\d+>|[`*_~|]+|^#+\s*")


def opening_text(project: Project, tool: str, task: str = "", branch: str = "") -> str:
    """Without the project's path: everybody in the channel reads this. A session that was spawned names its task, one
    with a worktree its branch."""
    title = title_of_prompt(task)
    return f"**{project.name}** · {tool}" + (f" · `{branch}`" if branch else "") + (f" · ↳ {title}" if title else "")


def thread_name(project: str, since: str) -> str:
    """`since` is when it was asked for, so that the name is the same on every attempt."""
    return f"{project} · {since[5:10]} {since[11:16]}"


def is_opening_name(name: str, project: str) -> bool:
    """Whether a thread still has the name that it was opened with."""
    return re.fullmatch(rf"{re.escape(project)} · \d\d-\d\d \d\d:\d\d", name) is not None


def title_of_prompt(prompt: str) -> str:
    """The first line of a person's own words, without quotations and formatting; empty if there is none."""
    for line in prompt.splitlines():
        words = one_line(_MARKS.sub("", line), _TITLE)
        if words and not line.lstrip().startswith((">", "```")):
            return words
    return ""
