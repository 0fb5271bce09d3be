"""Live events for watchers: facts when they become durable, and the words of agents while they are written.

A slow watcher holds up nobody: deltas that wait for it are joined, so that its backlog stays short and no word is lost.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, MutableSequence, Sequence
from typing import Final, cast

from fairlead.core import events as e
from fairlead.core.engine import EngineEvent, TextDelta, ThinkingDelta
from fairlead.core.ids import EntryId, JobId, QuestionId, SessionKeyText
from fairlead.core.job_places import machine_of_job
from fairlead.core.job_states import LIVE, JobState
from fairlead.core.live import (
    AgentActed,
    AgentSent,
    AnswerSettled,
    JobMoved,
    LiveEvent,
    QuestionOpened,
    QuestionSettled,
    Record,
    RecordChanged,
    RuleApplied,
    SteeringTold,
)
from fairlead.core.read_models import question_view, sent_view
from fairlead.core.spawn_tree import is_seen_from
from fairlead.core.state import Job, OpenQuestion, State, answered_job
from fairlead.flow.awaited_machines import find_away_since, why_held
from fairlead.machine_ports import NO_MACHINES, OtherMachines

_RECORDS: Final[dict[type[e.JournalEvent], Record]] = {
    **dict.fromkeys((e.ProjectCreated, e.ProjectUpdated, e.ProjectRenamed, e.ProjectRemoved), "project"),
    **dict.fromkeys((e.ProjectSwitched, e.ProjectWorktreesSet), "project"),
    **dict.fromkeys((e.SessionTitled, e.ToolChanged, e.ModelChosen, e.SessionReset, e.SessionDiscarded), "session"),
    **dict.fromkeys((e.SessionAdopted, e.SessionHandedOff, e.SessionTakenBack), "session"),
    **dict.fromkeys((e.ScheduleMade, e.ScheduleConfirmed, e.SchedulePaused, e.ScheduleResumed), "schedule"),
    **dict.fromkeys((e.ScheduleRemoved, e.ScheduleTicked, e.ScheduleDueMoved), "schedule"),
    **dict.fromkeys((e.BudgetSet, e.BudgetDecided), "budget"),
    **dict.fromkeys((e.MessageRefused, e.MessageSkipped), "message"),
    **dict.fromkeys((e.MachineAdded, e.MachineRenamed, e.MachineRemoved, e.RunnerMet), "machine"),
}
"""Facts that change what pages list, and move no job."""

_MOVES: Final[dict[type[e.JournalEvent], JobState]] = {
    e.JobEnqueued: "queued",
    e.JobRequeued: "queued",
    e.JobStarted: "running",
    e.JobContinued: "running",
    e.JobCompleted: "success",
    e.JobFailed: "failed",
    e.JobCancelled: "cancelled",
    e.JobWithdrawn: "withdrawn",
    e.JobMarkedUnknownAfterCrash: "unknown_after_crash",
    e.SteeringBegun: "steering",
    e.JobSteered: "steered",
}
"""Facts about one job, and the state that the job is in behind them."""

_SHOWS_NOTHING: Final[frozenset[type[e.JournalEvent]]] = frozenset(
    {e.JobHandedOver, e.TreeSnapshotTaken, e.DeliveryPlanned, e.JobProgress}
)


class Watch:
    """One watcher's backlog. Subscribed from the moment it is made; `aclose` ends it."""

    def __init__(self, live_events: "LiveEvents", session_key: str | None, job_id: str | None) -> None:
        self._live_events = live_events
        self._session_key = session_key
        self._job_id = job_id
        self._backlog: deque[LiveEvent] = deque()
        self._sleeper: asyncio.Future[None] | None = None

    def wants(self, event: LiveEvent) -> bool:
        session_fits = self._session_key is None or self._live_events.is_shown_in(event, self._session_key)
        return session_fits and (self._job_id is None or event.job_id == self._job_id)

    def give(self, event: LiveEvent) -> None:
        _add_joined(self._backlog, event)
        if self._sleeper is not None and not self._sleeper.done():
            self._sleeper.set_result(None)

    def __aiter__(self) -> AsyncIterator[LiveEvent]:
        return self

    async def __anext__(self) -> LiveEvent:
        while not self._backlog:
            self._sleeper = asyncio.get_running_loop().create_future()
            await self._sleeper
        return self._backlog.popleft()

    def take_waiting(self) -> list[LiveEvent]:
        """Everything that waits for this watcher, without waiting for more."""
        waiting = list(self._backlog)
        self._backlog.clear()
        return waiting

    async def aclose(self) -> None:
        self._live_events.leave(self)


def _add_joined(waiting: MutableSequence[LiveEvent], event: LiveEvent) -> None:
    joined = _join_deltas(waiting[-1], event) if waiting else None
    if joined is not None:
        waiting[-1] = joined
    else:
        waiting.append(event)


def _join_deltas(last: LiveEvent, event: LiveEvent) -> LiveEvent | None:
    if not isinstance(last, AgentActed) or not isinstance(event, AgentActed) or last.job_id != event.job_id:
        return None
    match last.event, event.event:
        case TextDelta(text=before), TextDelta(text=after):
            return AgentActed(last.job_id, last.session_key, TextDelta(before + after))
        case ThinkingDelta(text=before), ThinkingDelta(text=after):
            return AgentActed(last.job_id, last.session_key, ThinkingDelta(before + after))
        case _:
            return None


class LiveEvents:
    """The one place from which watchers are told, so that each of them hears of a job in the order of what happened.

    1. What a fact shows is read off the state in the step that applies it, and told when it is durable.
    2. What an agent does is told at once, unless a fact about its job is not told yet: then right behind that fact.
       So an agent waits for nobody, and its words wait for the sync of a fact of their own job at most.
    """

    def __init__(self, state: State, machines: OtherMachines = NO_MACHINES) -> None:
        self._machines = machines
        self._state = state
        self._watches: set[Watch] = set()
        self._untold: deque[list[LiveEvent]] = deque()
        """For each batch of facts that is not durable yet: what it shows, and what agents did since."""
        self._last_untold: dict[str, list[LiveEvent]] = {}
        """For each job with facts among them, the last of those batches."""
        self._moves: dict[str, JobMoved] = {job.job_id: self._move(job, job.state) for job in _live_jobs(state)}
        self._questions = {q.question_id: self._make_opened(q) for q in state.open_questions()}

    def watch(self, *, session_key: str | None = None, job_id: str | None = None) -> Watch:
        watch = Watch(self, session_key, job_id)
        self._watches.add(watch)
        return watch

    def leave(self, watch: Watch) -> None:
        self._watches.discard(watch)

    def told_so_far(self) -> list[LiveEvent]:
        """Of every job that lives as far as watchers were told: its last move, then its open questions."""
        return [*self._moves.values(), *self._questions.values()]

    def agent_acted(self, job_id: str, session_key: str, event: EngineEvent) -> None:
        behind = self._last_untold.get(job_id)
        if behind is not None:
            _add_joined(behind, AgentActed(job_id, session_key, event))
        elif self._watches:
            self._publish(AgentActed(job_id, session_key, event))

    def tell_presence(self, machine: str) -> None:
        """A machine came or went. Watchers of the jobs that run or wait there are told where these are, once more."""
        self._publish(RecordChanged(what="machine"))
        for told in [move for move in self._moves.values() if move.machine == machine]:
            job, untold = self._state.jobs.get(JobId(told.job_id)), self._last_untold.get(told.job_id)
            moves = [m for m in untold or () if isinstance(m, JobMoved) and m.job_id == told.job_id]
            last = moves[-1] if moves else told
            now = None if job is None or last.state not in LIVE else self._move(job, last.state)
            if now is None or now == last:
                continue
            if untold is not None:
                untold.append(now)  # behind the fact that is not durable yet
            else:
                self._remember(now)
                self._publish(now)

    def note(self, events: Sequence[e.JournalEvent]) -> None:
        shown = [live for event in events for live in self._describe(event)]
        self._untold.append(shown)
        for live in shown:
            self._last_untold[live.job_id] = shown

    def announce(self, _events: Sequence[e.JournalEvent]) -> None:
        shown = self._untold.popleft()
        for live in shown:
            if self._last_untold.get(live.job_id) is shown:
                del self._last_untold[live.job_id]
            self._remember(live)
            self._publish(live)

    def _describe(self, event: e.JournalEvent) -> Iterable[LiveEvent]:
        """Every fact passes here, so the most frequent ones are found in tables."""
        kind = type(event)
        if kind in _SHOWS_NOTHING:
            return ()
        state = _MOVES.get(kind)
        if state is not None:
            return self._show_move(cast("e.JobEnqueued", event).job_id, state)
        return self._describe_other(event)

    def _describe_other(self, event: e.JournalEvent) -> Iterator[LiveEvent]:
        match event:
            case e.SteeringDeclined():
                yield SteeringTold(event.job_id, event.session_key, event.reason, event.detail)
                yield from self._show_move(event.job_id, "queued")
            case e.QuestionAsked():
                if not (event.by_message or event.budget_day):
                    yield from self._show_move(event.job_id, "waiting")
                yield from self._show_question(event.question_id, self._make_opened)
            case e.QuestionAnswered() | e.QuestionClosed():
                yield from self._show_question(event.question_id, self._make_settled)
            case e.StandingRuleUsed():
                yield from self._show_rule(event)
            case e.DeliveryOwed(kind="sent"):
                sent = sent_view(self._state.outbox[event.entry_id])
                yield AgentSent(event.job_id, event.session_key, sent)
            case e.DeliveryDeferred():
                entry = self._state.outbox.get(event.entry_id)
                key = entry.session_key if entry is not None else ""
                yield RecordChanged(what="delivery", session_key=key)
            case e.JobUndone() | e.JobRedone():
                job = self._state.jobs.get(event.job_id)
                if job is not None:
                    yield RecordChanged(what="turn", job_id=job.job_id, session_key=job.session_key)
            case e.PieceDelivered() | e.DeliveryAcknowledged():
                yield from self._show_answer(event.entry_id, is_delivered=True)
            case e.DeliveryAbandoned():
                yield from self._show_answer(event.entry_id, is_delivered=False)
            case _:
                what = _RECORDS.get(type(event))
                if what is not None:
                    yield RecordChanged(what=what, session_key=getattr(event, "session_key", ""))

    def is_shown_in(self, event: LiveEvent, session_key: str) -> bool:
        """Sessions that no conversation leads to are asked about, and answered for, where they were asked for. What an
        agent asked for is answered to the agent."""
        if event.session_key == session_key:
            return True
        spawned = self._state.spawns.get(SessionKeyText(event.session_key))
        is_question = isinstance(event, QuestionOpened | QuestionSettled)
        if spawned is not None and spawned.returns == "session" and not is_question:
            return False
        return is_seen_from(self._state, SessionKeyText(event.session_key), SessionKeyText(session_key))

    def _show_move(self, job_id: JobId, state: JobState) -> tuple[LiveEvent, ...]:
        job = self._state.jobs.get(job_id)
        return () if job is None else (self._move(job, state),)

    def _move(self, job: Job, state: JobState) -> JobMoved:
        session = self._state.sessions[job.session_key]
        queue = session.queue
        machine = machine_of_job(self._state, job)
        return JobMoved(
            job_id=job.job_id,
            session_key=job.session_key,
            state=state,
            position=queue.index(job.job_id) if job.job_id in queue else 0,
            held=why_held(self._state, session, self._machines) if state == "queued" else "",
            runtime=job.runtime or "",
            machine=machine,
            machine_away_since=find_away_since(machine, self._machines) if state in LIVE else "",
            error_code=job.error_code or "" if state in {"failed", "unknown_after_crash"} else "",
            error_message=job.error_message or "" if state == "failed" else "",
            steered_into=job.steered_into if state in {"steering", "steered"} else "",
        )

    def _show_question(
        self, question_id: QuestionId, make: Callable[[OpenQuestion], QuestionOpened | QuestionSettled]
    ) -> Iterator[LiveEvent]:
        question = self._state.questions.get(question_id)
        if question is not None:
            yield make(question)

    def _show_rule(self, used: e.StandingRuleUsed) -> Iterator[LiveEvent]:
        job = self._state.jobs.get(used.job_id)
        if job is not None:
            yield RuleApplied(job.job_id, job.session_key, used.number, used.offer)

    def _make_opened(self, question: OpenQuestion) -> QuestionOpened:
        return QuestionOpened(question.job_id, question.session_key, question_view(self._state, question))

    def _make_settled(self, question: OpenQuestion) -> QuestionSettled:
        return QuestionSettled(question.job_id, question.session_key, question_view(self._state, question))

    def _show_answer(self, entry_id: EntryId, *, is_delivered: bool) -> Iterator[LiveEvent]:
        """An entry that is still in the outbox has more pieces to come."""
        job = self._state.jobs.get(answered_job(entry_id))
        if job is not None and entry_id not in self._state.outbox:
            yield AnswerSettled(job.job_id, job.session_key, is_delivered)

    def _remember(self, live: LiveEvent) -> None:
        match live:
            case JobMoved() if live.state in LIVE:
                self._moves[live.job_id] = live
            case JobMoved():
                self._moves.pop(live.job_id, None)
            case QuestionOpened():
                self._questions[live.question.question_id] = live
            case QuestionSettled():
                self._questions.pop(live.question.question_id, None)
            case AgentActed() | AgentSent() | AnswerSettled() | RuleApplied() | SteeringTold() | RecordChanged():
                pass

    def _publish(self, event: LiveEvent) -> None:
        for watch in self._watches:
            if watch.wants(event):
                watch.give(event)


def _live_jobs(state: State) -> Iterator[Job]:
    return (job for job in state.jobs.values() if job.is_live)
