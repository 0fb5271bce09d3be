"""The way to look, as `ports.View` describes it: everything is read from the state and given as a read model."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from fairlead.core import console_models, timestamps
from fairlead.core.agent_views import AgentsView, AgentView
from fairlead.core.command_spec import Choice, ChoiceSource
from fairlead.core.console_views import Board, MessagePage, OutcomeName, SessionLine, SessionPage, TextPage, TurnUndo
from fairlead.core.conversation import ConversationRef, SessionBindingRecord
from fairlead.core.engine import LimitWindow
from fairlead.core.ids import BindingId, EntryId, JobId, MessageId, QuestionId, SessionKeyText
from fairlead.core.job_names import job_number, short_name
from fairlead.core.job_states import RETRYABLE
from fairlead.core.keys import SessionKey
from fairlead.core.live import LiveEvent
from fairlead.core.message_outcomes import MessageOutcome
from fairlead.core.read_models import (
    counts,
    find_added_agent,
    job_view,
    last_message_seen,
    project_view,
    question_view,
    queued_jobs,
    refused_lately,
    sent_view,
    session_view,
)
from fairlead.core.replies import MachineRow, StoredSessionRow
from fairlead.core.requests import Caller
from fairlead.core.schedules import Schedule
from fairlead.core.spawn_tree import is_seen_from
from fairlead.core.spending import Spending, list_spending
from fairlead.core.state import Job, OpenQuestion, OutboxEntry, Session, answer_entry_id
from fairlead.core.views import (
    ConversationView,
    Counts,
    JobView,
    LatencyView,
    ProjectView,
    QuestionView,
    RefusedMessage,
    SentView,
    SessionView,
)
from fairlead.core.visibility import may_see, visible_rules
from fairlead.errors import Code, error
from fairlead.flow.awaited_machines import find_awaited_machine, find_away_since
from fairlead.flow.ledger import Ledger
from fairlead.flow.queries.agent_checks import AgentChecks
from fairlead.flow.queries.job_history import JobHistory
from fairlead.flow.queries.latencies import Latencies
from fairlead.flow.queries.live_events import LiveEvents, Watch
from fairlead.flow.queries.machines import machine_rows
from fairlead.flow.queries.reports import session_of_caller
from fairlead.flow.queries.stored_sessions import StoredSessions
from fairlead.flow.queries.text_search import TextSearch
from fairlead.machine_ports import NO_MACHINES, OtherMachines
from fairlead.ports import AgentInfo, Directories, Runtime
from fairlead.render.file_notices import describe_undo, describe_worktree
from fairlead.render.rules import rule_words
from fairlead.render.safe_text import one_line
from fairlead.render.schedules import notice_text
from fairlead.render.words import pick_language

CHOICE_LENGTH: Final = 50
_ABILITIES: Final = ("permissions", "questions", "steering", "forks", "models", "modes", "images", "commands")
_SENT: Final = frozenset({"sent", "notice"})
"""What comes to people by itself, without a question and without an answer."""


class FlowView:
    def __init__(
        self,
        *,
        ledger: Ledger,
        live_events: LiveEvents,
        latencies: Latencies,
        job_history: JobHistory,
        runtimes: Mapping[str, Runtime],
        stored_sessions: StoredSessions,
        text_search: TextSearch,
        limit_windows: Callable[[], dict[str, tuple[LimitWindow, ...]]],
        agent_checks: AgentChecks,
        default_language: str,
        directories: Directories,
        machines: OtherMachines = NO_MACHINES,
    ) -> None:
        self._machines = machines
        self._directories = directories
        self._ledger = ledger
        self._state = ledger.state
        self._live_events = live_events
        self._latencies = latencies
        self._job_history = job_history
        self._runtimes = runtimes
        self._stored_sessions = stored_sessions
        self._text_search = text_search
        self._limit_windows = limit_windows
        self._agent_checks = agent_checks
        self._default_language = default_language

    @property
    def state_id(self) -> str:
        return self._state.state_id

    @property
    def founding_time(self) -> str:
        return self._state.founded_at

    @property
    def seq(self) -> int:
        return self._state.seq

    # --- what can be chosen

    @property
    def has_hooks(self) -> bool:
        return bool(self._state.hooks)

    def choices(self, source: ChoiceSource, typed: str, caller: Caller) -> list[Choice]:
        wanted = typed.strip().lower()
        return [c for c in self._all_choices(source, caller) if wanted in f"{c.value} {c.label}".lower()]

    def _all_choices(self, source: ChoiceSource, caller: Caller) -> list[Choice]:
        state = self._state
        here = state.session_for(caller.conversation, caller.session_key, self._ledger.now())
        projects = [p for p in state.listed_projects() if not p.disabled]
        match source:
            case "project":
                return _choices(p.name for p in projects)
            case "project_number":
                return [Choice(str(p.number), f"{p.number}: {p.name}") for p in projects]
            case "tool":
                project = state.projects.get(here.project) if here is not None else None
                available = self._ledger.limits.runtimes
                return _choices(available if project is None else _those_in(available, project.enabled_runtimes))
            case "any_tool":
                return _choices(self._ledger.limits.runtimes)
            case "session":
                recent = sorted(state.sessions.values(), key=lambda s: s.last_activity_at, reverse=True)
                return _choices(s.session_id for s in recent if may_see(state, s.session_key, caller))
            case "retryable":
                failed = [
                    j for j in state.jobs.values() if j.state in RETRYABLE and may_see(state, j.session_key, caller)
                ]
                failed.sort(key=lambda j: (here is not None and j.session_key == here.session_key, j.finished_at or ""))
                return [_job_choice(j) for j in reversed(failed)]
            case "rule":
                rules = visible_rules(state, caller)
                return [Choice(str(r.number), f"{r.number}: {rule_words(r.offer)} · {r.project}"[:100]) for r in rules]
            case "hook":
                return [Choice(h.name, f"{h.name}: {h.project or h.session_key}"[:100]) for h in state.hooks.values()]
            case "schedule":
                schedules = (s for s in state.schedules.values() if may_see(state, s.terms.session_key, caller))
                return [_schedule_choice(s) for s in schedules]
            case "machine":
                return [Choice(name) for name in state.machines]
            case "worktree":
                trees = (w for w in state.worktrees.values() if may_see(state, w.session_key, caller))
                return [Choice(str(w.number), f"{w.number}: {w.branch} · {w.project}"[:100]) for w in trees]
            case "discarded_worktree":
                kept = (d for d in state.discarded_worktrees.values() if may_see(state, d.session_key, caller))
                return [Choice(str(d.number), f"{d.number}: {d.branch} · {d.project}"[:100]) for d in kept]
            case "job" | "live":
                return [_job_choice(j) for j in self._jobs_here(caller) if source == "job" or j.is_live]
            case "stored_session":
                is_owner = caller.pre_authorised or caller.person == state.owner_id
                return [_stored_choice(row) for row in self._stored_sessions.choices(caller)] if is_owner else []
            case "model":
                return _choices(self._agent(caller).models)
            case "mode":
                return _choices(self._agent(caller).modes)
            case "agent_command":
                offered = self._agent(caller).commands
                return [Choice(c.name, f"/{c.name}: {c.description or c.hint}"[:100].rstrip(": ")) for c in offered]

    def _jobs_here(self, caller: Caller) -> list[Job]:
        """The jobs of the caller's session, newest first."""
        here = self._state.session_for(caller.conversation, caller.session_key, self._ledger.now())
        jobs = [j for j in self._state.jobs.values() if here is not None and j.session_key == here.session_key]
        return sorted(jobs, key=lambda j: job_number(j.job_id), reverse=True)

    def _agent(self, caller: Caller) -> AgentInfo:
        session = session_of_caller(self._state, caller, self._ledger.now())
        runtime = self._runtimes.get(session.runtime) if session is not None else None
        return runtime.describe(session.session_key) if runtime is not None and session is not None else AgentInfo()

    async def files_below(self, directory: str, typed: str) -> list[str]:
        if all(project.path != directory for project in self._state.listed_projects()):
            raise error(Code.E_PROJECT_NOT_FOUND, f"There is no project {directory[:60]!r}.")
        return await self._directories.files_below(directory, typed)

    # --- jobs

    async def job(self, job_id: str) -> JobView:
        past = await self._job_history.job(job_id)
        return self._with_presence(job_view(self._state, past.job, prompt=past.prompt, answer=past.answer))

    def recent_job(self, job_id: str) -> JobView | None:
        job = self._state.jobs.get(JobId(job_id))
        return None if job is None else self._with_presence(job_view(self._state, job))

    def _with_presence(self, job: JobView) -> JobView:
        """Of a job that lives, since when its machine is away. Asked again each time: no state has it."""
        since = find_away_since(job.machine, self._machines) if job.machine and job.is_live else ""
        return msgspec.structs.replace(job, machine_away_since=since) if since else job

    def history(self, session_key: str) -> list[JobView]:
        jobs = [j for j in self._state.jobs.values() if j.session_key == session_key]
        return self._views(sorted(jobs, key=lambda j: j.enqueued_at))

    def queued_jobs(self, conversation: ConversationRef) -> list[JobView]:
        address = conversation.address
        return self._views(j for j in queued_jobs(self._state) if j.conversation.address == address)

    def takes_texts(self, session_key: str) -> bool:
        session = self._state.sessions.get(SessionKeyText(session_key))
        running = None if session is None else self._state.jobs.get(session.running_job_id or JobId(""))
        runtime = None if running is None else self._runtimes.get(running.runtime or "")
        return runtime is not None and runtime.capabilities.steering

    def has_room(self, conversation: ConversationRef, session_key: SessionKey) -> bool:
        session = self._state.session_for(conversation, session_key, self._ledger.now())
        return session is None or len(session.queue) < self._ledger.limits.max_queue_per_session

    def unsettled_jobs(self, channel: str) -> list[JobView]:
        outbox = self._state.outbox
        return self._views(j for j in self._jobs_of(channel) if j.is_live or answer_entry_id(j.job_id) in outbox)

    def jobs_ended_last(self, channel: str, *, within_sec: float, at_least: int = 0) -> list[JobView]:
        ended = sorted((j for j in self._state.jobs.values() if j.finished_at), key=lambda j: j.ended_number)
        if not ended:
            return []
        # A start calls jobs interrupted, perhaps days later: that does not make the other ends long ago.
        ends = (j for j in reversed(ended) if j.state != "unknown_after_crash")
        latest = next(ends, ended[-1]).finished_at or ""
        here = [job for job in ended if job.conversation.channel == channel]
        certain = len(here) - at_least
        return self._views(
            job
            for number, job in enumerate(here)
            if number >= certain or timestamps.seconds_between(job.finished_at or "", latest) <= within_sec
        )

    def refused_lately(self, channel: str, *, most: int) -> list[RefusedMessage]:
        return refused_lately(self._state, channel, most)

    def _jobs_of(self, channel: str) -> Iterator[Job]:
        return (job for job in self._state.jobs.values() if job.conversation.channel == channel)

    def _views(self, jobs: Iterable[Job]) -> list[JobView]:
        return [self._with_presence(job_view(self._state, job)) for job in jobs]

    def answer_owed_to(self, job_id: str) -> ConversationRef | None:
        entry = self._state.outbox.get(answer_entry_id(JobId(job_id)))
        return None if entry is None else entry.requester

    def unfetched_jobs(self, conversation: ConversationRef) -> list[str]:
        return [
            entry.job_id
            for entry in self._state.outbox.values()
            if entry.kind == "answer" and entry.awaits_fetching and entry.requester.address == conversation.address
        ]

    def unfetched_messages(self, conversation: ConversationRef) -> list[SentView]:
        here = (e for e in self._state.outbox.values() if e.requester.address == conversation.address)
        return [self._describe_sent(entry) for entry in here if entry.kind in _SENT and entry.awaits_fetching]

    def unfetched_message(self, sent_id: str) -> SentView | None:
        entry = self._state.outbox.get(EntryId(sent_id))
        is_there = entry is not None and entry.kind in _SENT and entry.awaits_fetching
        return self._describe_sent(entry) if entry is not None and is_there else None

    def _describe_sent(self, entry: OutboxEntry) -> SentView:
        """What a schedule could not do is told in the words of its maker's language."""
        sent, notice = sent_view(entry), entry.notice
        if entry.worktree is not None:
            worktree = entry.worktree
            return msgspec.structs.replace(sent, text=describe_worktree(worktree, self.language_of(worktree.person)))
        if entry.undo is not None:
            return msgspec.structs.replace(sent, text=describe_undo(entry.undo, self.language_of(entry.undo.person)))
        if notice is None:
            return sent
        return msgspec.structs.replace(sent, text=notice_text(notice, self.language_of(notice.person)))

    # --- questions

    def question(self, question_id: str) -> QuestionView | None:
        question = self._state.questions.get(QuestionId(question_id))
        return None if question is None else question_view(self._state, question)

    def open_questions(self, *, session_key: str | None = None, job_id: str | None = None) -> list[QuestionView]:
        return [
            question_view(self._state, question)
            for question in self._state.open_questions()
            if job_id in {None, question.job_id} and self._is_asked_in(question, session_key)
        ]

    def _is_asked_in(self, question: OpenQuestion, session_key: str | None) -> bool:
        return session_key is None or is_seen_from(self._state, question.session_key, SessionKeyText(session_key))

    # --- sessions, conversations, projects, people

    def _session_view(self, session: Session) -> SessionView:
        awaited = find_awaited_machine(self._state, session, self._machines)
        return session_view(session, awaited, find_away_since(awaited, self._machines))

    def session(self, session_key: str) -> SessionView | None:
        session = self._state.sessions.get(SessionKeyText(session_key))
        return None if session is None else self._session_view(session)

    def conversation(self, conversation: ConversationRef) -> ConversationView | None:
        binding = self._state.bindings.get(self._state.bound.get(conversation.address, BindingId("")))
        return None if binding is None else _conversation_view(binding)

    def bound_conversations(self, channel: str) -> list[ConversationView]:
        bindings = self._state.bindings.values()
        return [_conversation_view(b) for b in bindings if b.conversation.channel == channel and b.status == "active"]

    def message_outcome(self, conversation: ConversationRef, message_id: str) -> MessageOutcome | None:
        return self._state.outcome_of(conversation, MessageId(message_id))

    def last_message_seen(self, conversation: ConversationRef) -> int | None:
        return last_message_seen(self._state, conversation)

    def projects(self) -> list[ProjectView]:
        return [project_view(p) for p in self._state.listed_projects()]

    def language_of(self, person: str) -> str:
        return pick_language(self.locale_of(person), self._default_language)

    def locale_of(self, person: str) -> str:
        known = self._state.people.get(person)
        return "" if known is None else known.locale

    # --- all of it

    def watch(self, *, session_key: str | None = None, job_id: str | None = None) -> Watch:
        return self._live_events.watch(session_key=session_key, job_id=job_id)

    def told_so_far(self) -> list[LiveEvent]:
        return self._live_events.told_so_far()

    def counts(self) -> Counts:
        return counts(self._state)

    def spending(self) -> Spending:
        return list_spending(self._state, self._ledger.limits.days.day_of(self._ledger.now()))

    def agents(self) -> AgentsView:
        checked = {row.name: row for row in self._agent_checks.last.agents}
        state = self._state
        jobs = [state.jobs[job_id].runtime for job_id in (*state.running, *state.waiting)]
        views = [
            AgentView(
                name=name,
                source="" if (added := find_added_agent(state, name)) is None else added.source,
                version="" if added is None else added.version,
                projects=tuple(p.name for p in state.listed_projects() if name in p.enabled_runtimes),
                can=tuple(can for can in _ABILITIES if getattr(runtime.capabilities, can)),
                running=jobs.count(name),
                check=checked.get(name),
            )
            for name, runtime in self._runtimes.items()
        ]
        return AgentsView(tuple(views), self._agent_checks.last.checked_at)

    def limit_windows(self) -> dict[str, tuple[LimitWindow, ...]]:
        return self._limit_windows()

    def machines(self) -> tuple[MachineRow, ...]:
        return machine_rows(self._state, self._machines)

    def latencies(self) -> list[LatencyView]:
        return self._latencies.views()

    # --- for the console

    def sees(self, caller: Caller, session_key: str) -> bool:
        return may_see(self._state, SessionKeyText(session_key), caller)

    def board(self, caller: Caller) -> Board:
        board = console_models.board(self._state, caller, self._ledger.now())
        if not self._state.machines:
            return board
        running, queued = (
            tuple(msgspec.structs.replace(row, job=self._with_presence(row.job)) for row in rows)
            for rows in (board.running, board.queued)
        )
        return msgspec.structs.replace(board, running=running, queued=queued)

    def find_sessions(self, caller: Caller, words: str = "", *, after: str = "", limit: int = 50) -> SessionPage:
        return console_models.session_page(self._state, caller, words, after, limit)

    def session_named(self, name: str) -> SessionView | None:
        session = self._state.session_named(name)
        return None if session is None else self._session_view(session)

    def session_line(self, session_key: str) -> SessionLine:
        return console_models.session_line(self._state, self._state.sessions[SessionKeyText(session_key)])

    def session_children(self, session_key: str) -> list[SessionLine]:
        return console_models.session_children(self._state, session_key)

    def session_jobs(self, session_key: str) -> list[JobView]:
        return self._views(console_models.session_jobs(self._state, session_key))

    async def find_texts(self, caller: Caller, words: str, *, before: int | None = None) -> TextPage:
        return await self._text_search.find(caller, words, before)

    def turn_undo(self, job_id: str) -> TurnUndo:
        return console_models.turn_undo(self._state, job_id)

    def messages_with(self, caller: Caller, outcome: OutcomeName) -> MessagePage:
        return console_models.message_page(self._state, caller, outcome)


def _choices(values: Iterable[str]) -> list[Choice]:
    return [Choice(value) for value in values]


def _job_choice(job: Job) -> Choice:
    said = one_line(job.prompt or job.result_excerpt or "", CHOICE_LENGTH)
    words = " · ".join(filter(None, (short_name(job.job_id), job.state.replace("_", " "), job.error_code, said)))
    return Choice(job.job_id, words)


def _stored_choice(row: StoredSessionRow) -> Choice:
    words = (row.tool, row.changed_at[:16].replace("T", " "), str(row.exchanges), row.first_words)
    return Choice(row.key, one_line(" · ".join(words), CHOICE_LENGTH))


def _schedule_choice(schedule: Schedule) -> Choice:
    timing = schedule.terms.timing
    words = (f"{schedule.number}: {timing.cron or timing.at[:16]}", schedule.status, schedule.terms.text)
    return Choice(str(schedule.number), one_line(" · ".join(words), CHOICE_LENGTH))


def _those_in(available: Iterable[str], enabled: Iterable[str]) -> list[str]:
    """The agents of a project that are there; where none is, all of its agents, so that the list is not empty."""
    listed = list(enabled)
    there = frozenset(available)
    return [name for name in listed if name in there] or listed


def _conversation_view(binding: SessionBindingRecord) -> ConversationView:
    return ConversationView(conversation=binding.conversation, session_key=binding.target_session_key)
