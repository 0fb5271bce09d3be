"""Orders that break something: lines that are no JSON-RPC, floods, giant lines, a death, a deaf or silent process."""

import contextlib
import json
import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .wire import GARBAGE

if TYPE_CHECKING:
    from .turn import Turn

LIFETIME = 120  # seconds: what was left behind ends by itself if a test forgot it
BATCH = 500  # lines that a flood writes at once
MEGABYTE = 1_000_000


def garbage(turn: "Turn") -> None:
    turn.wire.stdout.write(b"".join(line + b"\n" for line in GARBAGE))


def raw(turn: "Turn", rest: str) -> None:
    """The line as it stands; `SESSION` in it becomes the session's id."""
    turn.wire.stdout.write(rest.replace("SESSION", turn.session.session_id).encode() + b"\n")


def call(turn: "Turn", rest: str) -> None:
    """`call: fs/read_text_file {"path": "/etc/hosts"}`: says what the client answers to a request it may not know."""
    method, _, params = rest.partition(" ")
    given = {"sessionId": turn.session.session_id, **json.loads(params or "{}")}
    response = turn.ask(method, given)
    error = response.get("error")
    answer = f"error {error['code']}" if error else f"result {json.dumps(response['result'])}"
    turn.say(f"{method}: {answer}")


def flood(turn: "Turn", rest: str) -> None:
    """`flood: 100000`: so many chunks `w0 w1 w2 …` of the message; `flood: 5 thought` of a thought."""
    count, _, kind = rest.partition(" ")
    update = {"sessionUpdate": f"agent_{kind or 'message'}_chunk", "content": {"type": "text", "text": "w%d "}}
    params = {"sessionId": turn.session.session_id, "update": update}
    line = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}) + "\n"
    for start in range(0, int(count), BATCH):
        numbers = range(start, min(start + BATCH, int(count)))
        turn.wire.stdout.write("".join(line % number for number in numbers).encode())
        turn.look_up()
    turn.said.append(f"({count} words)")


def big(turn: "Turn", rest: str) -> None:
    """`big: 60`: one chunk in a line of so many megabytes; `big: 60 tool`: the output of a tool."""
    megabytes, _, kind = rest.partition(" ")
    if kind == "tool":
        update = {"sessionUpdate": "tool_call", "toolCallId": "call_big", "title": "big", "kind": "read"}
        update |= {"status": "completed", "rawOutput": {"output": "@"}}
    else:
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "@"}}
    params = {"sessionId": turn.session.session_id, "update": update}
    head, _, tail = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).partition("@")
    size = int(float(megabytes) * MEGABYTE) - len(head) - len(tail) - 1
    turn.wire.stdout.write(head.encode() + b"x" * size + tail.encode() + b"\n")
    turn.said.append(f"({megabytes} MB)")


def stderr(turn: "Turn", rest: str) -> None:
    os.write(2, rest.replace("\\n", "\n").encode() + b"\n")


def leave(turn: "Turn", rest: str) -> None:
    """`exit: 3 out of memory`: the code, and the last words on stderr."""
    code, _, words = rest.partition(" ")
    if words:
        stderr(turn, words)
    os._exit(int(code))


def cut(turn: "Turn", rest: str) -> None:
    """Half a line, with half a character at its end; then the process ends with this code."""
    turn.wire.stdout.write(b'{"jsonrpc": "2.0", "method": "session/update", "params": {"x": "' + "é".encode()[:1])
    os._exit(int(rest))


def close_stdout(turn: "Turn") -> None:
    """The process stays, and can never be heard again."""
    signal.alarm(LIFETIME)
    turn.wire.stdout.close()


def deaf(turn: "Turn") -> None:
    """No line is taken from stdin any more, not even its end; the turn goes on."""
    signal.alarm(LIFETIME)
    turn.wire.stdin.stop_reading()


def grandchild(turn: "Turn") -> None:
    turn.say(f"grandchild {leave_grandchild('quiet')}")


def leave_grandchild(how: str) -> int:
    """Ignores every polite signal in a session of its own; the environment is all that ties it to us."""
    import subprocess

    script = f"trap '' INT TERM HUP; exec /bin/sleep {LIFETIME}"
    stdout = None if how == "holds-stdout" else subprocess.DEVNULL
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": stdout}
    return subprocess.Popen(["/bin/sh", "-c", script], start_new_session=True, **pipes).pid


def ignore_signals(names: list[str]) -> None:
    for name in names:
        with contextlib.suppress(KeyError):  # `EOF` is among the things to ignore, and no signal
            signal.signal(signal.Signals[f"SIG{name}"], signal.SIG_IGN)


WITH_REST: dict[str, Callable[["Turn", str], None]] = {
    "raw": raw,
    "call": call,
    "flood": flood,
    "big": big,
    "stderr": stderr,
    "exit": leave,
    "cut": cut,
}
ALONE: dict[str, Callable[["Turn"], None]] = {
    "garbage": garbage,
    "close-stdout": close_stdout,
    "deaf": deaf,
    "grandchild": grandchild,
}
