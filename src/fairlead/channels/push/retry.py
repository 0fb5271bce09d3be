"""Retrying the calls whose work is lost if nobody does it, and telling an outage from a single failure. Knows no
service's API."""

import asyncio
from collections.abc import Awaitable, Callable
from random import random
from typing import Final, TypeVar

from fairlead.kit.backoff import Backoff
from fairlead.ports import ChannelAway, DeliveryLater, OutcomeUnknown

T = TypeVar("T")

RETRY_BACKOFF: Final = Backoff(first=1.0, ceiling=30.0)
AWAY_AFTER_FAILURES: Final = 3


async def until_done(call: Callable[[], Awaitable[T]]) -> T:
    """Repeat `call` until it succeeds. DeliveryImpossible passes through: that call can never succeed."""
    attempt = 0
    while True:
        attempt += 1
        wait = RETRY_BACKOFF.delay(attempt, random)
        try:
            return await call()
        except DeliveryLater as later:
            wait = max(wait, later.wait_sec)
        except (ChannelAway, OutcomeUnknown):
            pass  # both pass with time: the service is away, or its reply was lost
        await asyncio.sleep(wait)


class OutageDetector:
    """Three calls in a row whose outcome nobody knows mean that the service is away, whatever each failure looked
    like."""

    def __init__(self) -> None:
        self._failures = 0

    @property
    def is_away(self) -> bool:
        return self._failures >= AWAY_AFTER_FAILURES

    def count_success(self) -> None:
        self._failures = 0

    def count_failure(self, failure: Exception) -> Exception:
        """The error to raise for this failure: ChannelAway during an outage, so that the outage makes none of a
        delivery's pauses longer."""
        if not isinstance(failure, OutcomeUnknown):
            self._failures = 0  # a refusal of any kind proves that the service is there
            return failure
        self._failures += 1
        return ChannelAway() if self.is_away else failure


class RouteOutages:
    """An outage of the whole service, and outages of single routes: sending may fail for hours while every other call
    succeeds. A call without a route counts for the whole service alone."""

    def __init__(self) -> None:
        self._service = OutageDetector()
        self._routes: dict[str, OutageDetector] = {}

    def count_success(self, route: str) -> bool:
        """True if the service or the route was away until now."""
        of_route = self._routes.pop(route, None)
        was_away = self._service.is_away or (of_route is not None and of_route.is_away)
        self._service.count_success()
        return was_away

    def count_failure(self, failure: Exception, route: str) -> Exception:
        of_service = self._service.count_failure(failure)
        of_route = self._routes.setdefault(route, OutageDetector()).count_failure(failure) if route else failure
        if not isinstance(failure, OutcomeUnknown):
            self._routes.pop(route, None)
        return of_service if isinstance(of_service, ChannelAway) else of_route
