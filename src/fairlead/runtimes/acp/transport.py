"""The SDK's transport over a process that Fairlead owns: lines with a limit, a log of them, and nothing lost unseen.

Updates do not pass through the SDK: it starts a task for each, so that their order is not certain, it drops the kinds
it does not know, and it takes longer than the rest of their way. They go to the listener at once, in their order.
"""

from collections.abc import AsyncIterator
from typing import Any, Final, Protocol, cast

import msgspec

from fairlead.kit.framing import LineTooLong
from fairlead.kit.processes import OwnedProcess, StdinClosed, StdinStuck
from fairlead.runtimes.acp import wire
from fairlead.runtimes.lines import UNREADABLE, excerpt

REQUEST_ID: Final = "fairlead.app/requestId"
"""Where a request's id stands in its `_meta`: the SDK hands a handler the parameters of a request and not its id,
and an agent withdraws a request by its id."""

_WITHDRAW: Final = "$/cancel_request"
_encoder: Final = msgspec.json.Encoder()


class Listener(Protocol):
    """Hears, in their order, the lines that the SDK is not shown."""

    def hear_update(self, update: wire.Update, session_id: str) -> None: ...

    def hear_withdrawal(self, request_id: str) -> None: ...

    def hear_unknown_update(self, words: str) -> None:
        """The agent is at work, and says so in a way that Fairlead does not know."""
        ...

    def hear_oddity(self, words: str) -> None:
        """A line that cannot be used: no JSON object, a response to nothing."""
        ...

    def hear_lost_line(self, words: str) -> None:
        """A line was too long to be read: something that the agent said is lost, and a person must know."""
        ...


class AgentTransport:
    def __init__(self, process: OwnedProcess, listener: Listener) -> None:
        self._process = process
        self._listener = listener
        self._lines: AsyncIterator[bytes] = process.lines(on_too_long=self._hear_too_long)
        self._awaited: set[Any] = set()
        self.is_at_end = False
        """The agent will say nothing more, although its process may still be there."""

    async def send(self, message: dict[str, Any]) -> None:
        if "method" in message and "id" in message:
            self._awaited.add(message["id"])
        try:
            await self._process.write(_encoder.encode(message) + b"\n")
        except (StdinClosed, StdinStuck) as fault:
            if "method" in message:
                raise ConnectionError(str(fault)) from fault
            # Nobody waits for a response that the agent no longer takes, and the turn learns from its own request.

    async def receive(self) -> dict[str, Any] | None:
        async for line in self._lines:
            if wire.UPDATE_METHOD in line[:200] and self._hear_update(line):
                continue
            message = self._read(line)
            if message is not None:
                return message
        self.is_at_end = True
        return None

    async def close(self) -> None:
        """The process is ended by its owner, not by the SDK."""

    def _hear_update(self, line: bytes) -> bool:
        try:
            params = wire.update_decoder.decode(line).params
        except UNREADABLE:
            return False
        self._listener.hear_update(params.update, params.session_id)
        return True

    def _read(self, line: bytes) -> dict[str, Any] | None:
        """The message if it is one for the SDK: a request, or a response to one of ours."""
        if not line.strip():
            return None
        try:
            message = wire.message_decoder.decode(line)
        except UNREADABLE:
            return self._drop(f"The agent printed a line that is not a JSON object: {excerpt(line)}")
        method = message.get("method")
        if method == "session/update":
            # Some agents write the method last, or escape its slash.
            if not self._hear_update(line):
                words = f"The agent sent an update that Fairlead does not know: {excerpt(line)}"
                self._listener.hear_unknown_update(words)
            return None
        if method == _WITHDRAW:
            self._hear_withdrawal(message)
            return None
        if isinstance(method, str):
            return _with_id_in_meta(message) if "id" in message else self._drop(f"A notice: {excerpt(line)}")
        return self._read_response(message, line)

    def _read_response(self, message: dict[str, Any], line: bytes) -> dict[str, Any] | None:
        number = message.get("id")
        if not isinstance(number, int | str) or number not in self._awaited or "method" in message:
            return self._drop(f"The agent answered a request that was not sent: {excerpt(line)}")
        self._awaited.discard(number)
        return _with_plain_outcome(message)

    def _hear_withdrawal(self, message: dict[str, Any]) -> None:
        params = message.get("params")
        named: Any = cast("dict[str, Any]", params).get("requestId") if isinstance(params, dict) else None
        self._listener.hear_withdrawal(str(named))

    def _hear_too_long(self, fault: LineTooLong) -> None:
        self._listener.hear_lost_line(f"The agent printed too long a line, which was left out: {fault}.")

    def _drop(self, words: str) -> None:
        self._listener.hear_oddity(words)


def _with_plain_outcome(message: dict[str, Any]) -> dict[str, Any]:
    """A response has a result or an error, and an error has a code and a message: the SDK would end the connection over
    an error of another shape, and take `"result": null` beside an error for a success."""
    error = message.get("error")
    if error is None:
        return {"id": message["id"], "result": message.get("result")}
    told = cast("dict[str, Any]", error) if isinstance(error, dict) else {"data": error}
    code, words = told.get("code"), told.get("message")
    plain = {"code": code if isinstance(code, int) else -32603, "message": words if isinstance(words, str) else "Error"}
    return {"id": message["id"], "error": {**told, **plain}}


def _with_id_in_meta(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params")
    given = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
    meta = given.get("_meta")
    kept = cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}
    return {**message, "params": {**given, "_meta": {**kept, REQUEST_ID: str(message["id"])}}}
