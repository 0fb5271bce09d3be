"""Journal events: facts that must survive. Frozen, in the past tense; their `type` names are forever.

A line of the journal is `{"seq", "ts", "type", "payload", "crc"}`. Fields may be added with a default; none may change
its meaning. A new event needs a rule in `fold/`: a check at import makes sure of it.
"""

from typing import Any, Literal, TypeAlias

import msgspec

from fairlead.core.agents import ConfiguredAgent
from fairlead.core.budgets import BudgetChoice
from fairlead.core.conversation import BindingTargetKind, ConversationRef
from fairlead.core.engine import ForkOrigin, Suggestion
from fairlead.core.forks import ForkOrder
from fairlead.core.hooks import HookFields
from fairlead.core.ids import BindingId, BlobName, EntryId, JobId, MessageId, QuestionId, ResumeKey, SessionKeyText
from fairlead.core.inbound import Attachment, Cause, Ring
from fairlead.core.machines.offers import AgentOffer
from fairlead.core.questions import QuestionFields
from fairlead.core.rules import RuleOffer
from fairlead.core.schedules import ScheduleNotice, ScheduleStatus, ScheduleTerms, TickOutcome
from fairlead.core.spawns import SpawnOrder, SpawnReturn
from fairlead.core.trees import ChangeSummary, Moment, TreeSnapshot, UndoneParts, UndoNotice
from fairlead.core.turn_reports import NO_REPORT, TurnReport
from fairlead.core.worktrees import UncommittedChoice, WorktreeNotice

OutboxKind = Literal["answer", "question", "opening", "reminder", "link", "notice", "sent", "card"]
TitledBy = Literal["prompt", "agent", "person"]
Route = Literal["bound", "asked", "fallback", "nowhere", "asker"]
"""`asker`: into the session that asked for it, not to a conversation."""


SteeringReason = Literal["no_turn", "unsupported", "too_late", "refused"]
"""Why a text was not taken into a turn: none ran, its agent cannot take any, it ended first, its agent refused."""


class _Fact(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    pass


# --- the daemon --------------------------------------------------------------------------------------------------


class StateFounded(_Fact, frozen=True):
    """The first line of every journal. `state_id` names this state directory in nonces and process marks."""

    state_id: str
    version: str = ""


class DaemonStarted(_Fact, frozen=True):
    version: str
    pid: int = 0


class OwnerSet(_Fact, frozen=True):
    owner_id: str


class PersonSeen(_Fact, frozen=True):
    person: str
    locale: str


# --- projects ----------------------------------------------------------------------------------------------------


class ProjectCreated(_Fact, frozen=True, kw_only=True):
    number: int
    name: str
    path: str
    enabled_runtimes: tuple[str, ...] = msgspec.field(name="enabled_tools")
    default_runtime: str = msgspec.field(name="default_tool")
    default_args: dict[str, tuple[str, ...]] = {}
    source: str = "command"
    workspace: str = ""
    tools_chosen: bool | None = None
    """Whether somebody chose the agents; if not, the project has all that there are. An earlier version did not say."""


class ProjectUpdated(_Fact, frozen=True, kw_only=True):
    """The whole project as it is from now on; `disabled` says why nobody can work in it."""

    name: str
    path: str
    enabled_runtimes: tuple[str, ...] = msgspec.field(name="enabled_tools")
    default_runtime: str = msgspec.field(name="default_tool")
    default_args: dict[str, tuple[str, ...]] = {}
    disabled: str = ""
    tools_chosen: bool | None = None


class ProjectRenamed(_Fact, frozen=True):
    name: str
    new_name: str


class ProjectRemoved(_Fact, frozen=True):
    """Nobody can choose it any more. Its directory is untouched, and what was done in it stays readable."""

    name: str
    person: str


class ProjectSwitched(_Fact, frozen=True):
    session_key: SessionKeyText
    person: str
    project: str
    runtime: str = msgspec.field(name="tool")


class ProjectWorktreesSet(_Fact, frozen=True):
    """Whether the sessions that people begin in this project get a worktree where nobody says otherwise."""

    name: str
    wanted: bool
    person: str = ""


# --- agents ------------------------------------------------------------------------------------------------------


class AgentConfigured(ConfiguredAgent, frozen=True, kw_only=True):
    """The whole agent as it is from now on, whether it is new or changed."""


class AgentRemoved(_Fact, frozen=True):
    name: str


# --- other machines ----------------------------------------------------------------------------------------------


class MachineAdded(_Fact, frozen=True):
    """A machine whose runner may join. Its key is no fact: the wire has it, under `machine_id`, which stays when the
    machine is renamed. An earlier version wrote none: then it is the name."""

    name: str
    person: str
    machine_id: str = ""


class MachineRenamed(_Fact, frozen=True):
    """Everything that names the machine has the new name from here on: its projects, their paths, its agents. What was
    written before keeps the name that it had then."""

    name: str
    new_name: str
    person: str


class MachineRemoved(_Fact, frozen=True):
    name: str
    person: str


class RunnerMet(_Fact, frozen=True, kw_only=True):
    """The runner that speaks for a machine, and what it can run. With another `runner_id` than before, nobody knows
    what became of the jobs that the machine had."""

    machine: str
    runner_id: str
    epoch: int
    version: str = ""
    agents: tuple[AgentOffer, ...] = ()
    slots: int = 1


class MachinesEpochBegun(_Fact, frozen=True):
    """The daemon was about to claim the right to give orders, under this token. `step` counts these facts. With
    `took_over` a person decided that this journal goes on though another daemon had given orders since."""

    epoch: int
    token: str
    step: int = 0
    took_over: bool = False


# --- sessions ----------------------------------------------------------------------------------------------------


class SessionCreated(_Fact, frozen=True, kw_only=True):
    session_key: SessionKeyText
    session_id: str
    project: str
    runtime: str = msgspec.field(name="tool")
    conversation: ConversationRef
    person: str
    parent_session_key: SessionKeyText = SessionKeyText("")
    """The session that started this one; `SessionSpawned` says more."""


class SessionSpawned(_Fact, frozen=True, kw_only=True):
    """This session was started for a task. In the same batch as its SessionCreated."""

    session_key: SessionKeyText
    asked_by: str
    order: SpawnOrder
    returns: SpawnReturn


class SessionDiscarded(_Fact, frozen=True):
    """A session that was never talked to, because its thread could not be created."""

    session_key: SessionKeyText
    reason: str


class SessionTitled(_Fact, frozen=True):
    """What people see the session called, after its first prompt, by its agent, or by a person, whose word stands."""

    session_key: SessionKeyText
    title: str
    by: TitledBy


class ToolChanged(_Fact, frozen=True):
    session_key: SessionKeyText
    runtime: str = msgspec.field(name="tool")


class ModelChosen(_Fact, frozen=True):
    session_key: SessionKeyText
    runtime: str = msgspec.field(name="tool")
    model: str


class SessionReset(_Fact, frozen=True):
    session_key: SessionKeyText
    generation: int
    person: str


class ResumeKeyLearnt(_Fact, frozen=True, kw_only=True):
    session_key: SessionKeyText
    generation: int
    runtime: str = msgspec.field(name="tool")
    project_path: str
    key: ResumeKey


class ResumeKeyForgotten(_Fact, frozen=True):
    """The tool does not know this key, and no turn with it ever succeeded: the next turn loses nothing without it."""

    session_key: SessionKeyText
    generation: int
    runtime: str = msgspec.field(name="tool")
    project_path: str


class SessionAdopted(_Fact, frozen=True, kw_only=True):
    """The session goes on with a session of the agent's own, wherever that was begun. `before` is the resume key that
    it had there until now."""

    session_key: SessionKeyText
    generation: int
    runtime: str = msgspec.field(name="tool")
    project_path: str
    key: ResumeKey
    person: str
    before: ResumeKey = ResumeKey("")


class SessionHandedOff(_Fact, frozen=True, kw_only=True):
    """The agent's own session goes on in a shell. Until SessionTakenBack no job of this session starts. `position`
    is where the agent's record of it ended."""

    session_key: SessionKeyText
    runtime: str = msgspec.field(name="tool")
    project_path: str
    key: ResumeKey
    person: str
    position: str = ""


class SessionTakenBack(_Fact, frozen=True, kw_only=True):
    """Jobs of this session start again. `exchanges` counts what was said in the shell meanwhile; `unread`: nobody
    knows."""

    session_key: SessionKeyText
    person: str
    exchanges: int = 0
    unread: bool = False


class RuleGranted(_Fact, frozen=True):
    """«Allow for this session»: one narrow rule, gone with the session's generation."""

    session_key: SessionKeyText
    generation: int
    rule: str
    person: str


# --- standing rules ----------------------------------------------------------------------------------------------


class StandingRuleMade(_Fact, frozen=True, kw_only=True):
    """The owner allowed something in a project until they take it back. `number` is the rule's name for people."""

    number: int
    project: str
    offer: RuleOffer
    session_key: SessionKeyText
    person: str
    job_id: JobId
    question_id: QuestionId


class StandingRuleUsed(_Fact, frozen=True, kw_only=True):
    """A rule allowed what an agent asked for, and nobody was asked. `detail` begins what it was."""

    number: int
    job_id: JobId
    offer: RuleOffer
    tool: str
    detail: str


class StandingRuleRemoved(_Fact, frozen=True):
    number: int
    person: str


# --- hooks -------------------------------------------------------------------------------------------------------


class HookAdded(HookFields, frozen=True, kw_only=True):
    """Events of this name are taken from now on. The hook's secret is in a file of its own, and never here."""


class HookRemoved(_Fact, frozen=True):
    name: str
    person: str


# --- budgets -----------------------------------------------------------------------------------------------------


class BudgetSet(_Fact, frozen=True, kw_only=True):
    """What a project may spend in a day, from now on; with neither limit it has no budget."""

    project: str
    person: str
    usd: float | None = None
    tokens: int | None = None


class BudgetDecided(_Fact, frozen=True, kw_only=True):
    """A person said what becomes of the jobs that wait because the project's budget of `day` is spent."""

    project: str
    day: str
    choice: BudgetChoice
    person: str


# --- messages and jobs -------------------------------------------------------------------------------------------


class JobEnqueued(_Fact, frozen=True, kw_only=True):
    job_id: JobId
    session_key: SessionKeyText
    conversation: ConversationRef
    message_id: MessageId
    person: str
    prompt: str
    prompt_blob: BlobName = BlobName("")
    attachments: tuple[Attachment, ...] = ()
    attempt: int = 1
    retry_of: JobId = JobId("")
    cause: Cause = "message"
    body_digest: str = ""
    quoted: int = 0
    """How many characters at the head of `prompt` are a quotation and not the person's own words."""
    project: str = ""
    """The project that the message itself asked for: the job runs there, wherever its session has gone meanwhile."""
    foreign: bool = False
    """Somebody else's words are in the prompt, or in that of the job which this one goes on with."""
    first: bool = False
    """It goes before the messages that wait, because it belongs to the job that runs."""
    ring: Ring = "usual"
    tell: tuple[str, ...] = ()
    steers: bool = False
    """The person wants it given to the turn that runs, if the agent takes it there."""


class MessageRefused(_Fact, frozen=True, kw_only=True):
    conversation: ConversationRef
    message_id: MessageId
    person: str
    error_code: str
    body_digest: str = ""


class MessageSkipped(_Fact, frozen=True):
    conversation: ConversationRef
    message_id: MessageId
    person: str
    reason: str


class JobAmended(_Fact, frozen=True):
    job_id: JobId
    prompt: str
    prompt_blob: BlobName = BlobName("")


class AttachmentsStored(_Fact, frozen=True):
    """The files of a message were fetched and are blobs from now on."""

    job_id: JobId
    attachments: tuple[Attachment, ...]


class JobWithdrawn(_Fact, frozen=True):
    job_id: JobId
    reason: str


class JobStarted(_Fact, frozen=True, kw_only=True):
    """From here on the tool, the project and the generation of this job are fixed. With `awaits_hand_over`, the agent
    has no prompt before JobHandedOver; without it, as in all lines of earlier versions, it may have it from here on."""

    job_id: JobId
    session_key: SessionKeyText
    runtime: str = msgspec.field(name="tool")
    project: str
    project_path: str
    generation: int = 0
    resume_key: ResumeKey = ResumeKey("")
    awaits_hand_over: bool = False
    fork: ForkOrigin | None = None
    """What the talk began as, until the agent has answered in it."""


class JobHandedOver(_Fact, frozen=True):
    """The prompt goes to the agent now. Durable before its first byte leaves. An agent on another machine has it
    already: there the runner's journal was first. `machine_time` is what the clock there said, and `taken_at` what it
    said when the order for the turn had arrived."""

    job_id: JobId
    machine_time: str = ""
    taken_at: str = ""


class JobRequeued(_Fact, frozen=True):
    """Fairlead stopped after the start of this job and before its agent had the prompt: it waits at the head of its
    queue again."""

    job_id: JobId
    session_key: SessionKeyText


class JobProgress(_Fact, frozen=True):
    job_id: JobId
    tools_started: int = 0


class JobTriedAgain(_Fact, frozen=True):
    """The one second attempt Fairlead makes by itself; the job keeps its id."""

    job_id: JobId
    error_code: str
    reason: str


class JobContinued(_Fact, frozen=True):
    """A person responded to a waiting job, and it has a slot again."""

    job_id: JobId


class Spent(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0


class FileRef(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A file in a blob, and the name under which people see it."""

    name: str
    blob: BlobName
    media_type: str = ""


class JobCompleted(_Fact, frozen=True, kw_only=True):
    job_id: JobId
    session_key: SessionKeyText
    text: str
    excerpt: str = ""
    text_blob: BlobName = BlobName("")
    files: tuple[FileRef, ...] = ()
    spent: Spent = Spent()
    spent_on: str = ""
    """The owner's day to whose budget this counts; empty where nothing was spent, and in lines of earlier versions."""
    point: str = ""
    """Where the agent's talk was when the turn ended, in the agent's own words; empty where it does not say."""
    report: TurnReport = NO_REPORT


class JobFailed(_Fact, frozen=True, kw_only=True):
    job_id: JobId
    session_key: SessionKeyText
    error_code: str
    error_message: str
    text: str = ""
    spent: Spent = Spent()
    spent_on: str = ""
    point: str = ""
    report: TurnReport = NO_REPORT


class JobCancelled(_Fact, frozen=True):
    job_id: JobId
    session_key: SessionKeyText
    person: str
    reason: str = ""
    spent: Spent = Spent()
    spent_on: str = ""
    point: str = ""
    report: TurnReport = NO_REPORT


class JobMarkedUnknownAfterCrash(_Fact, frozen=True):
    job_id: JobId
    session_key: SessionKeyText


# --- questions ---------------------------------------------------------------------------------------------------


class QuestionAsked(QuestionFields, frozen=True, kw_only=True):
    request_id: str
    suggestions: tuple[Suggestion, ...] = ()


class QuestionAnswered(_Fact, frozen=True, kw_only=True):
    question_id: QuestionId
    verdict: Literal["allow", "deny"]
    person: str
    chosen: dict[str, str] = {}
    message: str = ""
    for_session: bool = False
    via: str = ""
    always: int = 0


class ChoiceMade(_Fact, frozen=True):
    """One of several lists was chosen from; the question stays open until every list was."""

    question_id: QuestionId
    person: str
    chosen: dict[str, str]
    via: str = ""


class AgentToolCalled(_Fact, frozen=True, kw_only=True):
    """An agent called one of the tools that Fairlead offers it. `call_id` is the same however often the call is sent;
    `job_id` is the job that ran, or the last one. `detail` begins what it was about."""

    call_id: str
    session_key: SessionKeyText
    generation: int
    job_id: JobId
    tool: str
    detail: str = ""


class AgentRequestRefused(_Fact, frozen=True):
    """A process of the job's agent asked something of Fairlead itself, as if it were a person."""

    job_id: JobId
    request: str
    program: str


class QuestionClosed(_Fact, frozen=True):
    """Nobody responded in time, the agent withdrew the question, or its job ended."""

    question_id: QuestionId
    reason: Literal["expired", "withdrawn", "job_ended"]


# --- schedules ---------------------------------------------------------------------------------------------------


class ScheduleMade(_Fact, frozen=True, kw_only=True):
    """`number` is its name for people. A proposed one fires when a person has confirmed how its time was read."""

    number: int
    terms: ScheduleTerms
    status: ScheduleStatus
    due: str = ""


class ScheduleConfirmed(_Fact, frozen=True):
    number: int
    person: str
    due: str


class SchedulePaused(_Fact, frozen=True):
    number: int
    person: str


class ScheduleResumed(_Fact, frozen=True):
    number: int
    person: str
    due: str


class ScheduleRemoved(_Fact, frozen=True):
    number: int
    person: str


class ScheduleTicked(_Fact, frozen=True, kw_only=True):
    """A tick is settled: it became a job, or it did not, and `outcome` and `detail` say why. In one batch with that
    job. `tick` is its nominal time, empty for a run by hand. The ticks from `missed_from` to before it were passed
    over. `due` is the next tick, empty if there is none."""

    number: int
    tick: str
    outcome: TickOutcome
    due: str
    job_id: JobId = JobId("")
    detail: str = ""
    missed_from: str = ""


class ScheduleDueMoved(_Fact, frozen=True):
    """The next tick is another one than was thought: the clock was set back, or the tick was settled before that."""

    number: int
    due: str


# --- steering ----------------------------------------------------------------------------------------------------


class SteeringAsked(_Fact, frozen=True):
    """A person wants this message, which waits, given to the turn that runs."""

    job_id: JobId
    person: str


class SteeringBegun(_Fact, frozen=True, kw_only=True):
    """The message left the queue, and its text goes to the agent, into the turn of the job `into`. Durable before its
    first byte leaves. With `foreign`, it is not the text of the person who asked for that turn."""

    job_id: JobId
    session_key: SessionKeyText
    into: JobId
    foreign: bool = False


class JobSteered(_Fact, frozen=True):
    """The agent took the text into the turn of `into`: the message has no turn and no answer of its own."""

    job_id: JobId
    session_key: SessionKeyText
    into: JobId


class SteeringDeclined(_Fact, frozen=True, kw_only=True):
    """The agent does not have the text, and `reason` says why; it is an ordinary message again, the next one of its
    session. `detail` are the agent's own words."""

    job_id: JobId
    session_key: SessionKeyText
    reason: SteeringReason
    detail: str = ""


# --- forks -------------------------------------------------------------------------------------------------------


class SessionForked(_Fact, frozen=True, kw_only=True):
    """This session begins with all that was said in another one. In the same batch as its SessionCreated."""

    session_key: SessionKeyText
    forked_from: SessionKeyText
    asked_by: str
    person: str
    after: JobId = JobId("")


class ForkPlanned(_Fact, frozen=True, kw_only=True):
    """From the next turn on, what this session's agent remembers in this project begins as a copy of another talk."""

    session_key: SessionKeyText
    generation: int
    runtime: str = msgspec.field(name="tool")
    project_path: str
    fork: ForkOrigin


# --- worktrees ---------------------------------------------------------------------------------------------------


class WorktreePlanned(_Fact, frozen=True, kw_only=True):
    """This session works in a worktree from now on, and git makes it next. Written once more, with the same number, if
    the branch's name was taken. `source` is the kept commit of a discarded worktree that is brought back."""

    number: int
    session_key: SessionKeyText
    project: str
    person: str
    repository: str
    path: str
    branch: str
    source: str = ""
    target: str = ""


class WorktreeMade(_Fact, frozen=True, kw_only=True):
    """The worktree is there. `directory` is where agents work, `common_dir` where the repository is; `base` is the
    commit that it began from, `target` the branch that a merge goes into."""

    number: int
    directory: str
    common_dir: str
    base: str
    target: str
    left_behind: int = 0


class WorktreeFailed(_Fact, frozen=True, kw_only=True):
    """The worktree could not be made, or not be removed whole. Its session runs nothing until a person has it made
    again, or discards it."""

    number: int
    error_code: str
    error_message: str = ""


class WorktreeMergeBegun(_Fact, frozen=True, kw_only=True):
    number: int
    person: str
    uncommitted: UncommittedChoice = "refuse"


class WorktreeMerged(_Fact, frozen=True, kw_only=True):
    """The commits of the worktree's branch are in `target`, which went from `before` to `after`."""

    number: int
    target: str
    before: str
    after: str
    commits: int = 0
    files: int = 0


class WorktreeMergeStopped(_Fact, frozen=True, kw_only=True):
    """Nothing was merged: the branch, the target and all files are as they were before."""

    number: int
    error_code: str
    error_message: str = ""
    files: tuple[str, ...] = ()


class WorktreeDiscardBegun(_Fact, frozen=True, kw_only=True):
    """From here on the worktree is removed, also after a crash. With `renew`, its session gets a new one."""

    number: int
    person: str
    renew: bool = False


class WorktreeDiscarded(_Fact, frozen=True, kw_only=True):
    """The worktree and its branch are gone. `ref` keeps the branch's last commit and what was not committed; empty for
    a worktree that was never made."""

    number: int
    ref: str = ""
    commit: str = ""


# --- bindings ----------------------------------------------------------------------------------------------------


class BindingBound(_Fact, frozen=True, kw_only=True):
    binding_id: BindingId
    target_session_key: SessionKeyText
    target_kind: BindingTargetKind
    conversation: ConversationRef
    bound_at: str
    expires_at: str | None = None
    ttl_ms: int | None = None
    metadata: dict[str, Any] = {}


class BindingTouched(_Fact, frozen=True):
    binding_id: BindingId
    expires_at: str | None


class BindingEnded(_Fact, frozen=True):
    binding_id: BindingId
    reason: str


# --- delivery ----------------------------------------------------------------------------------------------------


class ThreadOpening(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """A session that begins when its opening message stands: that message's id names its thread, and so the session.
    `asked_by` is the id of the command: nothing of this opening is older."""

    asked_by: str
    person: str
    project: str
    runtime: str = msgspec.field(name="tool")
    agent_id: str
    space_id: str
    spawn: SpawnOrder | None = None
    """The task that the session is started for; None where a person will say what to do."""
    fork: ForkOrder | None = None
    """What the session begins with; None where it begins empty."""
    branch: str = ""
    """The branch of the worktree that the session gets; empty for a session that works in the project's directory."""


class DeliveryOwed(_Fact, frozen=True, kw_only=True):
    """A person is owed words: an answer, a question, a thread, a reminder of a question with a `link` to it, a `link`
    to the thread of a spawned session, or, with an `error_code`, why there is none; or what an agent sent by itself,
    with its `text` and `files`. Always in the same batch as the fact they are about.

    `fail_closed` forbids the router to fall back to the requester: the answers of sessions that were spawned with a
    thread have it. With an `asker` the words are owed to that session: its agent, not a person, asked for them."""

    entry_id: EntryId = msgspec.field(name="debt_id")
    kind: OutboxKind
    session_key: SessionKeyText
    requester: ConversationRef
    job_id: JobId = JobId("")
    question_id: QuestionId = QuestionId("")
    fail_closed: bool = False
    opening: ThreadOpening | None = None
    link: str = ""
    text: str = ""
    files: tuple[FileRef, ...] = ()
    error_code: str = ""
    asker: SessionKeyText = SessionKeyText("")
    notice: ScheduleNotice | None = None
    worktree: WorktreeNotice | None = None
    undo: UndoNotice | None = None


class Piece(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One message of a delivery, as it will be sent however often it must be tried.

    With `thread` it is no message but a thread of that name, which grows from the piece before it. `mentions` are the
    accounts that its text mentions and that shall hear of it at once; a piece without them is sent silently. With
    `retries` the piece has a button that tries that job again, with `card` the buttons about what that job changed."""

    text: str
    files: tuple[FileRef, ...] = ()
    question_id: QuestionId = QuestionId("")
    thread: str = ""
    mentions: tuple[str, ...] = ()
    retries: JobId = JobId("")
    card: JobId = JobId("")


class DeliveryPlanned(_Fact, frozen=True, kw_only=True):
    """The destination of an entry, its reason, and its pieces: later attempts follow this plan, also after an update.

    A pull channel has no pieces: the client fetches, and `DeliveryAcknowledged` says that it did. `reports` are jobs
    whose answers were given up at this destination: the first piece says so."""

    entry_id: EntryId = msgspec.field(name="debt_id")
    destination: ConversationRef | None
    route: Route
    reason: str
    pieces: tuple[Piece, ...] = ()
    reports: tuple[JobId, ...] = ()


class PieceDelivered(_Fact, frozen=True):
    entry_id: EntryId = msgspec.field(name="debt_id")
    index: int
    message_id: MessageId


class DeliveryDeferred(_Fact, frozen=True, kw_only=True):
    """`must_wait`: the channel named the time, so a channel that comes back earlier does not shorten it."""

    entry_id: EntryId = msgspec.field(name="debt_id")
    attempts: int
    due: str
    error_code: str = ""
    must_wait: bool = False


class DeliveryAcknowledged(_Fact, frozen=True):
    entry_id: EntryId = msgspec.field(name="debt_id")


class DeliveryAbandoned(_Fact, frozen=True):
    entry_id: EntryId = msgspec.field(name="debt_id")
    error_code: str
    reason: str


# --- the files of projects ---------------------------------------------------------------------------------------


class TreeSnapshotTaken(_Fact, frozen=True, kw_only=True):
    """The files of the job's directory as they were when its turn began, before its agent had the prompt, or ended.
    `changed` says what differs at the end. With `is_late`, Fairlead stopped before it could look: what was changed in
    between counts as the turn's."""

    job_id: JobId
    moment: Moment
    snapshot: TreeSnapshot
    changed: ChangeSummary | None = None
    is_late: bool = False


class TreeSnapshotMissed(_Fact, frozen=True):
    """No snapshot could be taken, so the job's turn cannot be undone."""

    job_id: JobId
    moment: Moment
    error_code: str
    reason: str = ""


class UndoBegan(_Fact, frozen=True, kw_only=True):
    """What these jobs did is taken back from now on: in the files (from the snapshot `before` to `after`), in what the
    agent remembers, or both. With `redo_of`, an undo is taken back. Durable before the first file is touched; until
    UndoEnded, a start goes on with it. `left` are files that stay, because no snapshot says how they were."""

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
    left: tuple[str, ...] = ()
    back_before: JobId = JobId("")
    """What the agent remembers goes back to before this job, if the agent can; empty if it stays."""


class UndoEnded(_Fact, frozen=True, kw_only=True):
    """The files are as they should be, but for `left`: no snapshot says how these were, or somebody changed them in the
    last moment. With `is_set_back`,
    the agent's next turn goes on without what it remembered of these jobs, by the facts behind this one; `origin` is
    the way back to that. With an `error_code` it could not be carried out, and `reason` says what stands."""

    undo_id: str
    left: tuple[str, ...] = ()
    is_set_back: bool = False
    origin: ForkOrigin | None = None
    error_code: str = ""
    reason: str = ""


class JobUndone(_Fact, frozen=True):
    """In the same batch as UndoEnded."""

    job_id: JobId
    undo_id: str
    person: str


class JobRedone(_Fact, frozen=True):
    job_id: JobId
    undo_id: str
    person: str


JournalEvent: TypeAlias = (
    StateFounded
    | DaemonStarted
    | OwnerSet
    | PersonSeen
    | ProjectCreated
    | ProjectUpdated
    | ProjectRenamed
    | ProjectRemoved
    | ProjectSwitched
    | AgentConfigured
    | AgentRemoved
    | MachineAdded
    | MachineRemoved
    | MachineRenamed
    | RunnerMet
    | MachinesEpochBegun
    | SessionCreated
    | SessionSpawned
    | SessionDiscarded
    | SessionTitled
    | ToolChanged
    | ModelChosen
    | SessionReset
    | ResumeKeyLearnt
    | ResumeKeyForgotten
    | SessionAdopted
    | SessionHandedOff
    | SessionTakenBack
    | RuleGranted
    | StandingRuleMade
    | StandingRuleUsed
    | StandingRuleRemoved
    | HookAdded
    | HookRemoved
    | BudgetSet
    | BudgetDecided
    | JobEnqueued
    | MessageRefused
    | MessageSkipped
    | JobAmended
    | AttachmentsStored
    | JobWithdrawn
    | JobStarted
    | JobProgress
    | JobHandedOver
    | JobRequeued
    | JobTriedAgain
    | JobContinued
    | JobCompleted
    | JobFailed
    | JobCancelled
    | JobMarkedUnknownAfterCrash
    | QuestionAsked
    | QuestionAnswered
    | ChoiceMade
    | QuestionClosed
    | AgentToolCalled
    | AgentRequestRefused
    | ScheduleMade
    | ScheduleConfirmed
    | SchedulePaused
    | ScheduleResumed
    | ScheduleRemoved
    | ScheduleTicked
    | ScheduleDueMoved
    | SteeringAsked
    | SteeringBegun
    | JobSteered
    | SteeringDeclined
    | SessionForked
    | ForkPlanned
    | ProjectWorktreesSet
    | WorktreePlanned
    | WorktreeMade
    | WorktreeFailed
    | WorktreeMergeBegun
    | WorktreeMerged
    | WorktreeMergeStopped
    | WorktreeDiscardBegun
    | WorktreeDiscarded
    | BindingBound
    | BindingTouched
    | BindingEnded
    | DeliveryOwed
    | DeliveryPlanned
    | PieceDelivered
    | DeliveryDeferred
    | DeliveryAcknowledged
    | DeliveryAbandoned
    | TreeSnapshotTaken
    | TreeSnapshotMissed
    | UndoBegan
    | UndoEnded
    | JobUndone
    | JobRedone
)

EVENT_TYPES: tuple[type[JournalEvent], ...] = JournalEvent.__args__  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
