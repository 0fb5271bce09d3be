"""The rules of the fold for schedules: made, confirmed, paused, resumed, removed, and each settled tick."""

from fairlead.core import events as e
from fairlead.core.schedules import Schedule
from fairlead.core.state import State


def schedule_made(state: State, ts: str, event: e.ScheduleMade) -> None:
    state.schedules_made = max(state.schedules_made, event.number)
    state.schedules[event.number] = Schedule(
        number=event.number, terms=event.terms, status=event.status, made_at=ts, due=event.due
    )


def schedule_confirmed(state: State, _ts: str, event: e.ScheduleConfirmed) -> None:
    _activate(state, event.number, event.due)


def schedule_resumed(state: State, _ts: str, event: e.ScheduleResumed) -> None:
    _activate(state, event.number, event.due)


def _activate(state: State, number: int, due: str) -> None:
    schedule = state.schedules.get(number)
    if schedule is not None:
        schedule.status = "active"
        schedule.due = due


def schedule_paused(state: State, _ts: str, event: e.SchedulePaused) -> None:
    schedule = state.schedules.get(event.number)
    if schedule is not None:
        schedule.status = "paused"
        schedule.due = ""


def schedule_removed(state: State, _ts: str, event: e.ScheduleRemoved) -> None:
    state.schedules.pop(event.number, None)


def schedule_ticked(state: State, _ts: str, event: e.ScheduleTicked) -> None:
    schedule = state.schedules.get(event.number)
    if schedule is None:
        return
    schedule.last_outcome = event.outcome
    schedule.last_detail = event.detail
    if event.outcome == "ran":
        schedule.runs += 1
        schedule.last_job_id = event.job_id
    else:
        schedule.skipped += 1
    if not event.tick:  # a run by hand takes no tick's place
        return
    schedule.last_tick = event.tick
    schedule.due = event.due
    if not event.due:
        schedule.status = "done"
        schedule.done_on = state.lived_day


def due_moved(state: State, _ts: str, event: e.ScheduleDueMoved) -> None:
    schedule = state.schedules.get(event.number)
    if schedule is not None:
        schedule.due = event.due
