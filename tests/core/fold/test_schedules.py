"""The rules of the fold for schedules: facts about one that is gone change nothing; one that is done goes."""

import pytest

from fairlead.core import events as e
from fairlead.core.schedules import ScheduleTerms, Timing
from fairlead.core.state import as_data
from tests.core.harness import OWNER, CoreHarness, conversation_ref, encoded, folded, key_of

pytestmark = pytest.mark.req("E10")

NINE = "2026-03-01T09:00:00.000Z"
TERMS = ScheduleTerms(
    timing=Timing(at=NINE), text="look", person=OWNER, conversation=conversation_ref(), session_key=key_of().text
)


@pytest.mark.parametrize(
    "fact",
    [
        e.ScheduleConfirmed(7, OWNER, NINE),
        e.SchedulePaused(7, OWNER),
        e.ScheduleResumed(7, OWNER, NINE),
        e.ScheduleRemoved(7, OWNER),
        e.ScheduleTicked(number=7, tick=NINE, outcome="missed", due=""),
        e.ScheduleDueMoved(7, NINE),
    ],
)
def test_a_fact_about_a_schedule_that_is_gone_changes_nothing(core: CoreHarness, fact):
    before = as_data(core.state)
    core.take(fact)
    assert as_data(core.state) | {"seq": 0} == before | {"seq": 0}


def test_a_schedule_without_a_next_tick_is_done_and_stays_for_a_week(core: CoreHarness):
    core.take(e.ScheduleMade(number=3, terms=TERMS, status="active", due=NINE))
    core.take(e.ScheduleTicked(number=3, tick=NINE, outcome="missed", due=""))
    assert (core.state.schedules[3].status, core.state.schedules_made) == ("done", 3)
    core.live(7)
    assert 3 in core.state.schedules
    core.live(3)
    assert 3 not in core.state.schedules
    assert encoded(folded(core.journal)) == encoded(core.state)
