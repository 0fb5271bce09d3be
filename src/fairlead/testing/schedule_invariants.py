"""What must be true of schedules after any simulation: no tick is lost, none runs twice, none runs over the last run.

Judges by rules of its own: ticks here are whole multiples of some minutes, so no cron expression has to be read.
"""

import re
from typing import Final

import msgspec

from fairlead.core import events as e
from fairlead.core import timestamps
from fairlead.core.message_ids import OfSchedule, parse_message_id
from fairlead.store.lines import JournalLine
from fairlead.testing.world import World

_EVERY: Final = re.compile(r"\*(?:/(\d+))? \* \* \* \*")
_ENDS: Final = (e.JobCompleted, e.JobFailed, e.JobCancelled, e.JobMarkedUnknownAfterCrash, e.JobWithdrawn)


class _Watched(msgspec.Struct, kw_only=True):
    """A schedule as these rules see it. `due` is empty while it must not fire."""

    made: e.ScheduleMade
    due: str
    ran: set[str]
    last_job: str = ""

    @property
    def step_sec(self) -> int:
        found = _EVERY.fullmatch(self.made.terms.timing.cron)
        return 60 * int(found[1] or 1) if found is not None else 0


def judge_schedules(world: World, facts: list[JournalLine]) -> None:
    watched: dict[int, _Watched] = {}
    ended: set[str] = set()
    enqueued: dict[str, int] = {}
    for fact in facts:
        match fact.payload:
            case e.ScheduleMade() as made:
                watched[made.number] = _Watched(made=made, due=made.due, ran=set())
                _check_due(world, watched[made.number], made.due, fact.ts)
            case e.ScheduleConfirmed() | e.ScheduleResumed() | e.ScheduleDueMoved() as changed:
                watched[changed.number].due = changed.due
                if not isinstance(changed, e.ScheduleDueMoved):
                    _check_due(world, watched[changed.number], changed.due, fact.ts)
            case e.SchedulePaused() | e.ScheduleRemoved() as stopped:
                watched[stopped.number].due = ""
            case e.JobEnqueued(job_id=job_id, cause="schedule") as job:
                named = parse_message_id(job.message_id)
                if not isinstance(named, OfSchedule):
                    world.accuse(f"{job_id} was started by no schedule")
                    continue
                enqueued[job_id] = named.number
                _check_overlap(world, watched[named.number], job, ended)
            case e.ScheduleTicked() as ticked:
                _check_tick(world, watched[ticked.number], ticked, fact.ts)
                if ticked.outcome == "ran" and enqueued.pop(ticked.job_id, None) != ticked.number:
                    world.accuse(f"schedule {ticked.number} ran at {ticked.tick} as {ticked.job_id}, which is no job")
            case payload:
                if isinstance(payload, _ENDS):
                    ended.add(payload.job_id)
    for job_id, number in enqueued.items():
        world.accuse(f"{job_id} was started by schedule {number}, whose tick was not settled with it")


def _check_overlap(world: World, schedule: _Watched, job: e.JobEnqueued, ended: set[str]) -> None:
    if schedule.last_job and schedule.last_job not in ended:
        world.happened["runs that queue"] += 1
        if not schedule.made.terms.overlap:
            world.accuse(f"{job.job_id} of schedule {schedule.made.number} overlaps {schedule.last_job}")
    schedule.last_job = job.job_id


def _check_tick(world: World, schedule: _Watched, ticked: e.ScheduleTicked, ts: str) -> None:
    """Ticks are settled one after the other, from the one that was due, and none before its time."""
    if not ticked.tick:
        world.happened["runs by hand"] += 1
        return
    number = ticked.number
    world.happened[f"ticks: {ticked.outcome}"] += 1
    first = ticked.missed_from or ticked.tick
    if first != schedule.due:
        world.accuse(
            f"schedule {number} was due at {schedule.due or 'no time'}, and {first} was settled: a tick is lost"
        )
    if ticked.tick > ts:
        world.accuse(f"schedule {number} fired at {ts}, before {ticked.tick}")
    if ticked.outcome == "ran":
        if ticked.tick in schedule.ran:
            world.accuse(f"schedule {number} ran twice for {ticked.tick}")
        schedule.ran.add(ticked.tick)
    schedule.due = ticked.due
    if ticked.due:
        _check_due(world, schedule, ticked.due, ticked.tick)


def _check_due(world: World, schedule: _Watched, due: str, after: str) -> None:
    step = schedule.step_sec
    if not due or not step:
        return
    expected = timestamps.from_epoch((timestamps.to_epoch(after) // step + 1) * step)
    if due != expected:
        world.accuse(f"schedule {schedule.made.number} is due at {due}, and its next tick is {expected}")
