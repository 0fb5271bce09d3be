"""Orders that end a turn, delay it, or go on after it."""

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from .permissions import request_permission
from .settings import text_block
from .tools import describe_tool, start
from .wire import Refused

if TYPE_CHECKING:
    from .turn import Turn


def stop(turn: "Turn", rest: str) -> None:
    turn.stop_reason = rest


def error(turn: "Turn", rest: str) -> None:
    code, _, message = rest.partition(" ")
    raise Refused(int(code), message or "Internal error")


def error_said(turn: "Turn", rest: str) -> None:
    turn.say(rest.partition(" ")[2])
    error(turn, rest)


def error_told(turn: "Turn", rest: str) -> None:
    """The status and the words with which Codex tells an error of its model; the turn ends well."""
    turn.update("session_info_update", _meta={"codex": {"threadStatus": {"type": "systemError"}}})
    turn.update("agent_message_chunk", content=text_block(f"{rest}\n\n"))
    turn.end_at_once()


def hang(turn: "Turn") -> None:
    while True:
        turn.wait()


def quiet(turn: "Turn") -> None:
    """The turn ends without a word of its own."""
    turn.is_quiet = True


def cancel_slowly(turn: "Turn", rest: str) -> None:
    """Hears the cancel, says so, and ends only when the FIFO is opened for writing."""
    turn.wait_for_cancel()
    turn.say("Stopping.")
    hold(turn, rest)
    turn.give_up()


def hold(turn: "Turn", rest: str) -> None:
    """Waits until a FIFO was opened for writing and closed again, or until the turn is cancelled."""
    released = object()
    wait_for_file(rest, lambda: turn.put("released", released))
    while turn.wait()[1] is not released:
        pass


def wait_for_file(path: str, then: Callable[[], None]) -> None:
    def read() -> None:
        with open(path, "rb") as file:
            file.read()
        then()

    if not os.path.exists(path):
        os.mkfifo(path)
    threading.Thread(target=read, daemon=True).start()


def await_steering(turn: "Turn") -> None:
    while not turn.was_steered:
        turn.wait()


def late(turn: "Turn", rest: str) -> None:
    turn.after_the_response.append(lambda: turn.update("agent_message_chunk", content=text_block(rest)))


def unasked(turn: "Turn", rest: str) -> None:
    """`unasked: FIFO TEXT`: says it long after the turn, when the FIFO is opened for writing."""
    path, _, text = rest.partition(" ")

    def speak() -> None:
        turn.update("agent_message_chunk", content=text_block(text))

    turn.after_the_response.append(lambda: wait_for_file(path, speak))


def unasked_tool(turn: "Turn", rest: str) -> None:
    """`unasked-tool: FIFO WHAT`: begins a tool long after the turn, and never ends it."""
    path, _, what = rest.partition(" ")
    turn.after_the_response.append(lambda: wait_for_file(path, lambda: start(turn, describe_tool(turn, what))))


def unasked_ask(turn: "Turn", rest: str) -> None:
    """`unasked-ask: FIFO WHAT`: asks for a permission long after the turn. Of an edit it shows the diff before it asks,
    and does not repeat it then, as Codex does."""
    path, _, what = rest.partition(" ")

    def ask() -> None:
        call = describe_tool(turn, what)
        if call["kind"] == "edit":
            shown = {"type": "diff", "path": "/srv/a.txt", "oldText": "one\n", "newText": "two\n"}
            turn.update("tool_call", **call, content=[shown])
        chosen = request_permission(turn, call, "default")
        turn.update("agent_message_chunk", content=text_block(f"Chose {chosen}"))

    turn.after_the_response.append(lambda: wait_for_file(path, ask))


def respond_twice(turn: "Turn") -> None:
    again = {"jsonrpc": "2.0", "id": turn.reply.request_id, "result": {"stopReason": "end_turn"}}
    turn.after_the_response.append(lambda: turn.wire.stdout.write_message(again))


def first_time(turn: "Turn", rest: str) -> None:
    """What follows is done the first time only, told by a file that stays."""
    try:
        os.close(os.open(rest, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        turn.skips_the_rest = True


WITH_REST: dict[str, Callable[["Turn", str], None]] = {
    "stop": stop,
    "error": error,
    "error-said": error_said,
    "error-told": error_told,
    "hold": hold,
    "cancel-slowly": cancel_slowly,
    "late": late,
    "unasked": unasked,
    "unasked-ask": unasked_ask,
    "unasked-tool": unasked_tool,
    "first-time": first_time,
}
ALONE: dict[str, Callable[["Turn"], None]] = {
    "quiet": quiet,
    "hang": hang,
    "hang-deaf": hang,
    "await-steering": await_steering,
    "respond-twice": respond_twice,
}
