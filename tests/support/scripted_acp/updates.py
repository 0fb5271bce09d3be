"""Orders that send updates and nothing else: text, thoughts, pictures, plans, usage, titles, modes, unknown kinds."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from .settings import text_block
from .wire import Payload

if TYPE_CHECKING:
    from .turn import Turn

PICTURE = (  # one pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
UNKNOWN_UPDATES: tuple[Payload, ...] = (
    {"sessionUpdate": "notice", "severity": "warning", "title": "Rate limit near", "description": "81 % used"},
    {"sessionUpdate": "compaction_update", "compactionId": "compaction_1", "status": "in_progress"},
    {"sessionUpdate": "subagent_update", "subagentId": "subagent_1", "status": "running"},
    {"sessionUpdate": "from-the-future", "what": [1, {"deep": None}]},
    {"sessionUpdate": 42},
    {},
)


def say(turn: "Turn", rest: str) -> None:
    turn.say(rest.replace("\\n", "\n"))


def think(turn: "Turn", rest: str) -> None:
    turn.update("agent_thought_chunk", content=text_block(rest))


def image(turn: "Turn", rest: str) -> None:
    for _ in range(int(rest or 1)):
        turn.update("agent_message_chunk", content={"type": "image", "mimeType": "image/png", "data": PICTURE})


def plan(turn: "Turn", rest: str) -> None:
    turn.update("plan", entries=_entries(rest))


def plan_update(turn: "Turn", rest: str) -> None:
    turn.update("plan_update", plan={"type": "items", "planId": "plan_1", "entries": _entries(rest)})


def plan_text(turn: "Turn", rest: str) -> None:
    turn.update("plan_update", plan={"type": "markdown", "planId": "plan_1", "content": rest.replace("\\n", "\n")})


def plan_removed(turn: "Turn") -> None:
    turn.update("plan_removed", planId="plan_1")


def _entries(rest: str) -> list[Payload]:
    """`read | edit | test`: the first is done, the second is being done; `*read` is done wherever it stands."""
    entries: list[Payload] = []
    for place, item in enumerate(rest.split("|")):
        status = ("completed", "in_progress", "pending")[min(place, 2)]
        status = "completed" if item.strip().startswith("*") else status
        entries.append({"content": item.strip().lstrip("*"), "priority": "medium", "status": status})
    return entries


def commands(turn: "Turn", rest: str) -> None:
    turn.agent.announce_commands(turn.session.session_id, rest.split())


def mode(turn: "Turn", rest: str) -> None:
    turn.agent.settings.change_mode(turn.session, rest, turn.agent.announcer(turn.session))


def model(turn: "Turn", rest: str) -> None:
    turn.agent.settings.change_model(turn.session, rest, turn.agent.announcer(turn.session))


def context(turn: "Turn", rest: str) -> None:
    used, size, *cost = rest.split()
    price: Payload = {"cost": {"amount": float(cost[0]), "currency": "USD"}} if cost else {}
    turn.update("usage_update", used=int(used), size=int(size), **price)


def usage(turn: "Turn", rest: str) -> None:
    numbers = [int(word) for word in rest.split()]
    turn.usage = (numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 0)


def title(turn: "Turn", rest: str) -> None:
    turn.session.title = rest
    turn.update("session_info_update", title=rest)


def unknown(turn: "Turn") -> None:
    for update in UNKNOWN_UPDATES:
        _send_unchecked(turn, update)


def update(turn: "Turn", rest: str) -> None:
    _send_unchecked(turn, json.loads(rest))


def _send_unchecked(turn: "Turn", what: Payload) -> None:
    params = {"sessionId": turn.session.session_id, "update": what}
    turn.wire.stdout.write_message({"jsonrpc": "2.0", "method": "session/update", "params": params})


WITH_REST: dict[str, Callable[["Turn", str], None]] = {
    "say": say,
    "think": think,
    "image": image,
    "plan": plan,
    "plan-update": plan_update,
    "plan-text": plan_text,
    "commands": commands,
    "mode": mode,
    "model": model,
    "context": context,
    "usage": usage,
    "title": title,
    "update": update,
}
ALONE: dict[str, Callable[["Turn"], None]] = {"plan-removed": plan_removed, "unknown": unknown}
