"""Claiming an epoch: a number that rises with every process that takes a name, so that of two the later one counts.

1. The token of a claim is in the own journal before the claim is written. So a claim whose token is not known here was
   made by somebody else after this journal was last written to: by another process with this name, or by this one
   before its files were set back to an older copy.
2. The epoch stands in the claim, and is higher than every one that this journal knows: a server whose disk was wiped
   begins with none, and the numbers go on rising.
"""

from collections.abc import Awaitable, Callable, Collection
from typing import Literal

from fairlead.machine_ports import Claim, Wire


async def claim_epoch(
    wire: Wire,
    name: str,
    *,
    token: str,
    last_epoch: int,
    record: Callable[[int, str], Awaitable[None]],
) -> int:
    """`record` makes epoch and token durable."""
    while True:
        claim = await wire.read_claim(name)
        epoch = max(last_epoch, claim.epoch if claim is not None else 0) + 1
        await record(epoch, token)
        after = claim.revision if claim is not None else 0
        if await wire.write_claim(name, Claim(epoch, token), after=after):
            return epoch


async def confirm_epoch(wire: Wire, name: str, *, epoch: int, token: str) -> Literal["ours", "superseded"]:
    """After a reconnect. A claim that a wiped server has forgotten is written again."""
    while True:
        claim = await wire.read_claim(name)
        if claim is not None and claim.epoch > epoch:
            return "superseded"
        if claim is not None and claim.epoch == epoch:
            return "ours" if claim.token == token else "superseded"
        if await wire.write_claim(name, Claim(epoch, token), after=claim.revision if claim is not None else 0):
            return "ours"


def is_foreign(claim: Claim | None, known_tokens: Collection[str]) -> bool:
    return claim is not None and claim.token not in known_tokens
