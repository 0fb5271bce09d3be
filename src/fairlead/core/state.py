"""The live state as plain data. Only `fold` changes it; the snapshot holds it as it is.

Nothing here can refer back to itself, so the structs are `gc=False`: the collector has nothing to find in them. The
types that are few and that every event writes to are slotted dataclasses: a write costs a quarter of a struct's.
"""

from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from fairlead.core.agent_sessions import HandOff
from fairlead.core.agents import ECHO, ConfiguredAgent
from fairlead.core.budgets import Budget, BudgetDay, DaySpending
from fairlead.core.conversation import ConversationRef, SessionBindingRecord
from fairlead.core.engine import ForkOrigin, Suggestion
from fairlead.core.events import DeliveryPlanned, FileRef, OutboxKind, ThreadOpening
from fairlead.core.hooks import HookFields
from fairlead.core.ids import (
    NO_SESSION,
    BindingId,
    BlobName,
    ConversationAddress,
    EntryId,
    JobId,
    MessageId,
    QuestionId,
    ResumeKey,
    SessionKeyText,
)
from fairlead.core.inbound import Attachment, Cause, Ring
from fairlead.core.job_states import LIVE, RETRYABLE, JobState
from fairlead.core.keys import SessionKey, parse_session_key
from fairlead.core.machines.machine import Machine
from fairlead.core.message_outcomes import Enqueued, MessageOutcome, decode_outcome
from fairlead.core.questions import QuestionFields
from fairlead.core.rules import StandingRule
from fairlead.core.schedules import Schedule, ScheduleNotice
from fairlead.core.spawns import SpawnedSession
from fairlead.core.trees import ChangeSummary, TreeSnapshot, UndoneParts, UndoNotice
from fairlead.core.turn_reports import NO_REPORT, TurnReport
from fairlead.core.worktrees import DiscardedWorktree, Worktree, WorktreeNotice

SessionState = Literal["idle", "running", "queued", "waiting", "failed", "unknown_after_crash", "handed_off"]

FOLD_VERSION: Final = 9
"""Raised whenever the same events would fold into another state: snapshots of another version are set aside."""


class Project(msgspec.Struct, omit_defaults=True, gc=False, kw_only=True):
    number: int
    name: str
    path: str
    enabled_runtimes: tuple[str, ...] = msgspec.field(name="enabled_tools")
    default_runtime: str = msgspec.field(name="default_tool")
    default_args: dict[str, tuple[str, ...]] = {}
    source: str = "command"
    disabled: str = ""
    created_at: str = ""
    updated_at: str = ""
    seen_tier: str = ""
    removed: bool = False
    workspace: str = ""
    tools_chosen: bool | None = None
    worktrees: bool = False
    """Sessions that people begin here get a worktree where nobody says otherwise."""

    @property
    def has_all_agents(self) -> bool:
        """Nobody chose its agents, so it has all that there are, now and later. An earlier version did not write down
        who made the list: then it was made by default if it names echo, which nobody chooses, and was never changed."""
        if self.tools_chosen is not None:
            return not self.tools_chosen
        is_unchanged = self.updated_at == self.created_at
        return self.enabled_runtimes == (ECHO,) or (ECHO in self.enabled_runtimes and is_unchanged)

    @property
    def workspace_name(self) -> str:
        """The name of its workspace: the first name that the project had. A rename must not leave PERMISSIONS.json
        behind, which would loosen what its agents may do."""
        return self.workspace or self.name


@dataclass(slots=True, kw_only=True)
class Session:
    """One continuing conversation with an agent. `resume_keys` maps «tool real-path» to the agent's key; `unproven` has
    the slots whose key has not led to an answer yet. `last_started` numbers the session's latest start among all
    starts: the session with the lowest number has waited longest."""

    session_key: SessionKeyText
    session_id: str
    project: str
    runtime: str
    conversation: ConversationRef
    generation: int = 0
    queue: list[JobId] = field(default_factory=list)
    running_job_id: JobId | None = None
    agent_job_id: JobId | None = None
    last_job_id: JobId | None = None
    resume_keys: dict[str, ResumeKey] = field(default_factory=dict)
    unproven: list[str] = field(default_factory=list)
    models: dict[str, str] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    ended: list[JobId] = field(default_factory=list)
    parent_session_key: SessionKeyText = NO_SESSION
    last_started: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    created_at: str = ""
    updated_at: str = ""
    last_activity_at: str = ""
    title: str = ""
    titled_by: str = ""
    title_before: str = ""
    untold_undos: list[str] = field(default_factory=list)
    """What was undone or redone, and the agent does not know of it yet."""
    calls: list[str] = field(default_factory=list)
    """The ids of the latest calls of Fairlead's own tools: the same call, sent again, is done once."""
    hand_off: HandOff | None = None
    """While the agent's own session goes on in a shell: no job of this session starts."""
    outside_until: int = 0
    """The number of the last end of a job before the agent's own session went on elsewhere: what was said there stands
    behind these jobs, and would be forgotten with them."""
    forks: dict[str, ForkOrigin] = field(default_factory=dict)
    """By resume slot, what the talk there began as; until an agent has answered in it."""
    points: dict[str, str] = field(default_factory=dict)
    """By resume slot, where the talk is now, in the agent's own words; only where the agent has said it."""
    forked_from: SessionKeyText = NO_SESSION
    """The session that this one was forked from."""
    forked_after: JobId | None = None
    """The last job of that session which the fork knows."""

    def proven_key(self, slot: str) -> ResumeKey | None:
        """The resume key of this slot, if an agent has answered with it before."""
        return None if slot in self.unproven else self.resume_keys.get(slot)

    @property
    def key(self) -> SessionKey:
        parsed = parse_session_key(self.session_key)
        assert parsed is not None, "only built keys reach the journal"
        return parsed


class JobTree(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """The files of a job's directory when its turn began and ended. `missed` is the code of why a snapshot is missing,
    `shared_with` are jobs whose turns ran in the same directory at the same time."""

    start: TreeSnapshot | None = None
    end: TreeSnapshot | None = None
    changed: ChangeSummary | None = None
    missed: str = ""
    is_late: bool = False
    shared_with: tuple[JobId, ...] = ()
    undone_by: str = ""


class UndoRecord(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """Turns that were taken back, or, with `redo_of`, brought back. It is not over until the files are as they should
    be; `redone_by` names the redo that took this one back."""

    undo_id: str
    session_key: SessionKeyText
    job_ids: tuple[JobId, ...]
    project_path: str
    person: str
    what: UndoneParts
    before: str = ""
    after: str = ""
    redo_of: str = ""
    files: ChangeSummary = ChangeSummary()
    is_over: bool = False
    error_code: str = ""
    left: tuple[str, ...] = ()
    redone_by: str = ""
    back_before: JobId = JobId("")
    is_set_back: bool = False
    origin: ForkOrigin | None = None
    last_job_id: JobId | None = None
    """The session's last job when it was over: as long as there is no later one, the agent can be set forward."""
    is_told_open: bool = False
    """The conversation knows that a start could not finish it."""


class Job(msgspec.Struct, omit_defaults=True, gc=False, kw_only=True):
    """One prompt and everything that comes of it. Its texts are dropped when its answer is delivered. `ended_number`
    numbers its end among all ends; `given_up` says that its answer could not be delivered. A running job that
    `awaits_hand_over` has its slot, and its agent has not been given the prompt."""

    job_id: JobId
    session_key: SessionKeyText
    session_id: str
    conversation: ConversationRef
    message_id: MessageId
    person: str
    state: JobState
    prompt: str
    enqueued_at: str
    prompt_blob: BlobName = BlobName("")
    awaits_hand_over: bool = False
    attachments: tuple[Attachment, ...] = ()
    attempt: int = 1
    retry_of: JobId = JobId("")
    cause: Cause = "message"
    body_digest: str = ""
    runtime: str | None = msgspec.field(default=None, name="tool")
    project: str = ""
    project_path: str = ""
    generation: int = 0
    resume_key: ResumeKey = ResumeKey("")
    fork: ForkOrigin | None = None
    point_before: str = ""
    report: TurnReport = NO_REPORT
    point: str = ""
    """Where the talk was when the job ended, and, as `point_key`, which talk."""
    point_key: ResumeKey = ResumeKey("")
    tried_again: bool = False
    started_at: str | None = None
    finished_at: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    result_excerpt: str | None = None
    answer: str = ""
    answer_blob: BlobName = BlobName("")
    files: tuple[FileRef, ...] = ()
    cost_usd: float = 0.0
    quoted: int = 0
    foreign: bool = False
    first: bool = False
    refused_requests: int = 0
    ended_on: int = 0
    ended_number: int = 0
    given_up: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    ring: Ring = "usual"
    tell: tuple[str, ...] = ()
    steers: bool = False
    """It waits, and a person wants its text in the turn that runs."""
    steered_into: JobId = JobId("")
    """The job whose turn its text went to, or is on its way to."""
    steering_reason: str = ""
    """Why its text, which was meant for a turn that ran, is an ordinary message."""

    tree: JobTree | None = None
    told_undos: tuple[str, ...] = ()
    """What its agent is told besides the prompt: what was undone or redone since the last one."""

    @property
    def is_live(self) -> bool:
        return self.state in LIVE

    @property
    def is_retryable(self) -> bool:
        """Whether a person may ask for its prompt once more: it did not end well, or it changed files, so that somebody
        may want the same again after an undo."""
        has_changed = self.tree is not None and self.tree.changed is not None
        return self.cause != "agent" and (self.state in RETRYABLE or (self.state == "success" and has_changed))


class OpenQuestion(QuestionFields, frozen=True, kw_only=True):
    """A question stays after its job is gone, as long as somebody might still press its buttons. Frozen: a response or
    an end replaces the whole struct."""

    request_id: str
    asked_at: str
    conversation: ConversationRef
    suggestions: tuple[Suggestion, ...] = ()
    status: Literal["open", "answered", "closed"] = "open"
    verdict: str = ""
    answered_by: str = ""
    chosen: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    message: str = ""
    for_session: bool = False
    rule_made: int = 0
    closed_reason: str = ""
    asked_on: int = 0
    reminded: bool = False


class OutboxEntry(msgspec.Struct, omit_defaults=True, gc=False, kw_only=True):
    """Words that a person is owed, until every piece is delivered, a client fetched them, or delivery was given up."""

    entry_id: EntryId = msgspec.field(name="debt_id")
    kind: OutboxKind
    session_key: SessionKeyText
    requester: ConversationRef
    owed_at: str
    job_id: JobId = JobId("")
    question_id: QuestionId = QuestionId("")
    fail_closed: bool = False
    plan: DeliveryPlanned | None = None
    paid: dict[str, MessageId] = {}
    attempts: int = 0
    deferred_at: str = ""
    due: str = ""
    last_error: str = ""
    must_wait: bool = False
    opening: ThreadOpening | None = None
    owed_on: int = 0
    link: str = ""
    text: str = ""
    files: tuple[FileRef, ...] = ()
    error_code: str = ""
    asker: SessionKeyText = NO_SESSION
    notice: ScheduleNotice | None = None
    worktree: WorktreeNotice | None = None
    undo: UndoNotice | None = None

    @property
    def next_index(self) -> int:
        """The first piece that is not delivered. Pieces go in order, but a later one may be found delivered first."""
        return next(i for i in range(len(self.paid) + 1) if str(i) not in self.paid)

    @property
    def awaits_fetching(self) -> bool:
        return self.plan is not None and not self.plan.pieces and not self.asker


class Person(msgspec.Struct, omit_defaults=True, gc=False):
    locale: str = ""
    project: str = ""


@dataclass(slots=True, kw_only=True)
class Account:
    """received = answered + failed + cancelled + unknown + withdrawn + steered + refused + skipped + what is still
    live."""

    received: int = 0
    answered: int = 0
    failed: int = 0
    cancelled: int = 0
    unknown: int = 0
    withdrawn: int = 0
    refused: int = 0
    skipped: int = 0
    steered: int = 0

    @property
    def settled_total(self) -> int:
        ended = self.answered + self.failed + self.cancelled + self.unknown
        return ended + self.withdrawn + self.steered + self.refused + self.skipped


StoredOutcomes = dict[ConversationAddress, dict[MessageId, str]]
"""What became of the messages of one day, each as `message_outcomes` writes it."""


@dataclass(slots=True, kw_only=True)
class State:
    seq: int = 0
    highest_ts: str = ""
    state_id: str = ""
    founded_at: str = ""
    owner_id: str = ""
    jobs_made: int = 0
    jobs_started: int = 0
    jobs_ended: int = 0
    questions_made: int = 0
    bindings_made: int = 0
    projects_made: int = 0
    rules_made: int = 0
    schedules_made: int = 0
    agent_calls_made: int = 0
    account: Account = field(default_factory=Account)
    projects: dict[str, Project] = field(default_factory=dict)
    agents: dict[str, ConfiguredAgent] = field(default_factory=dict)
    rules: dict[int, StandingRule] = field(default_factory=dict)
    schedules: dict[int, Schedule] = field(default_factory=dict)
    first_digests: dict[str, str] = field(default_factory=dict)
    people: dict[str, Person] = field(default_factory=dict)
    sessions: dict[SessionKeyText, Session] = field(default_factory=dict)
    jobs: dict[JobId, Job] = field(default_factory=dict)
    running: list[JobId] = field(default_factory=list)
    waiting: list[JobId] = field(default_factory=list)
    steering: list[JobId] = field(default_factory=list)
    """Texts on their way into a turn."""
    to_steer: list[JobId] = field(default_factory=list)
    """Queued jobs that people want in the turn that runs."""
    ready: dict[SessionKeyText, int] = field(default_factory=dict)
    questions: dict[QuestionId, OpenQuestion] = field(default_factory=dict)
    outbox: dict[EntryId, OutboxEntry] = field(default_factory=dict)
    bindings: dict[BindingId, SessionBindingRecord] = field(default_factory=dict)
    bound: dict[ConversationAddress, BindingId] = field(default_factory=dict)
    day_start: str = ""
    next_day: str = ""
    lived_day: int = 0
    """Counts the days that events lived through; `retention` says how, and why dates are not trusted."""
    outcomes_today: StoredOutcomes = field(default_factory=dict)
    outcomes_by_day: dict[str, StoredOutcomes] = field(default_factory=dict)
    dedupe_floors: dict[ConversationAddress, int] = field(default_factory=dict)
    last_posts: dict[ConversationAddress, MessageId] = field(default_factory=dict)
    spawns: dict[SessionKeyText, SpawnedSession] = field(default_factory=dict)
    spawn_requests: dict[str, SessionKeyText] = field(default_factory=dict)
    spawns_in_a_row: dict[SessionKeyText, int] = field(default_factory=dict)
    """By the topmost session of a tree: what agents spawned in it since a person last spoke there."""
    returning: dict[EntryId, int] = field(default_factory=dict)
    """The outbox entries that are owed to a session."""
    undelivered: dict[ConversationAddress, dict[JobId, int]] = field(default_factory=dict)
    """By destination, the jobs whose answers were given up there, and on which lived day: the next delivery says so."""
    hooks: dict[str, HookFields] = field(default_factory=dict)
    budgets: dict[str, Budget] = field(default_factory=dict)
    budget_days: dict[str, BudgetDay] = field(default_factory=dict)
    spending: dict[str, dict[str, DaySpending]] = field(default_factory=dict)
    """By the owner's day, then by project: the latest days alone, in the order in which they were lived through."""
    open_trees: dict[JobId, int] = field(default_factory=dict)
    """Jobs that have a snapshot of their turn's start and none of its end."""
    worktrees_made: int = 0
    worktrees: dict[int, Worktree] = field(default_factory=dict)
    discarded_worktrees: dict[int, DiscardedWorktree] = field(default_factory=dict)
    undos_made: int = 0
    undos: dict[str, UndoRecord] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)
    machines_epoch: int = 0
    machines_step: int = 0
    machines_tokens: list[str] = field(default_factory=list)
    """Under which this daemon claimed the right to give orders to machines: the latest ones."""

    def outcome_of(self, conversation: ConversationRef, message_id: MessageId) -> MessageOutcome | None:
        """What became of a message; None if it was never seen, or longer ago than outcomes are kept."""
        address = conversation.address
        for outcomes in (self.outcomes_today, *self.outcomes_by_day.values()):
            here = outcomes.get(address)
            if here is not None and message_id in here:
                return decode_outcome(here[message_id])
        return None

    def is_taken_elsewhere(self, conversation: ConversationRef, message_id: MessageId) -> bool:
        """Whether a message of this id came from another conversation of the same channel."""
        own, channel = conversation.address, f"{conversation.channel}/{conversation.account_id}/"
        return any(
            message_id in here and address != own and address.startswith(channel)
            for outcomes in (self.outcomes_today, *self.outcomes_by_day.values())
            for address, here in outcomes.items()
        )

    def job_of(self, conversation: ConversationRef, message_id: MessageId) -> Job | None:
        """The job that a message became, while the state has it."""
        outcome = self.outcome_of(conversation, message_id)
        return self.jobs.get(outcome.job_id) if isinstance(outcome, Enqueued) else None

    def session_at(self, conversation: ConversationRef, now: str) -> Session | None:
        """The session that is bound to this conversation now."""
        binding = self.binding_at(conversation, now)
        return None if binding is None else self.sessions.get(binding.target_session_key)

    def binding_at(self, conversation: ConversationRef, now: str) -> SessionBindingRecord | None:
        """The binding of this conversation that holds now."""
        binding = self.bindings.get(self.bound.get(conversation.address, BindingId("")))
        return binding if binding is not None and binding.is_live(now) else None

    def session_for(self, conversation: ConversationRef, session_key: SessionKey, now: str) -> Session | None:
        """The session of a person who speaks here: the bound one, else the one that the conversation would name."""
        return self.session_at(conversation, now) or self.sessions.get(session_key.text)

    def session_named(self, name: str) -> Session | None:
        """A session by its key or by the id shown to people."""
        found = self.sessions.get(SessionKeyText(name))
        return found or next((s for s in self.sessions.values() if s.session_id == name), None)

    def topmost(self, session_key: SessionKeyText) -> SessionKeyText:
        """The session at the head of the tree of spawned sessions that this one belongs to."""
        spawned = self.spawns.get(session_key)
        while spawned is not None and spawned.parent_session_key:
            session_key = spawned.parent_session_key
            spawned = self.spawns.get(session_key)
        return session_key

    def worktree_of(self, session_key: SessionKeyText, project: str) -> Worktree | None:
        """The worktree that this session works in when it works in this project: its own, else that of the session that
        it was spawned from, whose task it shares."""
        while session_key and self.worktrees:
            own = (w for w in self.worktrees.values() if w.session_key == session_key and w.project == project)
            found = next(own, None)
            if found is not None:
                return found
            spawned = self.spawns.get(session_key)
            session_key = NO_SESSION if spawned is None else spawned.parent_session_key
        return None

    def directory_of(self, session_key: SessionKeyText, project: Project) -> str:
        """Where the agent of this session works in this project: its worktree, else the project's own directory. A
        worktree that is not there has its planned path: the turn that wants an agent there says why none can run."""
        worktree = self.worktree_of(session_key, project.name)
        return project.path if worktree is None else worktree.directory or worktree.path

    def project_named(self, name: str) -> Project | None:
        """A project by name or by number; one that was removed is not found."""
        number = name.removeprefix("#")
        found = self.projects.get(name) or next((p for p in self.projects.values() if str(p.number) == number), None)
        return None if found is None or found.removed else found

    def listed_projects(self) -> list[Project]:
        """The projects that people see, in the order of their numbers."""
        return sorted((p for p in self.projects.values() if not p.removed), key=lambda p: p.number)

    def open_questions(self) -> list[OpenQuestion]:
        """Questions that a person can still answer: a permission dies with its job, a new job takes up a question."""
        return [q for q in self.questions.values() if self.takes_response(q.question_id)]

    def takes_response(self, question_id: QuestionId) -> bool:
        question = self.questions.get(question_id)
        if question is None or question.status != "open":
            return False
        if question.by_message:
            return True  # its job may have ended long ago; a reset closes it
        job = self.jobs.get(question.job_id)
        return job is not None and (job.is_live or question.kind == "question")

    def live_counts(self) -> dict[str, int]:
        counts = {"queued": 0, "running": len(self.running), "waiting": len(self.waiting)}
        counts["queued"] = sum(len(self.sessions[key].queue) for key in self.ready)
        counts["steering"] = len(self.steering)
        return counts


def resume_slot(runtime: str, project_path: str) -> str:
    """The name under which a session keeps the resume key of this runtime in this project."""
    return f"{runtime} {project_path}"


def answer_entry_id(job_id: JobId) -> EntryId:
    return EntryId(f"debt_{job_id}")


def answered_job(entry_id: EntryId) -> JobId:
    """The job that an answer's entry is about. An entry of another kind gives an id that no job has."""
    return JobId(entry_id.removeprefix("debt_"))


def question_entry_id(question_id: QuestionId) -> EntryId:
    return EntryId(f"debt_{question_id}")


def reminder_entry_id(question_id: QuestionId) -> EntryId:
    return EntryId(f"debt_reminder_{question_id}")


def sent_entry_id(number: int) -> EntryId:
    """`number` counts the calls that agents have made."""
    return EntryId(f"debt_call_{number}")


def card_entry_id(job_id: JobId) -> EntryId:
    return EntryId(f"debt_card_{job_id}")


def link_entry_id(asked_by: str) -> EntryId:
    return EntryId(f"debt_link_{asked_by}")


def notice_entry_id(number: int, tick: str) -> EntryId:
    return EntryId(f"debt_schedule_{number}_{tick}")


def worktree_entry_id(number: int, seq: int) -> EntryId:
    """`seq` is that of the state when it was decided: a worktree is merged more than once."""
    return EntryId(f"debt_worktree_{number}_{seq}")


def undo_entry_id(undo_id: str) -> EntryId:
    return EntryId(f"debt_{undo_id}")


def open_undo_entry_id(undo_id: str) -> EntryId:
    return EntryId(f"debt_{undo_id}_open")


def thread_start_entry_id(asked_by: str) -> EntryId:
    return EntryId(f"debt_start_{asked_by}")


def session_state(state: State, session: Session) -> SessionState:
    """Running, else handed off, else queued, else how the last job ended, else idle."""
    running = session.running_job_id or session.agent_job_id
    if running:
        return "waiting" if state.jobs[running].state == "waiting" else "running"
    if session.hand_off is not None:
        return "handed_off"
    if session.queue:
        return "queued"
    last = state.jobs.get(session.last_job_id or JobId(""))
    if last is not None and last.state in RETRYABLE:
        return "failed" if last.state == "failed" else "unknown_after_crash"
    return "idle"


def as_data(state: State) -> dict[str, Any]:
    """The state as plain containers, for comparison and for the snapshot."""
    return msgspec.to_builtins(state)
