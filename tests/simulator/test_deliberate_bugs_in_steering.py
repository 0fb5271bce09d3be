"""Bugs in what becomes of a text for a running turn: each must be caught, for the right reason."""

from collections.abc import Callable

import msgspec
import pytest

from fairlead.core import decide as deciding
from fairlead.core.decide import job_ends, steering
from fairlead.core.decide.decision import Decision
from fairlead.core.events import JobMarkedUnknownAfterCrash, JobSteered, SteeringDeclined
from fairlead.core.fold import steering as folding
from fairlead.flow.turns.steering import Steering
from fairlead.testing.simulator import simulate
from fairlead.testing.steer_people import everybody_and_steerers
from tests.simulator.harness import HastyLedger

MOST_SEEDS = 60

Bug = Callable[[pytest.MonkeyPatch], None]
BUGS: dict[str, tuple[Bug, str]] = {}


def caught_by(words: str) -> Callable[[Bug], Bug]:
    def register(bug: Bug) -> Bug:
        BUGS[bug.__name__] = (bug, words)
        return bug

    return register


def change_decision(patch: pytest.MonkeyPatch, command: type, change: Callable[[Decision], Decision]) -> None:
    right = deciding._DECIDERS[command]
    patch.setitem(deciding._DECIDERS, command, lambda *given: change(right(*given)))


@caught_by("and ran as a job too")
def run_as_a_job_too_what_was_taken(patch):
    def queue_again(decision):
        events = tuple(
            SteeringDeclined(job_id=event.job_id, session_key=event.session_key, reason="too_late")
            if isinstance(event, JobSteered)
            else event
            for event in decision.events
        )
        return msgspec.structs.replace(decision, events=events)

    change_decision(patch, steering.SettleSteering, queue_again)


@caught_by("ended 0 times | the totals do not match")
def forget_after_a_crash_what_was_on_its_way(patch):
    right = job_ends.mark_interrupted

    def without_texts(state, *given):
        left, state.steering = state.steering, []
        try:
            return right(state, *given)
        finally:
            state.steering = left

    patch.setitem(deciding._DECIDERS, job_ends.MarkInterrupted, without_texts)


@caught_by("and ran as a job too")
def run_again_after_a_crash_what_the_agent_may_have(patch):
    right = job_ends.mark_interrupted

    def queue_texts(state, *given):
        decision = right(state, *given)
        texts = set(state.steering)
        events = tuple(
            SteeringDeclined(job_id=event.job_id, session_key=event.session_key, reason="too_late")
            if isinstance(event, JobMarkedUnknownAfterCrash) and event.job_id in texts
            else event
            for event in decision.events
            if not (getattr(event, "job_id", "") in texts and type(event).__name__.startswith("Delivery"))
        )
        return msgspec.structs.replace(decision, events=events)

    patch.setitem(deciding._DECIDERS, job_ends.MarkInterrupted, queue_texts)


@caught_by("before that was written down")
def give_a_text_before_it_is_written_down(patch):
    right = Steering._give

    async def at_once(self, waiting):
        ledger, self._ledger = self._ledger, HastyLedger(self._ledger, "until_all_durable")
        try:
            await right(self, waiting)
        finally:
            self._ledger = ledger

    patch.setattr(Steering, "_give", at_once)


@caught_by("began after | ended 0 times | the totals do not match")
def put_a_text_that_was_not_taken_at_the_end_of_the_queue(patch):
    patch.setattr(folding, "_put_back", lambda _state, session, job: session.queue.append(job.job_id))


@caught_by("ended 0 times | the totals do not match")
def leave_a_text_open_when_its_turn_is_over(patch):
    async def close(self):
        self._is_closed = True

    async def drop(self, steer, settled):
        await self._runtime.steer(self._job.session_key, steer)
        settled.cancel()

    patch.setattr(Steering, "close", close)
    patch.setattr(Steering, "_hand_over", drop)


@caught_by("and the mark")
def show_a_text_that_was_taken_as_one_that_waits(patch):
    from fairlead.channels.push.marks import MARK_OF_STATE

    patch.delitem(MARK_OF_STATE, "steered")


@pytest.mark.req("F6")
@pytest.mark.parametrize("name", BUGS)
def test_the_bug_is_caught(name, monkeypatch):
    bug, words = BUGS[name]
    bug(monkeypatch)
    for seed in range(MOST_SEEDS):
        report = simulate(seed, actors=everybody_and_steerers)
        if report.violations:
            expected = words.split(" | ")
            assert any(each in v for v in report.violations for each in expected), str(report)
            return
    pytest.fail(f"{name} went unnoticed in {MOST_SEEDS} worlds")
