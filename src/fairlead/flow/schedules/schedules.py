"""Making and changing schedules, for people and for agents. `ticking` lets them fire."""

import shlex
from typing import TYPE_CHECKING, Final

import msgspec

from fairlead.core import requests as ask
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.agent_calls import AgentCall, find_person
from fairlead.core.decide.messages import is_allowed
from fairlead.core.decide.schedules import (
    ConfirmSchedule,
    MakeSchedule,
    PauseSchedule,
    RemoveSchedule,
    ResumeSchedule,
    RunByHand,
)
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.inbound import clean_text
from fairlead.core.replies import ScheduleRow
from fairlead.core.requests import Caller
from fairlead.core.schedules import LONGEST_TEXT, MissedTicks, Schedule, ScheduleTerms
from fairlead.core.state import Session, State
from fairlead.core.visibility import may_see
from fairlead.errors import Code, error
from fairlead.flow.ledger import Ledger
from fairlead.flow.schedules.ticking import Ticking
from fairlead.flow.schedules.times import check_timing, find_zone, show_local, upcoming

if TYPE_CHECKING:
    from fairlead.flow.schedules.readings import Reading

SHOWN_TICKS: Final = 3
_MENTION: Final = "<@!>"


class ScheduleDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """What holds where a schedule itself says nothing."""

    zone: str = "UTC"
    missed: MissedTicks = "run"


class Schedules:
    def __init__(self, ledger: Ledger, ticking: Ticking, defaults: ScheduleDefaults) -> None:
        self._ledger = ledger
        self._ticking = ticking
        self._defaults = defaults

    @property
    def _state(self) -> State:
        return self._ledger.state

    # --- people

    async def add(self, request: ask.ScheduleAdd, caller: Caller) -> ScheduleRow:
        """A time in words is only proposed: `confirm` makes it count."""
        self._check_maker(caller)
        if request.check and not self._is_owner(caller):
            raise error(Code.E_OWNER_ONLY, "Only the owner may have a command run before a schedule.")
        reading = self._read(request.when, request.zone)
        session = self._state.session_for(caller.conversation, caller.session_key, self._ledger.now())
        chosen = request.session or ("own" if request.project else "here")
        if chosen == "here" and request.project:
            raise error(Code.E_INVALID_ARGS, "A run in this conversation works in its project; choose session own.")
        terms = ScheduleTerms(
            timing=reading.timing,
            text=_check_text(request.text),
            person=caller.person,
            conversation=caller.conversation,
            session_key=session.session_key if session is not None else caller.session_key.text,
            session=chosen,
            missed=request.missed or self._defaults.missed,
            overlap=request.overlap == "queue",
            ring=request.ring,
            tell=tuple(self._person(name, caller) for name in request.tell),
            check=_argument_vector(request.check),
            project=self._fixed_project(request.project, session) if chosen != "here" else "",
            pre_authorised=caller.pre_authorised,
        )
        made = await self._make(terms, reading)
        assert made is not None, "only an agent's call may have come before"
        return made

    async def confirm(self, request: ask.ScheduleConfirm, caller: Caller) -> ScheduleRow:
        schedule = self._find_owned(request.number or self._last_proposed(caller), caller)
        due = check_timing(schedule.terms.timing, self._ledger.now())
        return await self._change(schedule, ConfirmSchedule(schedule.number, caller.person, due))

    async def pause(self, request: ask.SchedulePause, caller: Caller) -> ScheduleRow:
        schedule = self._find_owned(request.number, caller)
        return await self._change(schedule, PauseSchedule(schedule.number, caller.person))

    async def resume(self, request: ask.ScheduleResume, caller: Caller) -> ScheduleRow:
        schedule = self._find_owned(request.number, caller)
        due = check_timing(schedule.terms.timing, self._ledger.now())
        return await self._change(schedule, ResumeSchedule(schedule.number, caller.person, due))

    async def remove(self, request: ask.ScheduleRemove, caller: Caller) -> ScheduleRow:
        schedule = self._find_owned(request.number, caller)
        row = self.row(schedule)
        await self._ledger.record_durably(RemoveSchedule(schedule.number, caller.person))
        return row

    async def run_now(self, request: ask.ScheduleRun, caller: Caller) -> JobId:
        schedule = self._find_owned(request.number, caller)
        decision = await self._ledger.record_durably(RunByHand(schedule.number, request.asked_by, caller.person))
        return decision.job_id

    def visible(self, caller: Caller) -> list[Schedule]:
        """Who may see the session in which a schedule was made may see the schedule."""
        return [s for s in self._state.schedules.values() if may_see(self._state, s.terms.session_key, caller)]

    # --- agents

    async def add_for_agent(
        self, session_key: SessionKeyText, *, when: str, text: str, zone: str = "", call: AgentCall | None = None
    ) -> ScheduleRow | None:
        """A schedule that an agent makes in its own session, for the person whose job it works on. The time must be
        exact (a cron expression, or a date with a time): words would have to be shown to a person first. What the agent
        wrote is data: no standing rule allows anything in such a run. None for a call that made one before. Raises
        E_SCHEDULE_TIME or E_OWNER_ONLY."""
        session, person, conversation = self._behind(session_key)
        is_trusted = is_allowed(self._state, person, self._ledger.limits, pre_authorised=False)
        is_others = is_trusted and person != self._state.owner_id
        if not person or (self._ledger.limits.schedules_for == "owner" and is_others):
            raise error(Code.E_OWNER_ONLY, "Only the owner may make schedules here.")
        reading = self._read(when, zone)
        if not reading.is_exact:
            exact = reading.timing.cron or show_local(reading.timing.at, reading.timing.zone)
            next_step = f"Call again with {exact} in {reading.timing.zone}, if that is meant."
            raise error(Code.E_SCHEDULE_TIME, "An agent must give an exact time.", next_step=next_step)
        terms = ScheduleTerms(
            timing=reading.timing,
            text=_check_text(text),
            person=person,
            conversation=conversation,
            session_key=session.session_key,
            missed=self._defaults.missed,
            pre_authorised=not is_trusted,
            foreign=True,
        )
        return await self._make(terms, reading, call)

    def _behind(self, session_key: SessionKeyText) -> tuple[Session, str, ConversationRef]:
        session = self._state.sessions.get(session_key)
        if session is None:
            raise error(Code.E_SESSION_NOT_FOUND)
        job_id = session.running_job_id or session.agent_job_id or session.last_job_id
        job = self._state.jobs.get(job_id or JobId(""))
        if job is None:
            raise error(Code.E_JOB_NOT_FOUND)
        return session, find_person(self._state, job), job.conversation

    # --- both

    def _read(self, when: str, zone: str) -> "Reading":
        from fairlead.flow.schedules.readings import read_when  # noqa: PLC0415 - only a new schedule needs it

        zone = zone or self._defaults.zone
        find_zone(zone)
        return read_when(when, zone, self._ledger.now())

    async def _make(
        self, terms: ScheduleTerms, reading: "Reading", call: AgentCall | None = None
    ) -> ScheduleRow | None:
        due = check_timing(terms.timing, self._ledger.now())
        decision = await self._ledger.record_durably(MakeSchedule(terms, due, not reading.is_exact, call))
        if decision.duplicate:
            return None
        self._ticking.follow(decision.schedule)
        return self.row(self._state.schedules[decision.schedule])

    async def _change(
        self, schedule: Schedule, command: ConfirmSchedule | PauseSchedule | ResumeSchedule
    ) -> ScheduleRow:
        await self._ledger.record_durably(command)
        self._ticking.follow(schedule.number)
        return self.row(schedule)

    def _find_owned(self, number: int, caller: Caller) -> Schedule:
        """Raises E_SCHEDULE_NOT_FOUND for one that the caller may not see, E_OWNER_ONLY for somebody else's."""
        schedule = self._state.schedules.get(number)
        if schedule is None or not may_see(self._state, schedule.terms.session_key, caller):
            raise _build_unknown(number)
        if not self._is_owner(caller) and schedule.terms.person != caller.person:
            raise error(Code.E_OWNER_ONLY, f"Schedule {number} is somebody else's.")
        return schedule

    def _last_proposed(self, caller: Caller) -> int:
        address = caller.conversation.address
        numbers = [
            s.number
            for s in self._state.schedules.values()
            if s.status == "proposed" and s.terms.conversation.address == address and s.terms.person == caller.person
        ]
        if not numbers:
            raise error(Code.E_SCHEDULE_NOT_FOUND, "No schedule waits for a confirmation here.")
        return max(numbers)

    def _is_owner(self, caller: Caller) -> bool:
        return caller.pre_authorised or caller.person == self._state.owner_id

    def _check_maker(self, caller: Caller) -> None:
        if self._ledger.limits.schedules_for == "owner" and not self._is_owner(caller):
            raise error(Code.E_OWNER_ONLY, "Only the owner may make schedules here.")

    def _fixed_project(self, project: str, session: Session | None) -> str:
        if not project:
            return session.project if session is not None else ""
        found = self._state.project_named(project)
        if found is None:
            raise error(Code.E_PROJECT_NOT_FOUND, f"There is no project {project[:60]!r}.")
        return found.name

    def _person(self, name: str, caller: Caller) -> str:
        bare = name.strip().strip(_MENTION)
        return {"me": caller.person, "owner": self._state.owner_id}.get(bare.lower(), bare)

    def row(self, schedule: Schedule, *, shown_ticks: int = SHOWN_TICKS) -> ScheduleRow:
        terms, timing = schedule.terms, schedule.terms.timing
        is_waiting = schedule.status in {"proposed", "active"}
        ticks = upcoming(timing, self._ledger.now(), shown_ticks) if is_waiting else []
        return ScheduleRow(
            number=schedule.number,
            status=schedule.status,
            cron=timing.cron,
            at=timing.at,
            zone=timing.zone,
            next=tuple(ticks),
            next_local=tuple(show_local(tick, timing.zone) for tick in ticks),
            text=terms.text,
            person=terms.person,
            session=terms.session,
            missed=terms.missed,
            overlap="queue" if terms.overlap else "skip",
            ring=terms.ring,
            tell=terms.tell,
            check=terms.check,
            project=terms.project,
            runs=schedule.runs,
            skipped=schedule.skipped,
            last_tick=schedule.last_tick,
            last_outcome=schedule.last_outcome,
            last_detail=schedule.last_detail,
            last_job_id=schedule.last_job_id,
        )


def _build_unknown(number: int) -> Exception:
    return error(Code.E_SCHEDULE_NOT_FOUND, f"There is no schedule {number}.")


def _check_text(text: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise error(Code.E_MESSAGE_TOO_LARGE, f"The text of a schedule may have at most {LONGEST_TEXT:,} characters.")
    return clean_text(text)


def _argument_vector(command: str) -> tuple[str, ...]:
    """Words as a shell would split them; no shell ever sees them."""
    try:
        return tuple(shlex.split(command))
    except ValueError:
        raise error(Code.E_INVALID_ARGS, "The quotation marks of the check do not match.") from None
