"""Retrying until a call succeeds, and telling an outage from a single failure, in virtual time."""

import asyncio

import pytest

from fairlead.channels.push.retry import AWAY_AFTER_FAILURES, OutageDetector, RouteOutages, until_done
from fairlead.errors import Code
from fairlead.ports import ChannelAway, DeliveryImpossible, DeliveryLater, OutcomeUnknown
from fairlead.testing.clock import run_virtually


class Service:
    """Fails in the given ways, one after the other, then works."""

    def __init__(self, *failures: Exception) -> None:
        self._failures = list(failures)
        self.calls: list[float] = []

    async def call(self) -> str:
        self.calls.append(asyncio.get_running_loop().time())
        if self._failures:
            raise self._failures.pop(0)
        return "done"


def test_a_call_is_repeated_through_an_outage_and_a_lost_reply() -> None:
    service = Service(*[ChannelAway()] * 20, OutcomeUnknown("lost"))

    async def story() -> None:
        assert await until_done(service.call) == "done"

    run_virtually(story())
    assert len(service.calls) == 22
    assert max(later - earlier for earlier, later in zip(service.calls, service.calls[1:], strict=False)) <= 45


def test_a_wait_that_the_service_asks_for_is_kept() -> None:
    service = Service(DeliveryLater(Code.E_DISCORD_RATE_LIMIT, 120.0, must_wait=True))

    async def story() -> None:
        await until_done(service.call)

    run_virtually(story())
    assert service.calls == [0.0, 120.0]


def test_a_call_that_can_never_succeed_is_not_repeated() -> None:
    service = Service(DeliveryImpossible(Code.E_UNDELIVERABLE, "no such channel"))

    async def story() -> None:
        with pytest.raises(DeliveryImpossible):
            await until_done(service.call)

    run_virtually(story())
    assert service.calls == [0.0]


def test_three_unknown_outcomes_in_a_row_are_an_outage_and_a_success_ends_it() -> None:
    outage = OutageDetector()
    raised = [outage.count_failure(OutcomeUnknown("lost")) for _ in range(AWAY_AFTER_FAILURES + 1)]
    assert [type(each) for each in raised] == [OutcomeUnknown, OutcomeUnknown, ChannelAway, ChannelAway]
    assert outage.is_away
    outage.count_success()
    assert not outage.is_away
    assert isinstance(outage.count_failure(OutcomeUnknown("lost")), OutcomeUnknown)


def test_a_refusal_proves_that_the_service_is_there() -> None:
    outage = OutageDetector()
    refusal = DeliveryImpossible(Code.E_UNDELIVERABLE, "no such channel")
    for _ in range(AWAY_AFTER_FAILURES - 1):
        outage.count_failure(OutcomeUnknown("lost"))
    assert outage.count_failure(refusal) is refusal
    assert isinstance(outage.count_failure(OutcomeUnknown("lost")), OutcomeUnknown)


def test_a_route_that_fails_is_away_although_every_other_call_succeeds() -> None:
    outages = RouteOutages()
    raised: list[Exception] = []
    for _ in range(AWAY_AFTER_FAILURES + 1):
        raised.append(outages.count_failure(OutcomeUnknown("503"), "send"))
        assert not outages.count_success("")
        assert not outages.count_success("elsewhere")
    assert [type(each) for each in raised] == [OutcomeUnknown, OutcomeUnknown, ChannelAway, ChannelAway]
    assert outages.count_success("send"), "the route came back"
    assert not outages.count_success("send")
    assert isinstance(outages.count_failure(OutcomeUnknown("503"), "send"), OutcomeUnknown)


def test_the_whole_service_is_away_when_calls_of_any_routes_fail_in_a_row() -> None:
    outages = RouteOutages()
    raised = [outages.count_failure(OutcomeUnknown("lost"), route) for route in ("a", "", "b")]
    assert [type(each) for each in raised] == [OutcomeUnknown, OutcomeUnknown, ChannelAway]
    assert outages.count_success("c")
