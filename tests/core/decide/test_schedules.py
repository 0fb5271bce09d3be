"""Schedules: what may be made, and that a tick is settled once, in one batch with its job."""

from typing import Any

import msgspec
import pytest

from fairlead.core.decide.projects import RenameProject
from fairlead.core.decide.schedules import (
    ConfirmSchedule,
    MakeSchedule,
    MoveDue,
    PauseSchedule,
    RemoveSchedule,
    ResumeSchedule,
    RunByHand,
    SettleTick,
)
from fairlead.core.events import (
    DeliveryOwed,
    JobEnqueued,
    MessageSkipped,
    ScheduleDueMoved,
    ScheduleRemoved,
    ScheduleTicked,
)
from fairlead.core.schedules import MOST_SCHEDULES, ScheduleTerms, Timing
from fairlead.errors import Code
from tests.core.harness import FRIEND, LIMITS, OWNER, STRANGER, CoreHarness, conversation_ref, encoded, folded, key_of

pytestmark = pytest.mark.req("E10")

NINE, TEN, ELEVEN = (f"2026-03-01T{hour:02d}:00:00.000Z" for hour in (9, 10, 11))


def terms(**more: Any) -> ScheduleTerms:
    given = {
        "timing": Timing("0 * * * *"),
        "text": "look",
        "person": OWNER,
        "conversation": conversation_ref(),
        "session_key": key_of().text,
    }
    return ScheduleTerms(**(given | more))


def make(core: CoreHarness, **more: Any) -> int:
    return core.do(MakeSchedule(terms(**more), NINE)).schedule


def tick(number: int = 1, at: str = NINE, due: str = TEN, **more: Any) -> SettleTick:
    return SettleTick(number=number, seen_due=more.pop("seen_due", at), tick=at, due=due, **more)


def test_a_tick_its_job_and_the_next_tick_are_one_batch(core: CoreHarness):
    make(core)
    kinds = [type(event) for event in core.do(tick()).events]
    assert kinds[-2:] == [JobEnqueued, ScheduleTicked]
    assert core.state.schedules[1].due == TEN
    assert encoded(folded(core.journal)) == encoded(core.state)


def test_a_tick_is_settled_by_the_one_that_saw_it_last(core: CoreHarness):
    make(core)
    core.do(tick())
    assert not core.do(tick()).events
    assert core.state.schedules[1].runs == 1


def test_a_tick_that_comes_again_after_the_clock_was_set_back_only_moves_on(core: CoreHarness):
    make(core, overlap=True)
    core.do(tick())
    core.do(MoveDue(1, NINE))
    again = core.do(tick())
    assert again.events == (ScheduleDueMoved(1, TEN),)
    assert core.state.schedules[1].runs == 1


def test_a_tick_during_the_last_run_is_skipped_and_says_so(core: CoreHarness):
    make(core)
    first = core.do(tick()).job_id
    skipped, settled = core.do(tick(at=TEN, due=ELEVEN)).events
    assert isinstance(skipped, MessageSkipped)
    assert (settled.outcome, settled.detail) == ("overlap", first)
    assert core.state.account.skipped == 1


def test_a_tick_that_was_missed_leaves_its_message_id_free(core: CoreHarness):
    """If the clock was only wrong, its time will come."""
    make(core)
    core.do(tick(outcome="missed"))
    core.do(MoveDue(1, NINE))
    assert core.do(tick()).job_id


def test_a_person_who_is_no_longer_allowed_is_told_once_and_runs_nothing(core: CoreHarness):
    make(core, person=FRIEND, conversation=conversation_ref("theirs"), session_key=key_of(FRIEND).text)
    core.limits = msgspec.structs.replace(LIMITS, allowed_people=())
    settled, told = core.do(tick()).events
    assert (settled.outcome, settled.detail) == ("refused", Code.E_OWNER_ONLY)
    assert isinstance(told, DeliveryOwed)
    assert [type(event) for event in core.do(tick(at=TEN, due=ELEVEN)).events] == [ScheduleTicked]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"text": "  "}, Code.E_EMPTY_MESSAGE),
        ({"session": "fresh", "overlap": True}, Code.E_INVALID_ARGS),
        ({"tell": (STRANGER,)}, Code.E_INVALID_ARGS),
        ({"project": "nothing"}, Code.E_PROJECT_NOT_FOUND),
    ],
)
def test_what_would_keep_every_run_from_starting_is_refused_at_once(core: CoreHarness, wrong, code):
    assert core.refuses(MakeSchedule(terms(**wrong), NINE)) == code


def test_a_session_has_so_many_schedules_and_no_more(core: CoreHarness):
    for _ in range(MOST_SCHEDULES):
        make(core)
    assert core.refuses(MakeSchedule(terms(), NINE)) == Code.E_INVALID_ARGS


def test_a_proposal_fires_when_it_is_confirmed_and_a_second_one_takes_its_place(core: CoreHarness):
    core.do(MakeSchedule(terms(), NINE, is_proposed=True))
    assert not core.do(tick(seen_due="")).events
    replaced = core.do(MakeSchedule(terms(text="else"), NINE, is_proposed=True))
    assert isinstance(replaced.events[0], ScheduleRemoved)
    core.do(ConfirmSchedule(2, OWNER, NINE))
    assert core.do(tick(2)).job_id
    assert not core.do(ConfirmSchedule(2, OWNER, NINE)).events


def test_a_paused_schedule_has_no_tick_until_it_goes_on(core: CoreHarness):
    make(core)
    core.do(PauseSchedule(1, OWNER))
    assert not core.do(tick()).events
    core.do(ResumeSchedule(1, OWNER, TEN))
    assert core.do(tick(at=TEN, due=ELEVEN)).job_id
    core.do(RemoveSchedule(1, OWNER))
    assert core.refuses(PauseSchedule(1, OWNER)) == Code.E_SCHEDULE_NOT_FOUND


def test_a_run_by_hand_takes_no_tick_away_and_is_taken_once(core: CoreHarness):
    make(core)
    by_hand = core.do(RunByHand(1, "click", OWNER)).job_id
    assert core.state.schedules[1].due == NINE
    assert core.refuses(RunByHand(1, "another", OWNER)) == Code.E_SCHEDULE_BUSY
    core.start()
    core.complete(by_hand)
    assert core.do(RunByHand(1, "click", OWNER)).duplicate


def test_a_schedule_follows_its_project_to_a_new_name(core: CoreHarness):
    make(core, project="api", session="own")
    core.do(RenameProject("api", "shop"))
    assert core.state.schedules[1].terms.project == "shop"
    job_id = core.do(tick()).job_id
    assert core.state.jobs[job_id].project == "shop"
