"""The text of a status message: the job's state, its id, the agent's activity and newest words. Pure."""

from typing import Final

from fairlead.channels.push.job_status import StatusContent
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


def status_text(content: StatusContent, seconds: float, lang: str) -> str:
    live = content.live_text
    word = say(lang, f"status.{_WORD.get(content.state, content.state)}", elapsed=duration(seconds))
    head = f"{_SIGN[content.state]} {word}"
    if content.state == "running" and live.activity:
        head = f"{head} · {live.activity}"
    lines = [head, f"-# {content.job_id}"]
    if content.state == "running" and live.tool_line:
        lines.insert(0, live.tool_line)
    if content.state in {"running", "waiting"} and live.text:
        lines.append(newest_part(live.text))
    return "\n".join(lines)


def newest_part(text: str) -> str:
    """As much of the end as a status message holds, with its code blocks whole."""
    if len(text) <= _TEXT_ROOM:
        pieces = split_lines(text, _TEXT_ROOM + 100, discord_length)
    else:
        pieces = split_lines(text[-_TEXT_ROOM * 2 :], _TEXT_ROOM, discord_length)
    return pieces[-1].text if pieces else ""
