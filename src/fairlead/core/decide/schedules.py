"""Deciding about schedules: made, confirmed, paused, removed; and what becomes of a tick.

1. A tick is settled once: its fact, the schedule's next tick and the job that it became are one batch. Its message id
   is made of the schedule's number and the tick, so a tick that comes again after the clock was set back is known.
2. A tick while the last run has not ended is skipped, and recorded as skipped, unless the schedule allows it.
3. A tick that was missed is passed over without a message id: if the clock was only wrong, its time will come.
"""

from typing import Final

import msgspec

from fairlead.core import message_ids
from fairlead.core.decide import messages
from fairlead.core.decide.decision import NOTHING, Decision, refuse
from fairlead.core.decide.messages import Submit, is_allowed
from fairlead.core.decide.projects import project_to_work_in
from fairlead.core.decide.sessions import ResetSession, reset_session
from fairlead.core.events import (
    DeliveryOwed,
    JournalEvent,
    MessageSkipped,
    ScheduleConfirmed,
    ScheduleDueMoved,
    ScheduleMade,
    SchedulePaused,
    ScheduleRemoved,
    ScheduleResumed,
    ScheduleTicked,
)
from fairlead.core.ids import NO_SESSION, JobId, MessageId, SessionKeyText
from fairlead.core.inbound import Inbound
from fairlead.core.keys import parse_session_key, schedule_key
from fairlead.core.limits import Limits
from fairlead.core.schedules import MOST_SCHEDULES, Schedule, ScheduleNotice, ScheduleTerms, TickOutcome
from fairlead.core.state import Session, State, notice_entry_id
from fairlead.errors import Code, FairleadError, error

_NO_JOB: Final = JobId("")
_SKIPPED_BECAUSE: Final = {"overlap": "the last run of its schedule has not ended", "check": "its check said no"}


class MakeSchedule(msgspec.Struct, frozen=True):
    """`due` is its first tick. One whose time was read from people's words is only proposed."""

    terms: ScheduleTerms
    due: str
    is_proposed: bool = False


class ConfirmSchedule(msgspec.Struct, frozen=True):
    number: int
    person: str
    due: str


class PauseSchedule(msgspec.Struct, frozen=True):
    number: int
    person: str


class ResumeSchedule(msgspec.Struct, frozen=True):
    number: int
    person: str
    due: str


class RemoveSchedule(msgspec.Struct, frozen=True):
    number: int
    person: str


class SettleTick(msgspec.Struct, frozen=True, kw_only=True):
    """The caller saw the schedule with its next tick at `seen_due`. `tick` is the one to settle now, `due` the one
    after it; those from `missed_from` to before it are passed over. `outcome` is "ran" if nothing that the caller knows
    speaks against a run."""

    number: int
    seen_due: str
    tick: str
    due: str
    outcome: TickOutcome = "ran"
    detail: str = ""
    missed_from: str = ""


class RunByHand(msgspec.Struct, frozen=True):
    """`asked_by` is the id of the request."""

    number: int
    asked_by: str
    person: str


class MoveDue(msgspec.Struct, frozen=True):
    number: int
    due: str


def make_schedule(state: State, command: MakeSchedule, now: str, limits: Limits) -> Decision:
    terms = command.terms
    problem = _terms_problem(state, terms, now, limits)
    if problem is not None:
        return Decision(refusal=problem)
    made = ScheduleMade(
        number=state.schedules_made + 1,
        terms=terms,
        status="proposed" if command.is_proposed else "active",
        due="" if command.is_proposed else command.due,
    )
    older = [
        ScheduleRemoved(s.number, terms.person)
        for s in state.schedules.values()
        if command.is_proposed and s.status == "proposed" and _is_of_same_person_here(s, terms)
    ]
    return Decision((*older, made), schedule=made.number)


def _is_of_same_person_here(schedule: Schedule, terms: ScheduleTerms) -> bool:
    theirs = schedule.terms
    return (theirs.person, theirs.conversation.address) == (terms.person, terms.conversation.address)


def _terms_problem(state: State, terms: ScheduleTerms, now: str, limits: Limits) -> FairleadError | None:
    """Everything that would keep each of its runs from starting is said now, while somebody is there to read it."""
    if not terms.text.strip():
        return error(Code.E_EMPTY_MESSAGE)
    if terms.session == "fresh" and terms.overlap:
        return error(Code.E_INVALID_ARGS, "A fresh session has no memory of a run that has not ended.")
    strangers = [p for p in terms.tell if not is_allowed(state, p, limits, pre_authorised=False)]
    if strangers:
        return error(Code.E_INVALID_ARGS, f"{strangers[0][:40]!r} may not use Fairlead, and so cannot be told.")
    there = sum(s.terms.session_key == terms.session_key for s in state.schedules.values() if s.status != "done")
    if there >= MOST_SCHEDULES:
        full = f"This session already has {there} schedules."
        return error(Code.E_INVALID_ARGS, full, next_step="Remove some with /schedule remove.")
    key = parse_session_key(terms.session_key)
    assert key is not None, "only built keys reach a command"
    session = state.session_for(terms.conversation, key, now) if terms.session == "here" else None
    if terms.foreign:
        session = state.sessions.get(terms.session_key)
    project = project_to_work_in(state, session=session, person=terms.person, asked_for=terms.project or None)
    return project if isinstance(project, FairleadError) else None


def confirm_schedule(state: State, command: ConfirmSchedule, _now: str, _limits: Limits) -> Decision:
    schedule = state.schedules.get(command.number)
    if schedule is None:
        return _refuse_unknown(command.number)
    if schedule.status != "proposed":
        return NOTHING
    confirmed = ScheduleConfirmed(command.number, command.person, command.due)
    return Decision((confirmed,), schedule=command.number)


def pause_schedule(state: State, command: PauseSchedule, _now: str, _limits: Limits) -> Decision:
    schedule = state.schedules.get(command.number)
    if schedule is None:
        return _refuse_unknown(command.number)
    if schedule.status != "active":
        return NOTHING
    return Decision((SchedulePaused(command.number, command.person),), schedule=command.number)


def resume_schedule(state: State, command: ResumeSchedule, _now: str, _limits: Limits) -> Decision:
    schedule = state.schedules.get(command.number)
    if schedule is None:
        return _refuse_unknown(command.number)
    if schedule.status != "paused":
        return NOTHING
    return Decision((ScheduleResumed(command.number, command.person, command.due),), schedule=command.number)


def remove_schedule(state: State, command: RemoveSchedule, _now: str, _limits: Limits) -> Decision:
    if command.number not in state.schedules:
        return _refuse_unknown(command.number)
    return Decision((ScheduleRemoved(command.number, command.person),), schedule=command.number)


def _refuse_unknown(number: int) -> Decision:
    return refuse(Code.E_SCHEDULE_NOT_FOUND, f"There is no schedule {number}.")


def move_due(state: State, command: MoveDue, _now: str, _limits: Limits) -> Decision:
    schedule = state.schedules.get(command.number)
    if schedule is None or schedule.status != "active" or schedule.due == command.due:
        return NOTHING
    return Decision((ScheduleDueMoved(command.number, command.due),), schedule=command.number)


def settle_tick(state: State, command: SettleTick, now: str, limits: Limits) -> Decision:
    """Nothing if the schedule changed since the caller looked: it looks again."""
    schedule = state.schedules.get(command.number)
    if schedule is None or schedule.status != "active" or schedule.due != command.seen_due:
        return NOTHING
    if state.outcome_of(schedule.terms.conversation, message_ids.tick_id(command.number, command.tick)) is not None:
        return Decision((_without_run(schedule, command),), schedule=command.number)
    if command.outcome == "ran" and unfinished_run(state, schedule) and not schedule.terms.overlap:
        command = msgspec.structs.replace(command, outcome="overlap", detail=schedule.last_job_id)
    if command.outcome != "ran":
        return _skip(schedule, command)
    message_id = message_ids.tick_id(command.number, command.tick)
    taken = _run(state, schedule, message_id, now, limits)
    if taken.refusal is not None:
        return _report_refusal(schedule, command, taken, taken.refusal)
    return Decision((*taken.events, _tick_fact(command, taken.job_id)), job_id=taken.job_id, schedule=command.number)


def _without_run(schedule: Schedule, command: SettleTick) -> JournalEvent:
    """The tick was settled before the clock was set back. A schedule with no other tick is done by now."""
    if command.due:
        return ScheduleDueMoved(command.number, command.due)
    return _tick_fact(msgspec.structs.replace(command, outcome="missed", detail="settled before"), schedule.last_job_id)


def unfinished_run(state: State, schedule: Schedule) -> bool:
    job = state.jobs.get(schedule.last_job_id)
    return job is not None and job.is_live


def _tick_fact(command: SettleTick, job_id: JobId = _NO_JOB) -> ScheduleTicked:
    return ScheduleTicked(
        number=command.number,
        tick=command.tick,
        outcome=command.outcome,
        due=command.due,
        job_id=job_id,
        detail=command.detail,
        missed_from=command.missed_from,
    )


def _skip(schedule: Schedule, command: SettleTick) -> Decision:
    terms, ticked = schedule.terms, _tick_fact(command)
    if command.outcome == "missed":
        return Decision((ticked,), schedule=command.number)
    skipped = MessageSkipped(
        terms.conversation,
        message_ids.tick_id(command.number, command.tick),
        terms.person,
        _SKIPPED_BECAUSE.get(command.outcome, command.detail),
    )
    return Decision((skipped, ticked, *_notice(schedule, command, _check_fault(command))), schedule=command.number)


def _check_fault(command: SettleTick) -> str:
    """A check that could not be carried out is told to a person; one that says no is not."""
    return Code.E_SCHEDULE_CHECK if command.outcome == "check" and not command.detail.startswith("exit code") else ""


def _report_refusal(schedule: Schedule, command: SettleTick, taken: Decision, why: FairleadError) -> Decision:
    refused = msgspec.structs.replace(command, outcome="refused", detail=why.code.value)
    told = _notice(schedule, refused, why.code.value)
    return Decision((*taken.events, _tick_fact(refused), *told), schedule=command.number)


def _notice(schedule: Schedule, command: SettleTick, code: str) -> tuple[JournalEvent, ...]:
    """Told once: while every tick fails for the same reason, a person need not read it every minute."""
    is_known = (schedule.last_outcome, schedule.last_detail) == (command.outcome, command.detail)
    if not code or is_known:
        return ()
    terms = schedule.terms
    notice = ScheduleNotice(
        number=command.number, tick=command.tick, person=terms.person, code=code, detail=command.detail
    )
    return (
        DeliveryOwed(
            entry_id=notice_entry_id(command.number, command.tick),
            kind="notice",
            session_key=terms.session_key,
            requester=terms.conversation,
            notice=notice,
        ),
    )


def run_by_hand(state: State, command: RunByHand, now: str, limits: Limits) -> Decision:
    schedule = state.schedules.get(command.number)
    if schedule is None:
        return _refuse_unknown(command.number)
    if unfinished_run(state, schedule) and not schedule.terms.overlap:
        return refuse(Code.E_SCHEDULE_BUSY, f"Its last run, {schedule.last_job_id}, has not ended.")
    taken = _run(state, schedule, message_ids.hand_run_id(command.number, command.asked_by), now, limits)
    if taken.refusal is not None or taken.duplicate:
        return taken
    ticked = ScheduleTicked(
        number=command.number, tick="", outcome="ran", due=schedule.due, job_id=taken.job_id, detail=command.person
    )
    return Decision((*taken.events, ticked), job_id=taken.job_id, schedule=command.number)


def _run(state: State, schedule: Schedule, message_id: MessageId, now: str, limits: Limits) -> Decision:
    """An ordinary message. For a fresh session, the memory of its earlier runs goes first."""
    inbound = _inbound(schedule, message_id, limits)
    taken = messages.submit(state, Submit(inbound), now, limits)
    session = own_session(state, schedule, limits)
    if taken.refusal is not None or taken.duplicate or session is None or schedule.terms.session != "fresh":
        return taken
    reset = reset_session(state, ResetSession(session.session_key, schedule.terms.person), now, limits)
    return msgspec.structs.replace(taken, events=(*reset.events, *taken.events))


def own_session(state: State, schedule: Schedule, limits: Limits) -> Session | None:
    return state.sessions.get(_own_key(schedule, limits))


def _own_key(schedule: Schedule, limits: Limits) -> SessionKeyText:
    return schedule_key(agent_id=limits.agent_id, number=schedule.number).text


def _inbound(schedule: Schedule, message_id: MessageId, limits: Limits) -> Inbound:
    """An agent is called again in the session in which it made the schedule, whichever one is talked to where that
    answers: a spawned session answers where its parent is talked to."""
    terms = schedule.terms
    is_here = terms.session == "here"
    key = parse_session_key(terms.session_key if is_here else _own_key(schedule, limits))
    assert key is not None, "only built keys reach the journal"
    return Inbound(
        conversation=terms.conversation,
        session_key=key,
        message_id=message_id,
        person=terms.person,
        text=terms.text,
        pre_authorised=terms.pre_authorised,
        project=terms.project or None,
        cause="schedule",
        foreign=terms.foreign,
        ring=terms.ring,
        tell=terms.tell,
        own_session=not is_here or terms.foreign,
        parent_session_key=NO_SESSION if is_here else terms.session_key,
    )
