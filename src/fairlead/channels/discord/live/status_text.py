"""The text of a status message: the job's state, its steps, list and sub-agents, its id, the newest words. Pure."""

from typing import Final

from fairlead.channels.discord.outbound.messages import show_moment
from fairlead.channels.push.job_status import StatusContent
from fairlead.core.engine import TodoItem
from fairlead.render.durations import duration
from fairlead.render.live_text import LiveStep, LiveTextView, SubAgent
from fairlead.render.safe_text import one_line, quote_inline
from fairlead.render.split import split_lines
from fairlead.render.words import say

_LIMIT: Final = 1900
_LEAST_TEXT: Final = 300
_STEP: Final = 100
_TODO: Final = 80
_TODOS_SHOWN: Final = 8
_SUB_AGENTS_SHOWN: Final = 4
_SIGN: Final = {
    "queued": "🕓",
    "running": "⏳",
    "steering": "↪️",
    "steered": "↪️",
    "waiting": "✋",
    "success": "✅",
    "failed": "❌",
    "cancelled": "🚫",
    "unknown_after_crash": "❌",
    "withdrawn": "🚫",
}
_WORD: Final = {"success": "done"}
_TODO_SIGN: Final = {"completed": "☑", "in_progress": "▸", "pending": "☐"}


def status_text(content: StatusContent, seconds: float, lang: str) -> str:
    """`seconds` is how long the job has been running; the times of `content` are seconds since its start."""
    live = content.live_text
    word = say(lang, f"status.{_WORD.get(content.state, content.state)}", elapsed=duration(seconds))
    head = " · ".join(filter(None, (f"{_SIGN[content.state]} {word}", content.machine)))
    if content.state == "running" and live.tool_line:
        head = f"{head} · {live.tool_line}"
    is_live = content.state in {"running", "waiting"}
    allowed = [f"-# {content.allowed_by}"] if content.state == "running" and content.allowed_by else []
    lines = [
        head,
        *_away_lines(content, lang),
        *(_work_lines(live, seconds, lang) if is_live else ()),
        *allowed,
        f"-# {content.job_id}",
    ]
    text = "\n".join(lines)
    if is_live and live.text:
        text = f"{text}\n{newest_part(live.text, max(_LIMIT - len(text), _LEAST_TEXT))}"
    return text


def _away_lines(content: StatusContent, lang: str) -> list[str]:
    if not content.machine_away_since:
        return []
    since = show_moment(content.machine_away_since)
    return [say(lang, "chat.machine_lost", machine=content.machine, since=since)]


def _work_lines(live: LiveTextView, seconds: float, lang: str) -> list[str]:
    hidden = live.steps_ended - sum(not step.is_running for step in live.steps)
    return [
        *([f"✓ {_steps(hidden, lang)} …"] if hidden else []),
        *map(_step_line, live.steps),
        *(_sub_agent_line(each, seconds, lang) for each in live.sub_agents[:_SUB_AGENTS_SHOWN]),
        *_todo_lines(live.todos, lang),
    ]


def _steps(count: int, lang: str) -> str:
    return say(lang, "chat.one_step") if count == 1 else say(lang, "chat.steps", count=count)


def _step_line(step: LiveStep) -> str:
    sign = "▸" if step.is_running else "✓" if step.ok else "✗"
    return f"{sign} {one_line(step.label, _STEP)}"


def _sub_agent_line(sub_agent: SubAgent, seconds: float, lang: str) -> str:
    parts = [one_line(sub_agent.label, _STEP), duration(max(0.0, seconds - sub_agent.since))]
    if sub_agent.steps:
        parts.append(_steps(sub_agent.steps, lang))
    return f"🤖 {' · '.join(parts)}"


def _todo_lines(todos: tuple[TodoItem, ...], lang: str) -> list[str]:
    """The list around the item at work: of a long list, what was done first goes first."""
    at_work = next((i for i, item in enumerate(todos) if item.status != "completed"), len(todos))
    start = max(0, min(at_work - 2, len(todos) - _TODOS_SHOWN))
    shown = todos[start : start + _TODOS_SHOWN]
    left = len(todos) - start - len(shown)
    return [
        *([f"☑ {say(lang, 'chat.todo_more', count=start)}"] if start else []),
        *(f"{_TODO_SIGN[item.status]} {quote_inline(item.text, _TODO)}" for item in shown),
        *([f"☐ {say(lang, 'chat.todo_more', count=left)}"] if left else []),
    ]


def newest_part(text: str, room: int) -> str:
    """As much of the end as there is room for, with its code blocks whole."""
    is_whole = len(text) <= room
    pieces = split_lines(text if is_whole else text[-room * 2 :], room + 100 if is_whole else room)
    return pieces[-1].text if pieces else ""
