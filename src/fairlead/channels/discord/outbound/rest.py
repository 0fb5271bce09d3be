"""Every call to Discord's REST API passes here: in its turn, within its time, and with a failure that flow understands.

Three failures in a row whose outcome nobody knows mean that Discord is away, whatever each of them looked like.
"""

import asyncio
from collections.abc import Awaitable, Callable
from random import random
from typing import Final, TypeVar

import aiohttp
import discord

from fairlead.channels.push.rate_limit import RateLimit, Urgency
from fairlead.errors import Code
from fairlead.kit.backoff import Backoff
from fairlead.ports import ChannelAway, DeliveryImpossible, DeliveryLater, OutcomeUnknown

T = TypeVar("T")

CALL_LIMIT_SEC: Final = 30.0
AWAY_AFTER_FAILURES: Final = 3
RATE_LIMIT_WAIT_SEC: Final = 5.0
INSIST: Final = Backoff(first=1.0, ceiling=30.0)
REFUSED_LOOK_SEC: Final = 15.0
"""While our token is refused one call in so long a time looks whether it still is: Discord counts invalid requests."""

UNKNOWN_MESSAGE: Final = 10008
UNKNOWN_CHANNEL: Final = 10003
UNKNOWN_INTERACTION: Final = 10062
ALREADY_ACKNOWLEDGED: Final = 40060
THREAD_ARCHIVED: Final = 50083
THREAD_EXISTS: Final = 160004
_OUT_OF_REACH: Final = frozenset({UNKNOWN_CHANNEL, 10004, 50001, 50007, 50013, THREAD_ARCHIVED, 160005, 40067})

DELIVERY_ERRORS: Final = (ChannelAway, OutcomeUnknown, DeliveryLater, DeliveryImpossible)
REST_FAULTS: Final = (discord.DiscordException, aiohttp.ClientError, OSError, RuntimeError)


class RestCalls:
    """`came_back` is called when a call works after so many failed that Discord counted as away."""

    def __init__(
        self,
        rate_limit: RateLimit,
        current: Callable[[], discord.Client | None],
        came_back: Callable[[], None] = lambda: None,
    ) -> None:
        self._rate_limit = rate_limit
        self._current = current
        self._came_back = came_back
        self._failures = 0
        self._refused: discord.Client | None = None
        self._look_at = 0.0

    async def once(self, urgency: Urgency, work: Callable[[discord.Client], Awaitable[T]]) -> T:
        """What `work` gives; raises one of the four conditions of delivery, with Discord's own words as its cause."""
        if self._current() is None:
            raise ChannelAway
        await self._rate_limit.acquire(urgency)
        client = self._current()
        if client is None or self._is_refused(client):
            raise ChannelAway
        try:
            async with asyncio.timeout(CALL_LIMIT_SEC):
                done = await work(client)
        except TimeoutError as late:
            raise self._counted(OutcomeUnknown(f"no reply within {CALL_LIMIT_SEC:.0f} s")) from late
        except REST_FAULTS as fault:
            if _is_our_token_refused(fault):
                self._refused, self._look_at = client, asyncio.get_running_loop().time() + REFUSED_LOOK_SEC
            raise self._counted(delivery_error_of(fault)) from fault
        was_away = self._failures >= AWAY_AFTER_FAILURES or self._refused is not None
        self._failures, self._refused = 0, None
        if was_away:
            self._came_back()
        return done

    async def until_done(self, urgency: Urgency, work: Callable[[discord.Client], Awaitable[T]]) -> T:
        """As `make`, for what is lost if it is not done: again and again until it is, or can never be."""
        attempt = 0
        while True:
            attempt += 1
            wait = INSIST.delay(attempt, random)
            try:
                return await self.once(urgency, work)
            except DeliveryLater as later:
                wait = max(wait, later.wait_sec)
            except (ChannelAway, OutcomeUnknown):
                pass
            await asyncio.sleep(wait)

    def _is_refused(self, client: discord.Client) -> bool:
        """Of all that wait, one may look; another client has another token."""
        now = asyncio.get_running_loop().time()
        if client is not self._refused:
            return False
        is_early = now < self._look_at
        if not is_early:
            self._look_at = now + REFUSED_LOOK_SEC
        return is_early

    def _counted(self, condition: Exception) -> Exception:
        """An outage shows itself in many ways; while it lasts, no attempt of a delivery may be used up by it."""
        if not isinstance(condition, OutcomeUnknown):
            self._failures = 0  # whatever it said, somebody is there
            return condition
        self._failures += 1
        return ChannelAway() if self._failures >= AWAY_AFTER_FAILURES else condition


def delivery_error_of(fault: BaseException) -> Exception:
    """What a failed call means to whoever wanted something delivered."""
    match fault:
        case discord.RateLimited():
            return DeliveryLater(Code.E_DISCORD_RATE_LIMIT, fault.retry_after, must_wait=True)
        case discord.HTTPException():
            return _http_condition(fault)
        case aiohttp.ClientConnectorError() | RuntimeError() | discord.ClientException():
            return ChannelAway()  # nobody there, or our own client was just closed
        case _:
            return OutcomeUnknown(repr(fault))


def _is_our_token_refused(fault: BaseException) -> bool:
    """A webhook's or an interaction's token (50027) is not ours."""
    return isinstance(fault, discord.HTTPException) and fault.status == 401 and fault.code != 50027


def _http_condition(fault: discord.HTTPException) -> Exception:
    if _is_our_token_refused(fault):
        return ChannelAway()
    if fault.status == 429:
        return DeliveryLater(Code.E_DISCORD_RATE_LIMIT, RATE_LIMIT_WAIT_SEC, must_wait=True)
    if fault.status >= 500:
        return OutcomeUnknown(str(fault))
    reach = fault.code in _OUT_OF_REACH or fault.status in {403, 404}
    return DeliveryImpossible(Code.E_THREAD_ACCESS_FAILED if reach else Code.E_UNDELIVERABLE, str(fault))


def discord_code(condition: BaseException) -> int:
    """Discord's own error code behind a condition, 0 if there is none."""
    cause = condition.__cause__
    return cause.code if isinstance(cause, discord.HTTPException) else 0
