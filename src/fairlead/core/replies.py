"""The replies of commands, as facts. `render` makes the words for people of them."""

from typing import Annotated, Literal

import msgspec

from fairlead.core.agent_sessions import Exchange
from fairlead.core.agents import ConfiguredAgent
from fairlead.core.conversation import ConversationRef
from fairlead.core.engine import LimitWindow
from fairlead.core.hooks import HookForm
from fairlead.core.inbound import Ring
from fairlead.core.rules import RuleOffer
from fairlead.core.schedules import MissedTicks, ScheduleSession, ScheduleStatus
from fairlead.core.spawns import SpawnReturn
from fairlead.core.state import JobState, SessionState
from fairlead.core.trees import FileChange, UncoveredPath, UndoneParts
from fairlead.core.worktrees import MergeResult, WorktreeStatus, WorktreeWork


class Reply(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag=True):
    """What a command returns. A new command brings its own reply."""


class ProjectInfo(Reply, frozen=True, kw_only=True):
    number: int
    name: str
    path: str
    enabled_tools: tuple[str, ...]
    default_tool: str
    active: bool = False
    disabled: str = ""
    created: bool = False
    worktree: bool = False
    """New sessions get a worktree where nobody says otherwise."""
    machine: str = ""
    """The other machine that it lies on; empty for this one."""
    machine_is_there: bool = True
    machine_since: str = ""
    """Since when this machine is connected, or is not."""


class ProjectCatalogue(Reply, frozen=True):
    projects: tuple[ProjectInfo, ...]


class RenamedProject(Reply, frozen=True):
    old_name: str
    name: str


class RemovedProject(Reply, frozen=True):
    """`setting` names the directory too: the project stays away, but the setting is worth a look."""

    name: str
    path: str
    setting: str = ""


class ProjectReport(Reply, frozen=True, kw_only=True):
    name: str
    session_total: int
    running_sessions: int
    queued_jobs: int
    failed_jobs_24h: int
    last_error: str | None


class RuleRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A standing rule. `used_at` is empty for one that was never used."""

    number: int
    project: str
    rule: RuleOffer
    person: str
    made_at: str
    uses: int = 0
    used_at: str = ""


class RuleCatalogue(Reply, frozen=True):
    rules: tuple[RuleRow, ...]


class RuleWasRemoved(Reply, frozen=True):
    rule: RuleRow


class HookRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A hook, without its secret. `path` is where events are sent to."""

    name: str
    path: str
    form: HookForm
    session_key: str
    told: ConversationRef
    project: str = ""
    tool: str = ""
    template: str = ""
    events: tuple[str, ...] = ()
    where: tuple[str, ...] = ()


class HookMade(Reply, frozen=True):
    """`secret` is shown here and never again."""

    hook: HookRow
    secret: str


class HookCatalogue(Reply, frozen=True):
    hooks: tuple[HookRow, ...]


class HookWasRemoved(Reply, frozen=True):
    name: str


class HookTested(Reply, frozen=True):
    name: str
    job_id: str


class BudgetRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a project has spent today, and what it may. `held`: its jobs wait, because that is all spent."""

    project: str
    spent_usd: float = 0.0
    spent_tokens: int = 0
    usd: float | None = None
    tokens: int | None = None
    held: bool = False


class BudgetReport(Reply, frozen=True):
    """`day` is the owner's, and `ends_at` the moment at which the next one begins."""

    day: str
    ends_at: str
    rows: tuple[BudgetRow, ...]


class ScheduleRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A schedule. `next` are its next ticks in UTC, `next_local` the same in its own time zone. `last_outcome` says
    what became of its latest tick, `last_detail` why."""

    number: int
    status: ScheduleStatus
    cron: str = ""
    at: str = ""
    zone: str
    next: tuple[str, ...] = ()
    next_local: tuple[str, ...] = ()
    text: str
    person: str
    session: ScheduleSession
    missed: MissedTicks
    overlap: Literal["skip", "queue"]
    ring: Ring
    tell: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    project: str = ""
    runs: int = 0
    skipped: int = 0
    last_tick: str = ""
    last_outcome: str = ""
    last_detail: str = ""
    last_job_id: str = ""


class ScheduleCatalogue(Reply, frozen=True):
    schedules: tuple[ScheduleRow, ...]


class ScheduleShown(Reply, frozen=True):
    """What was done to a schedule, and the schedule as it is now."""

    done: Literal["added", "proposed", "confirmed", "paused", "resumed", "removed"]
    schedule: ScheduleRow


class ScheduleRan(Reply, frozen=True):
    number: int
    job_id: str


class LastJob(msgspec.Struct, frozen=True, omit_defaults=True):
    job_id: str
    state: JobState
    seconds: float
    finished_at: str


class WorktreeRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A worktree of a session. `target` is the branch that a merge goes into, `error` why it cannot be used."""

    number: int
    session_id: str
    project: str
    branch: str
    path: str
    status: WorktreeStatus
    target: str = ""
    merges: int = 0
    error: str = ""


class StatusReport(Reply, frozen=True, kw_only=True):
    """`session_key` is the session's own, as everywhere; `resume_key` is by which its agent finds its memory.
    `all_running` counts the jobs of all sessions, of which `most_running` may run at once."""

    session_id: str
    session_key: str
    project: str
    tool: str
    resume_key: str | None
    state: SessionState
    pending: int
    running_job_id: str | None
    last_job: LastJob | None
    resume_ready: bool
    retry_job_id: str | None
    can_ask: bool = True
    cost_usd: float = 0.0
    session_key_name: Annotated[
        str,
        msgspec.Meta(description="The same as `session_key`.", extra_json_schema={"deprecated": True}),
    ] = ""
    running_since: str = ""
    all_running: int = 0
    most_running: int = 0
    handed_off_at: str = ""
    """Since when the session goes on in a shell; empty if it does not."""
    worktree: WorktreeRow | None = None
    machine: str = ""
    """The other machine that the session's project lies on; empty for this one."""
    machine_away_since: str = ""


class SessionRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    session_id: str
    session_key: str
    project: str
    state: SessionState
    last_activity_at: str
    conversation: ConversationRef
    parent_session_id: str = ""
    depth: int = 0
    """How many sessions are above this one: 0 for one that nobody spawned."""
    branch: str = ""
    """That of the worktree that it works in; empty for one that works in the project's directory."""
    path: str = ""


class SessionCatalogue(Reply, frozen=True):
    """`next` is set by the API alone, where more sessions follow: `after` of the next request."""

    sessions: tuple[SessionRow, ...]
    next: str = ""


class SessionFound(Reply, frozen=True):
    session: SessionRow


class StoredSessionRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A session in an agent's own records. With `has_more` it has more than `exchanges`; `session_id` is the session
    that goes on with it already, `here` says that it is this one."""

    key: str
    tool: str
    first_words: str = ""
    began_at: str = ""
    changed_at: str = ""
    exchanges: int = 0
    has_more: bool = False
    session_id: str = ""
    here: bool = False


class StoredSessionCatalogue(Reply, frozen=True):
    """Latest change first. `unlisted` are agents whose sessions cannot be listed, each with the reason."""

    directory: str
    sessions: tuple[StoredSessionRow, ...]
    unlisted: dict[str, str] = {}


class SessionAdoption(Reply, frozen=True, kw_only=True):
    """`adopted` is the session of the agent's own that this session goes on with now, and `latest` its last exchanges;
    `before` is the resume key that it had until now. Where no key was given nothing was changed, and `offered` is there
    instead."""

    adopted: StoredSessionRow | None = None
    latest: tuple[Exchange, ...] = ()
    before: str = ""
    before_tool: str = ""
    offered: StoredSessionCatalogue | None = None


class SessionHandOff(Reply, frozen=True, kw_only=True):
    """While `handed_off`, the session goes on in a shell by `command`; `argv` in `directory` with `variables` is the
    same for a program. Else it is back here: `exchanges` were made in the shell, of which `latest` are the last.
    `pending` messages wait, or run now."""

    session_id: str
    tool: str
    resume_key: str
    handed_off: bool
    command: str = ""
    directory: str = ""
    argv: tuple[str, ...] = ()
    variables: dict[str, str] = {}
    pending: int = 0
    exchanges: int = 0
    has_more: bool = False
    latest: tuple[Exchange, ...] = ()
    unread: bool = False
    """The agent's record could not be read: nobody knows what was said in the shell."""


class SessionStarted(Reply, frozen=True):
    """`branch` is that of the session's worktree, where it has one."""

    session_key: str
    session_id: str
    project: str
    tool: str
    branch: str = ""


class Spawned(Reply, frozen=True, kw_only=True):
    """A session was started for a task. `returns` says where its completion goes; `session_id` is empty while its
    thread is being made."""

    returns: SpawnReturn
    session_key: str = ""
    session_id: str = ""
    project: str = ""
    tool: str = ""
    job_id: str = ""


class ToolSet(Reply, frozen=True):
    """`from_next_job` is true while a job runs with the tool it was started with. `choices` are there where nothing was
    chosen: then nothing was changed."""

    tool: str
    from_next_job: bool = False
    choices: tuple[str, ...] = ()


class ProjectSelected(Reply, frozen=True):
    name: str
    number: int
    path: str
    tool: str


class JobQueued(Reply, frozen=True):
    job_id: str
    attempt: int
    retry_of: str


class JobRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One job in a list; `prompt` is the beginning of what was said."""

    job_id: str
    number: int
    state: JobState
    prompt: str = ""
    project: str = ""
    tool: str = ""
    enqueued_at: str = ""
    seconds: float = 0.0
    error_code: str = ""


class JobCatalogue(Reply, frozen=True):
    """Newest first."""

    jobs: tuple[JobRow, ...]


class DiscardedRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What is kept of a discarded worktree, as a ref of the project's repository."""

    number: int
    project: str
    branch: str
    ref: str
    discarded_at: str


class WorktreeShown(Reply, frozen=True, kw_only=True):
    """`work` is what would be lost with it. `left_behind` counts the project's files that are not committed, and so not
    in a worktree that was just made."""

    done: Literal["shown", "made", "restored"]
    worktree: WorktreeRow
    work: WorktreeWork | None = None
    left_behind: int = 0
    has_submodules: bool = False


class WorktreeCatalogue(Reply, frozen=True):
    worktrees: tuple[WorktreeRow, ...]
    discarded: tuple[DiscardedRow, ...] = ()


class MergeConflictRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The files that conflict. The session's agent was asked, in `job_id`, to resolve that."""

    target: str
    files: tuple[str, ...]
    files_total: int
    job_id: str


class WorktreeWasMerged(Reply, frozen=True):
    """With a `conflict`, nothing was merged and nothing was changed."""

    worktree: WorktreeRow
    result: MergeResult | None = None
    conflict: MergeConflictRow | None = None


class WorktreeWasDiscarded(Reply, frozen=True):
    """`ref` keeps it for so many `days`; empty where there was nothing to keep."""

    worktree: WorktreeRow
    ref: str = ""
    days: int = 0


class ProjectWorktreesChosen(Reply, frozen=True):
    project: str
    worktree: bool


class SessionWasReset(Reply, frozen=True, kw_only=True):
    """The session's worktree, if it has one, and what is in it. Where nothing was, it is `renewed`."""

    session_key: str
    cancelled: tuple[str, ...]
    worktree: WorktreeRow | None = None
    work: WorktreeWork | None = None
    renewed: bool = False


class JobsCancelled(Reply, frozen=True):
    """`stopping` were running and are being ended; `cancelled` had not begun."""

    stopping: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """`words` are English. `key` and `fields` say the same to a program that has words in other languages."""

    seq: int
    ts: str
    type: str
    words: str
    key: str = ""
    fields: dict[str, str] = {}


class Story(Reply, frozen=True):
    subject: str
    steps: tuple[Step, ...]


Ability = Literal["ask", "steer", "fork"]
"""Ask a person for permission; take further words into a running turn; begin another session with this one's words."""


class Inability(msgspec.Struct, frozen=True, omit_defaults=True):
    """What this agent cannot do, and the agents here that can."""

    ability: Ability
    others: tuple[str, ...] = ()


class AgentReport(Reply, frozen=True, kw_only=True):
    session_id: str
    project: str
    project_number: int
    tool: str
    model: str
    state: str
    seconds_since_activity: float
    models: tuple[str, ...] = ()
    mode: str = ""
    modes: tuple[str, ...] = ()
    options: dict[str, str] = {}
    commands: tuple[str, ...] = ()
    can_ask: bool = True
    cannot: tuple[Inability, ...] = ()


class CommandSent(Reply, frozen=True):
    """A slash command of the agent's own waits for its turn."""

    job_id: str
    command: str


class AgentStopped(Reply, frozen=True):
    session_id: str
    killed: bool


class ModelSet(Reply, frozen=True):
    """`choices` are there where nothing was chosen: then nothing was changed."""

    model: str
    choices: tuple[str, ...] = ()


class ModeSet(Reply, frozen=True):
    """The mode is no journal fact: it holds until Fairlead is started again. `choices` are there where nothing was
    chosen: then nothing was changed."""

    mode: str
    choices: tuple[str, ...] = ()


class UsageReport(Reply, frozen=True, kw_only=True):
    session_id: str
    input_tokens: int
    output_tokens: int
    cost_usd: float
    context_used: int = 0
    context_size: int = 0
    windows: tuple[LimitWindow, ...] = ()
    """What the agent last said about the limits of its account, since Fairlead was started."""


class AgentAdded(Reply, frozen=True):
    """`projects` allow the agent. `running` are jobs that go on with the program that the agent had before."""

    name: str
    projects: tuple[str, ...]
    running: tuple[str, ...] = ()


class AgentWasRemoved(Reply, frozen=True):
    """`users` are sessions and projects that are left with a name that nothing answers to."""

    name: str
    users: tuple[str, ...] = ()
    running: tuple[str, ...] = ()


class MachineMayJoin(Reply, frozen=True):
    """`line` is for the other machine, and a secret. `accounts_file` is for the operator of a NATS server that Fairlead
    does not own."""

    name: str
    line: str
    accounts_file: str = ""


class MachineRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """`since` is when it came or went; `has_joined` says that it was ever there. `clock` is what its own clock said
    when it was last heard. `waiting` counts the jobs that wait for a turn there."""

    name: str
    is_there: bool = False
    has_joined: bool = False
    since: str = ""
    clock: str = ""
    running: int = 0
    waiting: int = 0
    slots: int = 0
    version: str = ""
    agents: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    problem: str = ""


class MachineCatalogue(Reply, frozen=True):
    machines: tuple[MachineRow, ...] = ()


class MachineWasRemoved(Reply, frozen=True):
    name: str


class RenamedMachine(Reply, frozen=True):
    """`projects` are the names that its projects have now."""

    old_name: str
    name: str
    projects: tuple[str, ...] = ()


class AgentCheckRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What an agent's program says of itself. `ok` says that turns can be run with it."""

    name: str
    ok: bool
    program: str = ""
    version: str = ""
    notes: tuple[str, ...] = ()
    needs_login: bool = False


class AgentsChecked(Reply, frozen=True):
    checked_at: str
    agents: tuple[AgentCheckRow, ...]


class AgentCatalogue(Reply, frozen=True):
    agents: tuple[ConfiguredAgent, ...]


class ChangesShown(Reply, frozen=True, kw_only=True):
    """What changed in a project's files from the start of the first of these jobs to the end of the last one, or, with
    `is_running`, until now. `shared_with` are jobs that worked there at the same time: nobody can tell whose change is
    whose. `is_late`: Fairlead stopped meanwhile, so that others may have changed something. `uncovered` is what no
    snapshot holds. `diff` is unified; `is_cut` if it was too long."""

    job_ids: tuple[str, ...]
    project: str
    since: str
    is_session: bool = False
    is_running: bool = False
    files: tuple[FileChange, ...] = ()
    added: int = 0
    removed: int = 0
    diff: str = ""
    is_cut: bool = False
    shared_with: tuple[str, ...] = ()
    is_late: bool = False
    uncovered: tuple[UncoveredPath, ...] = ()
    uncovered_more: int = 0


class TurnSteered(Reply, frozen=True, kw_only=True):
    """What has become of the text so far. `into` is the job whose turn has it or gets it; `reason` says why it waits
    as an ordinary message instead."""

    job_id: str
    state: JobState
    into: str = ""
    reason: str = ""


class TurnsUndone(Reply, frozen=True, kw_only=True):
    """These turns, newest first, were taken back, or, with `is_redo`, brought back. `files` are the first of `total`
    that changed by that. `left` are files that stay: no snapshot says how they were, or somebody changed them in the
    last moment."""

    undo_id: str
    job_ids: tuple[str, ...]
    what: UndoneParts
    files: tuple[FileChange, ...] = ()
    total: int = 0
    left: tuple[str, ...] = ()
    is_redo: bool = False
    is_set_back: bool = False
    """The agent remembers no more of these turns, or, after a redo, again; otherwise its next prompt tells it."""


class SessionForkMade(Reply, frozen=True, kw_only=True):
    """A session that begins with all that was said in `forked_from`. With `is_here`, this conversation goes on in it;
    else it has a thread of its own. `branch` is that of its worktree, where it has one."""

    session_key: str
    session_id: str
    forked_from: str
    project: str
    tool: str
    branch: str = ""
    is_here: bool = False


class SessionSwitched(Reply, frozen=True):
    session_key: str
    session_id: str
