"""Every call to Discord's REST API passes here: in turn, in time, and with failures that flow understands."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import aiohttp
import discord

from fairlead.channels.discord.outbound.api_ban import BannedByDiscord, retry_after
from fairlead.channels.push.rate_limit import RateLimit, Urgency
from fairlead.channels.push.retry import RouteOutages, until_done
from fairlead.errors import Code
from fairlead.ports import ChannelAway, DeliveryForbidden, DeliveryImpossible, DeliveryLater, OutcomeUnknown

T = TypeVar("T")

CALLS_PER_SECOND: Final = 34
"""Discord allows 50; the rest is room for a burst of answers, for the calls that discord.py makes by itself, and for
calls that a busy machine brings closer together."""

CALL_LIMIT_SEC: Final = 30.0
RATE_LIMIT_WAIT_SEC: Final = 5.0
TOKEN_RETRY_SEC: Final = 15.0
"""While Discord refuses our token, one call in so long a time tries it again: Discord counts invalid requests."""

UNKNOWN_MESSAGE: Final = 10008
UNKNOWN_CHANNEL: Final = 10003
ALREADY_ACKNOWLEDGED: Final = 40060
THREAD_ARCHIVED: Final = 50083
THREAD_EXISTS: Final = 160004
_GONE: Final = frozenset({UNKNOWN_CHANNEL, 40067})
_FORBIDDEN: Final = frozenset({10004, 50001, 50007, 50013, THREAD_ARCHIVED, 160005})
"""No access or no right, a person who takes no direct messages, a thread that is archived or locked: people can change
each of these."""

DELIVERY_ERRORS: Final = (ChannelAway, OutcomeUnknown, DeliveryLater, DeliveryImpossible)
REST_FAULTS: Final = (discord.DiscordException, aiohttp.ClientError, OSError, RuntimeError)


class CurrentClient:
    """The client that REST calls use: the gateway's connection sets it after a login and clears it at its end."""

    def __init__(self, client: discord.Client | None = None) -> None:
        self.client = client


class RestCalls:
    """`came_back` is called when a call works after Discord counted as away, because several failed."""

    def __init__(
        self, rate_limit: RateLimit, current: CurrentClient, came_back: Callable[[], None] = lambda: None
    ) -> None:
        self._rate_limit = rate_limit
        self._current = current
        self._came_back = came_back
        self._outages = RouteOutages()
        self._refused: discord.Client | None = None
        self._token_retry_at = 0.0

    async def once(self, urgency: Urgency, work: Callable[[discord.Client], Awaitable[T]], *, route: str = "") -> T:
        """The result of `work`. Raises one of DELIVERY_ERRORS, with discord.py's own exception as its cause. An outage
        of the `route` is noticed although calls without it succeed."""
        self._require_client()
        await self._rate_limit.acquire(urgency)
        client = self._require_client()  # another one may have logged in meanwhile
        if self._must_wait_for_token(client):
            raise ChannelAway
        try:
            async with asyncio.timeout(CALL_LIMIT_SEC):
                result = await work(client)
        except TimeoutError as late:
            unknown = OutcomeUnknown(f"no reply within {CALL_LIMIT_SEC:.0f} s")
            raise self._outages.count_failure(unknown, route) from late
        except REST_FAULTS as fault:
            if _is_our_token_refused(fault):
                self._refused = client
                self._token_retry_at = asyncio.get_running_loop().time() + TOKEN_RETRY_SEC
            raise self._outages.count_failure(delivery_error_of(fault), route) from fault
        self._count_success(route)
        return result

    async def until_done(self, urgency: Urgency, work: Callable[[discord.Client], Awaitable[T]]) -> T:
        """As `once`, for work that is lost if nobody does it: repeated until it succeeds or is impossible."""
        return await until_done(lambda: self.once(urgency, work))

    def _require_client(self) -> discord.Client:
        if self._current.client is None:
            raise ChannelAway
        return self._current.client

    def _count_success(self, route: str) -> None:
        was_away = self._outages.count_success(route) or self._refused is not None
        self._refused = None
        if was_away:
            self._came_back()

    def _must_wait_for_token(self, client: discord.Client) -> bool:
        """Of all the calls that wait, one may try a refused token again; another client has another token."""
        if client is not self._refused:
            return False
        now = asyncio.get_running_loop().time()
        is_early = now < self._token_retry_at
        if not is_early:
            self._token_retry_at = now + TOKEN_RETRY_SEC
        return is_early


def delivery_error_of(fault: BaseException) -> Exception:
    """What a failed call means for a delivery, as the outbox understands it."""
    match fault:
        case BannedByDiscord():
            return DeliveryLater(Code.E_DISCORD_RATE_LIMIT, fault.wait_sec, must_wait=True)
        case discord.RateLimited():
            return DeliveryLater(Code.E_DISCORD_RATE_LIMIT, fault.retry_after, must_wait=True)
        case discord.HTTPException():
            return _http_delivery_error(fault)
        case aiohttp.ClientConnectorError() | RuntimeError() | discord.ClientException():
            return ChannelAway()  # Discord does not listen, or our own client was just closed
        case _:
            return OutcomeUnknown(repr(fault))


def _is_our_token_refused(fault: BaseException) -> bool:
    """Code 50027 is about the token of a webhook or of an interaction: ours is good."""
    return isinstance(fault, discord.HTTPException) and fault.status == 401 and fault.code != 50027


def _http_delivery_error(fault: discord.HTTPException) -> Exception:
    if _is_our_token_refused(fault):
        return ChannelAway()
    if fault.status == 429:
        wait = retry_after(fault.response.headers, default=RATE_LIMIT_WAIT_SEC)
        return DeliveryLater(Code.E_DISCORD_RATE_LIMIT, wait, must_wait=True)
    if fault.status >= 500:
        return OutcomeUnknown(str(fault))
    if fault.code in _FORBIDDEN or fault.status == 403:
        return DeliveryForbidden(Code.E_THREAD_ACCESS_FAILED, str(fault))
    is_gone = fault.code in _GONE or fault.status == 404
    return DeliveryImpossible(Code.E_THREAD_ACCESS_FAILED if is_gone else Code.E_UNDELIVERABLE, str(fault))


def discord_code(failure: BaseException) -> int:
    """Discord's own error code behind a delivery error, 0 if there is none."""
    cause = failure.__cause__
    return cause.code if isinstance(cause, discord.HTTPException) else 0
