"""What the daemon has asked a machine and waits for. A call is asked again on a new link if it may be repeated; else it
fails, and the caller knows that its outcome is not known."""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec

from fairlead.core.machines.messages import MachineCall, Replied
from fairlead.errors import Code, error


class RefusedCall(Exception):  # noqa: N818 - says what happened
    """The machine said no, and why, in more than a code: the caller knows what the details mean."""

    def __init__(self, code: str, message: str, details: dict[str, Any]) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class _AskedCall:
    def __init__(self, call: MachineCall, *, may_repeat: bool) -> None:
        self.call = call
        self.may_repeat = may_repeat
        self.reply: asyncio.Future[Replied] = asyncio.get_running_loop().create_future()


class MachineCalls:
    """`post` sends a call; `epoch` is the daemon's, so that no two processes name a call alike."""

    def __init__(self, epoch: int, post: Callable[[MachineCall], object]) -> None:
        self._epoch = epoch
        self._post = post
        self._calls: dict[str, _AskedCall] = {}
        self._numbers = count(1)

    async def ask(self, name: str, result: Any, args: dict[str, Any], *, may_repeat: bool) -> Any:
        """What the machine says, as a `result`. Raises its FairleadError, RefusedCall."""
        call_id = f"{self._epoch}-{next(self._numbers)}"
        asked = self._calls[call_id] = _AskedCall(
            MachineCall(call_id=call_id, name=name, args=msgspec.to_builtins(args)), may_repeat=may_repeat
        )
        self._post(asked.call)
        try:
            replied = await asked.reply
        finally:
            self._calls.pop(call_id, None)
        if replied.code and replied.details:
            raise RefusedCall(replied.code, replied.message, replied.details)
        if replied.code:
            raise error(read_code(replied.code), replied.message)
        return msgspec.convert(replied.result, result)

    def hear(self, replied: Replied) -> None:
        asked = self._calls.get(replied.call_id)
        if asked is not None and not asked.reply.done():
            asked.reply.set_result(replied)

    def repeat(self, reason: str) -> None:
        """On a new link. `reason` is told to those who asked what may not be repeated."""
        for asked in list(self._calls.values()):
            if asked.may_repeat:
                self._post(asked.call)
            else:
                self._fail(asked, reason)

    def fail_all(self, reason: str) -> None:
        """Nobody waits for a machine that is away: a person who asked gets to know it."""
        for asked in list(self._calls.values()):
            self._fail(asked, reason)

    def _fail(self, asked: _AskedCall, reason: str) -> None:
        self.hear(Replied(call_id=asked.call.call_id, code=Code.E_MACHINE_AWAY, message=reason))


def read_code(name: str) -> Code:
    try:
        return Code(name)
    except ValueError:  # of a later version
        return Code.E_INTERNAL
