"""The words of a status message: what the job does now, in one message. Pure."""

from typing import Final

import msgspec

from fairlead.core.job_states import JobState
from fairlead.render.live_text import LiveTextView
from fairlead.render.replies import duration
from fairlead.render.split import discord_length, split_lines
from fairlead.render.words import say

_TEXT_ROOM: Final = 1500
_SIGN: Final = {
    "queued": "🕓",
    "running": "⏳",
    "waiting": "✋",
    "success": "✅",
    "failed": "❌",
    "cancelled": "🚫",
    "unknown_after_crash": "❌",
    "withdrawn": "🚫",
}
_WORD: Final = {"success": "done"}


class Picture(msgspec.Struct, frozen=True):
    """All that a status message shows, apart from how long it has been."""

    job_id: str
    state: JobState
    shown: LiveTextView = LiveTextView()


def status_text(picture: Picture, seconds: float, lang: str) -> str:
    shown = picture.shown
    word = say(lang, f"status.{_WORD.get(picture.state, picture.state)}", elapsed=duration(seconds))
    head = f"{_SIGN[picture.state]} {word}"
    if picture.state == "running" and shown.activity:
        head = f"{head} · {shown.activity}"
    lines = [head, f"-# {picture.job_id}"]
    if picture.state == "running" and shown.tool_line:
        lines.insert(0, shown.tool_line)
    if picture.state in {"running", "waiting"} and shown.text:
        lines.append(newest_part(shown.text))
    return "\n".join(lines)


def newest_part(text: str) -> str:
    """As much of the end as a status message holds, with its code blocks whole."""
    if len(text) <= _TEXT_ROOM:
        pieces = split_lines(text, _TEXT_ROOM + 100, discord_length)
    else:
        pieces = split_lines(text[-_TEXT_ROOM * 2 :], _TEXT_ROOM, discord_length)
    return pieces[-1].text if pieces else ""
