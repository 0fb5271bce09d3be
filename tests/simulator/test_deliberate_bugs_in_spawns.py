"""Bugs in what becomes of a task for a session of its own: each must be caught, for the right reason."""

from collections.abc import Callable
from itertools import count

import msgspec
import pytest

from fairlead.core import decide as deciding
from fairlead.core import message_ids
from fairlead.core.decide import delivery, job_ends, messages, spawns, thread_start
from fairlead.core.decide.decision import Decision
from fairlead.core.events import DeliveryAcknowledged, DeliveryOwed, JobEnqueued
from fairlead.core.ids import EntryId, MessageId
from fairlead.core.limits import Limits
from fairlead.core.routing import requester_destination
from fairlead.flow.outbox.outbox import Outbox
from fairlead.flow.spawns.child_returns import ChildReturns
from fairlead.testing.simulator import simulate
from fairlead.testing.spawn_people import everybody_and_spawns

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


@caught_by("and came into")
def name_the_completion_by_chance(patch):
    """Without an id that is always the same, a crash between the message and the note brings it twice."""
    numbers = count()
    right = ChildReturns._message

    async def named_by_chance(self, job, asker):
        message = await right(self, job, asker)
        return msgspec.structs.replace(message, message_id=MessageId(f"{message.message_id}~{next(numbers)}"))

    patch.setattr(ChildReturns, "_message", named_by_chance)


@caught_by("and came into | does not hear of it")
def note_a_return_that_was_not_made(patch):
    right = ChildReturns._bring
    forgotten = count()

    async def forget_every_third(self, entry):
        if next(forgotten) % 3:
            await right(self, entry)
        else:
            await self._ledger.record_durably(spawns.FinishReturn(entry.entry_id))

    patch.setattr(ChildReturns, "_bring", forget_every_third)


@caught_by("and people saw it")
def tell_people_too_what_an_agent_asked_for(patch):
    right = job_ends._plan_return

    def plan_nothing(owed):
        return DeliveryAcknowledged(EntryId("nothing"))

    assert right
    patch.setattr(job_ends, "_plan_return", plan_nothing)


@caught_by("has a thread, and was seen in | has a thread for good, and its way was")
def answer_the_thread_where_it_was_asked_for(patch):
    right = Outbox._destination

    def to_the_asker(self, entry):
        is_task = entry.kind == "answer" and entry.session_key in self._state.spawns and entry.fail_closed
        return requester_destination(entry.requester) if is_task else right(self, entry)

    patch.setattr(Outbox, "_destination", to_the_asker)


@caught_by("is owed no link")
def forget_the_link(patch):
    def without_link(decision):
        kept = tuple(e for e in decision.events if not (isinstance(e, DeliveryOwed) and e.kind == "link"))
        return msgspec.structs.replace(decision, events=kept)

    change_decision(patch, delivery.MarkPieceSent, without_link)


@caught_by("and got it 0 times | is promised a thread, and nobody has it | which does not have it")
def forget_the_task_when_the_thread_is_there(patch):
    right = thread_start.task_events
    patch.setattr(
        delivery, "task_events", lambda *given: tuple(e for e in right(*given) if not isinstance(e, JobEnqueued))
    )


@caught_by("deep")
def spawn_as_deep_as_anybody_likes(patch):
    right = spawns._limit_problem

    def only_the_numbers(state, command, limits: Limits):
        return right(state, command, msgspec.structs.replace(limits, spawn_max_depth=99))

    patch.setattr(spawns, "_limit_problem", only_the_numbers)


@caught_by("that agents spawned in a row | others were at work")
def count_nothing(patch):
    right = spawns._limit_problem

    def only_the_depth(state, command, limits: Limits):
        wide = msgspec.structs.replace(limits, spawn_max_children=99, spawn_max_in_a_row=12)
        return right(state, command, wide)

    patch.setattr(spawns, "_limit_problem", only_the_depth)


@caught_by("does not hear of it")
def keep_an_interrupted_task_from_the_agent_that_asked(patch):
    right = job_ends.answer_delivery

    def to_people(state, job, ended):
        [owed, *_] = right(state, job, ended)
        is_success = isinstance(ended, job_ends.JobCompleted)
        return right(state, job, ended) if is_success else (msgspec.structs.replace(owed, asker=""),)

    patch.setattr(job_ends, "answer_delivery", to_people)


@caught_by("and came into | does not hear of it | was given up after")
def refuse_a_completion_where_the_queue_is_full(patch):
    patch.setattr(messages, "_FOLLOW_UPS", frozenset())


@caught_by("got 2 sessions | was taken 2 times | ran 2 times | which does not have it")
def carry_out_a_request_as_often_as_it_comes(patch):
    numbers = count()
    patch.setattr(spawns, "_decide_duplicate", lambda *given: None)
    patch.setattr(message_ids, "spawn_id", lambda asked_by: MessageId(f"spawn-{asked_by}~{next(numbers)}"))


@pytest.mark.req("D4", "D6")
@pytest.mark.parametrize("name", BUGS)
def test_the_bug_is_caught(name, monkeypatch):
    bug, words = BUGS[name]
    bug(monkeypatch)
    for seed in range(MOST_SEEDS):
        report = simulate(seed, actors=everybody_and_spawns)
        if report.violations:
            expected = words.split(" | ")
            assert any(each in v for v in report.violations for each in expected), str(report)
            print(f"{name} was caught in world {seed + 1}")
            return
    pytest.fail(f"{name} went unnoticed in {MOST_SEEDS} worlds")
