"""JSON-RPC over stdin and stdout with the standard library alone. Knows no ACP and checks nothing it sends.

One thread reads; any thread may write. `SdkWire` has the same methods and speaks through the official SDK.
"""

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from .notes import Notes

Payload = dict[str, Any]
GARBAGE = (
    b"not json",
    b"",
    b"{",
    b"[]",
    b"null",
    b"42",
    b'"a string"',
    b"\xff\xfe\x00",
    b'{"jsonrpc": "2.0", "id": 987654, "result": {}}',
    b'{"jsonrpc": "2.0", "id": "nobody", "error": {"code": -1, "message": "nobody asked"}}',
    b'{"jsonrpc": "2.0"}',
)


class Refused(Exception):  # noqa: N818 - a JSON-RPC error that somebody chose to send
    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def refusal_in(text: str) -> Refused:
    """`error -32603 Internal error`, as a switch tells it."""
    _, _, rest = text.partition(" ")
    code, _, message = rest.partition(" ")
    return Refused(int(code or -32603), message or "Internal error: the scripted agent was told to fail")


def fault_of_the_script() -> Refused:
    """For the exception that is being handled: on stderr, and in the error that the client gets."""
    import traceback

    traceback.print_exc()
    return Refused(-32603, "The scripted agent failed", {"details": traceback.format_exc()})


class Stdout:
    """Whole lines from any thread, straight to the descriptor."""

    def __init__(self, *, garbage: bool) -> None:
        self._lock = threading.Lock()
        self._garbage = garbage
        self._is_closed = False

    def write_message(self, message: Payload) -> None:
        noise = b"".join(line + b"\n" for line in GARBAGE) if self._garbage else b""
        self.write(noise + json.dumps(message).encode() + b"\n")

    def write(self, data: bytes) -> None:
        with self._lock:
            if self._is_closed:
                return
            view = memoryview(data)
            while view:
                view = view[self._write_some(view) :]

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            os.close(1)

    @staticmethod
    def _write_some(view: memoryview) -> int:
        try:
            return os.write(1, view)
        except BrokenPipeError:
            os._exit(141)


class Reply:
    """How a request is answered, once. `then` runs when the response is on its way."""

    def __init__(self, stdout: Stdout, request_id: Any) -> None:
        self._stdout = stdout
        self.request_id = request_id

    def result(self, result: Payload | None, then: Callable[[], None] | None = None) -> None:
        self._send({"result": result}, then)

    def error(self, refused: Refused, then: Callable[[], None] | None = None) -> None:
        error: Payload = {"code": refused.code, "message": refused.message}
        if refused.data is not None:
            error["data"] = refused.data
        self._send({"error": error}, then)

    def _send(self, outcome: Payload, then: Callable[[], None] | None) -> None:
        self._stdout.write_message({"jsonrpc": "2.0", "id": self.request_id, **outcome})
        if then is not None:
            then()


class NoReply(Reply):
    """For a turn that no request began."""

    def __init__(self) -> None:
        self.request_id = None

    def _send(self, outcome: Payload, then: Callable[[], None] | None) -> None:
        if then is not None:
            then()


Handler = Callable[[str, Payload, Reply | None], None]


class Stdin:
    """Lines from the client. A reader that was told to stop takes no line any more, and never returns."""

    def __init__(self) -> None:
        self._stops = threading.Event()

    def stop_reading(self) -> None:
        self._stops.set()

    def read_line(self) -> bytes:
        line = sys.stdin.buffer.readline()
        if self._stops.is_set():
            wait_forever()
        return line


def wait_forever() -> NoReturn:
    while True:
        threading.Event().wait()


class BareWire:
    """`serve` reads until the end of stdin and hands every message to the handler, on the thread that reads."""

    def __init__(self, notes: Notes, *, garbage: bool) -> None:
        self.stdout = Stdout(garbage=garbage)
        self.stdin = Stdin()
        self._notes = notes
        self._lock = threading.Lock()
        self._asked: dict[int, Callable[[Payload], None]] = {}
        self._next_id = 0

    def serve(self, handle: Handler) -> None:
        while line := self.stdin.read_line():
            if not line.strip():
                continue
            try:
                self._take(json.loads(line), handle)
            except ValueError:
                Reply(self.stdout, None).error(Refused(-32700, "Parse error"))

    def notify(self, method: str, params: Payload) -> None:
        self.stdout.write_message({"jsonrpc": "2.0", "method": method, "params": params})

    def update(self, session_id: str, update: Payload) -> None:
        self.notify("session/update", {"sessionId": session_id, "update": update})

    def request(self, method: str, params: Payload, on_response: Callable[[Payload], None]) -> int:
        """The request's id. `on_response` gets `{"result": …}` or `{"error": …}` on the thread that reads."""
        with self._lock:
            request_id = self._next_id
            self._next_id += 1
            self._asked[request_id] = on_response
        self.stdout.write_message({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request_id

    def check_result(self, method: str, result: Payload | None) -> None:
        """The SDK checks here that a result is what the protocol says; this wire knows no protocol."""

    def _take(self, message: Any, handle: Handler) -> None:
        self._notes.message(message)
        if not isinstance(message, dict):
            return
        if "method" not in message:
            if on_response := self._asked.pop(message.get("id"), None):
                on_response(message)
            return
        reply = Reply(self.stdout, message["id"]) if "id" in message else None
        handle(message["method"], message.get("params") or {}, reply)
