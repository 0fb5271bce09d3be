"""Bugs in schedules that are put in on purpose, and that the simulator must catch, for the right reason."""

from itertools import count

import pytest

from fairlead.core.decide import schedules
from fairlead.core.decide.messages import Submit
from fairlead.core.message_ids import tick_id
from fairlead.flow.schedules import ticking
from fairlead.flow.schedules.ticking import Ticking
from fairlead.testing.schedule_people import everybody_and_schedules
from fairlead.testing.simulator import simulate
from tests.simulator.test_deliberate_bugs import MOST_SEEDS

pytestmark = pytest.mark.req("E10")


def settle_a_tick_apart_from_its_job(patch):
    def settle(self, schedule, plan=None):
        plan = plan or self._plan(schedule)
        if plan.outcome == "ran" and not schedules.unfinished_run(self._state, schedule):
            inbound = schedules._inbound(schedule, tick_id(plan.number, plan.tick), self._ledger.limits)
            self._ledger.apply_now(Submit(inbound))
        right(self, schedule, plan)

    right = Ticking._settle
    patch.setattr(Ticking, "_settle", settle)


def let_runs_overlap(patch):
    patch.setattr(schedules, "unfinished_run", lambda state, schedule: False)
    patch.setattr(ticking, "unfinished_run", lambda state, schedule: False)


def forget_which_ticks_were_missed(patch):
    right = ticking.next_tick
    patch.setattr(ticking, "latest_tick", lambda timing, first, until: right(timing, until))


def give_a_tick_another_id_each_time(patch):
    numbers = count()
    patch.setattr(schedules.message_ids, "tick_id", lambda number, tick: f"schedule-{number}-{tick}~{next(numbers)}")


def never_look_at_the_clock(patch):
    async def trust(self):
        pass

    patch.setattr(Ticking, "_follow_clock", trust)


BUGS = {
    settle_a_tick_apart_from_its_job: "was not settled with it",
    let_runs_overlap: "overlaps",
    forget_which_ticks_were_missed: "before | a tick is lost",
    give_a_tick_another_id_each_time: "ran twice for",
    never_look_at_the_clock: "does not fire before",
}


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_the_bug_is_caught(bug, monkeypatch):
    bug(monkeypatch)
    for seed in range(MOST_SEEDS):
        report = simulate(seed, actors=everybody_and_schedules)
        if report.violations:
            assert any(each in v for v in report.violations for each in BUGS[bug].split(" | ")), str(report)
            return
    pytest.fail(f"{bug.__name__} went unnoticed in {MOST_SEEDS} worlds")
