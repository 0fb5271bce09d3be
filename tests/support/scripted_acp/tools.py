"""Orders that use tools without asking: calls with locations and diffs, calls that fail, stay open or begin empty."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from .tool_styles import STYLES, PlainTools
from .wire import Payload

if TYPE_CHECKING:
    from .turn import Turn

KINDS = {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
_FIELDS = {"execute": "command", "search": "pattern", "fetch": "url", "think": "thought"}


def describe_tool(turn: "Turn", rest: str) -> Payload:
    """`execute ls -la`: the kind, then what the tool is used on. Without a known kind it is a command."""
    kind, _, what = rest.partition(" ")
    if kind not in KINDS:
        kind, what = "execute", rest
    call: Payload = {"toolCallId": f"call_{os.urandom(6).hex()}", "title": what, "kind": kind}
    if kind in {"read", "edit", "delete", "move"}:
        path = os.path.join(turn.session.cwd, what)
        return call | {"rawInput": {"file_path": path}, "locations": [{"path": path, "line": 1}]}
    return call | {"rawInput": {_FIELDS.get(kind, "input"): what}}


def start(turn: "Turn", call: Payload) -> None:
    turn.open_tools.append(call)
    turn.requests += 1
    _style(turn).begin(turn, call)


def start_asked(turn: "Turn", call: Payload) -> None:
    turn.open_tools.append(call)
    turn.requests += 1
    _style(turn).begin_asked(turn, call)


def end(turn: "Turn", call: Payload, status: str = "completed", output: str = "") -> None:
    turn.open_tools.remove(call)
    _style(turn).end(turn, call, status, output or f"ran {call['title']}")


def refuse(turn: "Turn", call: Payload) -> None:
    turn.open_tools.remove(call)
    _style(turn).refuse(turn, call)


def shown_in_a_question(turn: "Turn", call: Payload) -> Payload:
    return _style(turn).shown(call)


def end_cancelled(turn: "Turn") -> None:
    """What the switch says becomes of the tools that are open when the turn is cancelled."""
    status = str(turn.switches.cancelled_tool)
    for call in list(turn.open_tools):
        if status == "none":
            turn.open_tools.remove(call)
        else:
            end(turn, call, status, "Command cancelled by user before it could complete.")


def _style(turn: "Turn") -> PlainTools:
    return STYLES[turn.switches.tools]


def tool(turn: "Turn", rest: str) -> None:
    call = describe_tool(turn, rest)
    start(turn, call)
    end(turn, call)


def tool_failed(turn: "Turn", rest: str) -> None:
    call = describe_tool(turn, rest)
    start(turn, call)
    end(turn, call, "failed", "exit code 1")


def tool_grows(turn: "Turn", rest: str) -> None:
    """The call begins empty; its input and its title come in an update."""
    call = describe_tool(turn, rest)
    turn.open_tools.append(call)
    turn.requests += 1
    empty = {"toolCallId": call["toolCallId"], "title": "Terminal", "kind": call["kind"], "rawInput": {}}
    turn.update("tool_call", **empty, status="pending", content=[])
    turn.update("tool_call_update", **call, status="in_progress")
    end(turn, call)


def tool_open(turn: "Turn", rest: str) -> None:
    start(turn, describe_tool(turn, rest))


def tool_close(turn: "Turn") -> None:
    end(turn, turn.open_tools[-1])


def diff(turn: "Turn", rest: str) -> None:
    """`diff: PATH OLD => NEW`; without OLD the file is new."""
    path, _, change = rest.partition(" ")
    old, _, new = change.partition("=>")
    call = describe_tool(turn, f"edit {path}")
    shown: Payload = {"type": "diff", "path": call["locations"][0]["path"], "newText": new.strip() + "\n"}
    shown["oldText"] = old.strip() + "\n" if old.strip() else None
    start(turn, call)
    turn.open_tools.remove(call)
    turn.update("tool_call_update", toolCallId=call["toolCallId"], status="completed", content=[shown])


def terminal(turn: "Turn", rest: str) -> None:
    """A command as Codex shows it, whatever agent this one is like."""
    call = describe_tool(turn, f"execute {rest}")
    turn.requests += 1
    STYLES["codex"].begin(turn, call)
    STYLES["codex"].end(turn, call, "completed", f"ran {rest}")


WITH_REST: dict[str, Callable[["Turn", str], None]] = {
    "tool": tool,
    "tool-failed": tool_failed,
    "tool-grows": tool_grows,
    "tool-open": tool_open,
    "diff": diff,
    "terminal": terminal,
}
ALONE: dict[str, Callable[["Turn"], None]] = {"tool-close": tool_close}
