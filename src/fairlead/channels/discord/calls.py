"""Every call to Discord's REST API passes here: in its turn, within its time, and with a failure that flow understands.

Three failures in a row whose outcome nobody knows mean that Discord is away, whatever each of them looked like.
"""

import asyncio
from collections.abc import Awaitable, Callable
from random import random
from typing import Final, TypeVar

import aiohttp
import discord

from fairlead.channels.discord.governor import Governor, Urgency
from fairlead.errors import Code
from fairlead.kit.backoff import Backoff
from fairlead.ports import ChannelAway, DeliveryImpossible, DeliveryLater, OutcomeUnknown

T = TypeVar("T")

CALL_LIMIT_SEC: Final = 30.0
AWAY_AFTER_FAILURES: Final = 3
RATE_LIMIT_WAIT_SEC: Final = 5.0
INSIST: Final = Backoff(first=1.0, ceiling=30.0)

UNKNOWN_MESSAGE: Final = 10008
UNKNOWN_CHANNEL: Final = 10003
UNKNOWN_INTERACTION: Final = 10062
ALREADY_ACKNOWLEDGED: Final = 40060
THREAD_ARCHIVED: Final = 50083
THREAD_EXISTS: Final = 160004
_OUT_OF_REACH: Final = frozenset({UNKNOWN_CHANNEL, 10004, 50001, 50007, 50013, THREAD_ARCHIVED, 160005, 40067})

CONDITIONS: Final = (ChannelAway, OutcomeUnknown, DeliveryLater, DeliveryImpossible)
FAULTS: Final = (discord.DiscordException, aiohttp.ClientError, OSError, RuntimeError)


class Calls:
    """`came_back` is called when a call works after so many failed that Discord counted as away."""

    def __init__(
        self,
        governor: Governor,
        current: Callable[[], discord.Client | None],
        came_back: Callable[[], None] = lambda: None,
    ) -> None:
        self._governor = governor
        self._current = current
        self._came_back = came_back
        self._failures = 0

    async def make(self, urgency: Urgency, work: Callable[[discord.Client], Awaitable[T]]) -> T:
        """What `work` gives; raises one of the four conditions of delivery, with Discord's own words as its cause."""
        if self._current() is None:
            raise ChannelAway
        await self._governor.turn(urgency)
        client = self._current()
        if client is None:
            raise ChannelAway
        try:
            async with asyncio.timeout(CALL_LIMIT_SEC):
                done = await work(client)
        except TimeoutError as late:
            raise self._counted(OutcomeUnknown(f"no reply within {CALL_LIMIT_SEC:.0f} s")) from late
        except FAULTS as fault:
            raise self._counted(condition_of(fault)) from fault
        was_away, self._failures = self._failures >= AWAY_AFTER_FAILURES, 0
        if was_away:
            self._came_back()
        return done

    async def insist(self, urgency: Urgency, work: Callable[[discord.Client], Awaitable[T]]) -> T:
        """As `make`, for what is lost if it is not done: again and again until it is, or can never be."""
        attempt = 0
        while True:
            attempt += 1
            wait = INSIST.delay(attempt, random)
            try:
                return await self.make(urgency, work)
            except DeliveryLater as later:
                wait = max(wait, later.wait_sec)
            except (ChannelAway, OutcomeUnknown):
                pass
            await asyncio.sleep(wait)

    def _counted(self, condition: Exception) -> Exception:
        """An outage shows itself in many ways; while it lasts, no attempt of a delivery may be used up by it."""
        if not isinstance(condition, OutcomeUnknown):
            self._failures = 0  # whatever it said, somebody is there
            return condition
        self._failures += 1
        return ChannelAway() if self._failures >= AWAY_AFTER_FAILURES else condition


def condition_of(fault: BaseException) -> Exception:
    """What a failed call means to whoever wanted something delivered."""
    match fault:
        case discord.RateLimited():
            return DeliveryLater(Code.E_DISCORD_RATE_LIMIT, fault.retry_after)
        case discord.HTTPException():
            return _http_condition(fault)
        case aiohttp.ClientConnectorError() | RuntimeError() | discord.ClientException():
            return ChannelAway()  # nobody there, or our own client was just closed
        case _:
            return OutcomeUnknown(repr(fault))


def _http_condition(fault: discord.HTTPException) -> Exception:
    if fault.status == 401 and fault.code != 50027:
        return ChannelAway()
    if fault.status == 429:
        return DeliveryLater(Code.E_DISCORD_RATE_LIMIT, RATE_LIMIT_WAIT_SEC)
    if fault.status >= 500:
        return OutcomeUnknown(str(fault))
    reach = fault.code in _OUT_OF_REACH or fault.status in {403, 404}
    return DeliveryImpossible(Code.E_THREAD_ACCESS_FAILED if reach else Code.E_UNDELIVERABLE, str(fault))


def code_behind(condition: BaseException) -> int:
    """Discord's own error code behind a condition, 0 if there is none."""
    cause = condition.__cause__
    return cause.code if isinstance(cause, discord.HTTPException) else 0
