"""Claiming an epoch: a number that rises with every process that takes a name, so that of two the later one counts.

1. The token of a claim is in the own journal before the claim is written. So a claim whose token is not known here was
   made by somebody else after this journal was last written to: by another process with this name, or by this one
   before its files were set back to an older copy.
2. The epoch stands in the claim, and is higher than every one that this journal knows: a server whose disk was wiped
   begins with none, and the numbers go on rising. By how much follows from the token: two processes that begin with
   copies of one journal never get the same one.
3. The claim gets a new token when the journal has grown, so that a copy from before does not know it, also if the
   process was never started again in between. The one that finds a claim of somebody else is superseded.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from hashlib import blake2b
from typing import Final, Literal

from fairlead.machine_ports import Claim, Wire

CONFIRM_SEC: Final = 5.0
"""So often a runner looks whether its name is still its own."""
_LARGEST_STEP: Final = 1 << 20


class ClaimKeeper:
    """`record` makes an epoch and a token durable, `known_tokens` are those of the own journal, and `has_grown` says
    whether the journal has something new since the last `record`."""

    def __init__(
        self,
        wire: Wire,
        name: str,
        *,
        make_token: Callable[[], str],
        record: Callable[[int, str], Awaitable[None]],
        known_tokens: Callable[[], Collection[str]],
        has_grown: Callable[[], bool],
    ) -> None:
        self._wire = wire
        self._name = name
        self._make_token = make_token
        self._record = record
        self._known_tokens = known_tokens
        self._has_grown = has_grown
        self._confirming = asyncio.Lock()
        self.epoch = 0
        self.token = ""

    async def claim(self, last_epoch: int) -> int:
        self.token = self._make_token()
        while True:
            claim = await self._wire.read_claim(self._name)
            self.epoch = _next_epoch(max(last_epoch, 0 if claim is None else claim.epoch), self.token)
            await self._record(self.epoch, self.token)
            if await self._write(claim):
                return self.epoch

    async def confirm(self) -> Literal["ours", "superseded"]:
        """Also writes a claim that a wiped server has forgotten, or that is older than the journal."""
        async with self._confirming:
            while True:
                claim = await self._wire.read_claim(self._name)
                if claim is not None and self._is_of_another(claim):
                    return "superseded"
                if self._has_grown():
                    token = self._make_token()
                    await self._record(self.epoch, token)
                    self.token = token
                elif claim is not None and (claim.epoch, claim.token) == (self.epoch, self.token):
                    return "ours"
                if await self._write(claim):
                    return "ours"

    def _is_of_another(self, claim: Claim) -> bool:
        """A lower one was there before a server was wiped, and came back: it hears of ours."""
        return claim.epoch > self.epoch or (claim.epoch == self.epoch and is_foreign(claim, self._known_tokens()))

    async def _write(self, found: Claim | None) -> bool:
        after = 0 if found is None else found.revision
        return await self._wire.write_claim(self._name, Claim(self.epoch, self.token), after=after)


def _next_epoch(last: int, token: str) -> int:
    return last + 1 + int.from_bytes(blake2b(token.encode(), digest_size=4).digest()) % _LARGEST_STEP


def is_foreign(claim: Claim | None, known_tokens: Collection[str]) -> bool:
    return claim is not None and claim.token not in known_tokens
