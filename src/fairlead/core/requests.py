"""What people can ask of Fairlead besides talking to an agent: one struct per command, the same on every channel."""

from typing import Annotated, Final, Literal

import msgspec

from fairlead.core.agents import FROM_COMMAND
from fairlead.core.conversation import ConversationRef
from fairlead.core.inbound import Ring
from fairlead.core.keys import SessionKey
from fairlead.core.pages import After, Limit
from fairlead.core.worktrees import UncommittedChoice

SESSIONS_SHOWN: Final = 20


class Caller(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Who asks, from where. `session_key` is the session that this conversation has or would have."""

    person: str
    conversation: ConversationRef
    session_key: SessionKey
    pre_authorised: bool = False
    locale: str = ""


class Request(msgspec.Struct, frozen=True):
    """What a command asks for. A new command brings its own request."""


class ProjectCreate(Request, frozen=True, kw_only=True):
    """`args` are extra arguments per tool: lists of strings, never one string for a shell."""

    name: str
    path: str
    tools: tuple[str, ...]
    default_tool: str
    args: dict[str, tuple[str, ...]] = {}


class ProjectAdd(Request, frozen=True):
    path: str


class ProjectList(Request, frozen=True):
    pass


class ProjectStatus(Request, frozen=True):
    project: str


class ProjectRename(Request, frozen=True):
    project: str
    new_name: str


class ProjectRemove(Request, frozen=True):
    project: str


class ProjectSwitch(Request, frozen=True):
    project: str


class RuleList(Request, frozen=True):
    """The standing rules that the caller may see."""


class RuleRemove(Request, frozen=True):
    number: Annotated[int, msgspec.Meta(ge=1, description="The number of a rule in /v1/rules.")]


class ScheduleAdd(Request, frozen=True, kw_only=True):
    """`when` is a cron expression, a date with a time, or words; `zone` is an IANA name. A time in words is only
    proposed. `check` is a command, split into words as a shell would, whose exit code 0 means run."""

    when: str
    text: str
    zone: str = ""
    session: Literal["here", "own", "fresh", ""] = ""
    missed: Literal["run", "skip", ""] = ""
    overlap: Literal["skip", "queue"] = "skip"
    ring: Ring = "usual"
    tell: tuple[str, ...] = ()
    check: str = ""
    project: str = ""


ScheduleNumber = Annotated[int, msgspec.Meta(ge=1, description="The number of a schedule in /v1/schedules.")]


class ScheduleConfirm(Request, frozen=True):
    """Without a number, the one that was proposed here last."""

    number: Annotated[int, msgspec.Meta(ge=0, description="The number of a schedule in /v1/schedules.")] = 0


class ScheduleList(Request, frozen=True):
    """The schedules that the caller may see, each with so many of its next ticks."""

    ticks: int = 1


class SchedulePause(Request, frozen=True):
    number: ScheduleNumber


class ScheduleResume(Request, frozen=True):
    number: ScheduleNumber


class ScheduleRemove(Request, frozen=True):
    number: ScheduleNumber


class ScheduleRun(Request, frozen=True):
    """Run it now, without its check. `asked_by` is the request's own id."""

    asked_by: str
    number: ScheduleNumber


class Status(Request, frozen=True):
    pass


class Tool(Request, frozen=True):
    """Without a tool, what it is now and what it may be."""

    tool: str = ""


class Retry(Request, frozen=True):
    """Without a job, the last one of the session that failed or was interrupted. A number names a job too."""

    job_id: str = ""


class LatestJobs(Request, frozen=True):
    """The latest jobs of this session."""


class SessionList(Request, frozen=True):
    """One page: at most `limit` sessions behind `after`, which is `next` of the previous page."""

    project: str = ""
    limit: Limit = SESSIONS_SHOWN
    after: After = ""


class SessionOpen(Request, frozen=True):
    session_id: str


class StoredSessionList(Request, frozen=True):
    """The sessions in the agents' own records for the directory of this session, wherever they were begun."""

    tool: str = ""


class SessionAdopt(Request, frozen=True):
    """Go on here with one of the agents' own sessions; without `key`, the list of them. The beginning of a key names a
    session too, if it is the only one. Without `tool`, any agent of the project that has it."""

    key: str = ""
    tool: str = ""


class HandSession(Request, frozen=True):
    """Leave the session to a shell; with `back`, go on with it here."""

    action: Literal["", "back"] = ""


class Reset(Request, frozen=True):
    pass


class Cancel(Request, frozen=True):
    """One job, or everything of the session: what runs and what waits behind it. With `children`, also what the
    sessions below it do."""

    job_id: str = ""
    children: Annotated[bool, msgspec.Meta(description="Also the jobs of sessions that this one spawned.")] = False


class Why(Request, frozen=True):
    """What became of a message or a job, step by step; without a subject, of the session's latest job."""

    subject: Annotated[str, msgspec.Meta(min_length=1, description="A job's id or number, or an Idempotency-Key.")] = ""


SESSION: Final = "session"
"""Typed instead of a job: all of this session."""


class Changes(Request, frozen=True):
    """What a turn changed in the files of its project; without a job, the session's latest. With `session` as the job
    or the scope, everything since the session began."""

    job_id: Annotated[str, msgspec.Meta(description="A job's id or number, or `session`.")] = ""
    scope: Annotated[
        Literal["turn", "session"], msgspec.Meta(description="Of the turn alone, or since the session began.")
    ] = "turn"

    @property
    def asks_for_session(self) -> bool:
        return SESSION in {self.scope, self.job_id}


class Undo(Request, frozen=True):
    """Take a turn back; without a job, the session's latest that changed files. With `since`, that turn and all after
    it. `talk` is what the agent remembers of it."""

    job_id: Annotated[str, msgspec.Meta(description="A job's id or number.")] = ""
    turns: Annotated[Literal["this", "since"], msgspec.Meta(description="This turn, or all since it began.")] = "this"
    what: Annotated[
        Literal["both", "files", "talk"],
        msgspec.Meta(description="What it changed in the files, what the agent remembers of it, or both."),
    ] = "both"


class Redo(Request, frozen=True):
    """Bring back in the files what the session's latest undo took back."""


class Start(Request, frozen=True):
    """A new session in a thread of its own, which grows where this was asked. `asked_by` is the command's own id, the
    same however often it is tried. With `agent_first`, the agent is started before the thread is made."""

    asked_by: str
    project: str = ""
    tool: str = ""
    agent_first: bool = False
    worktree: Annotated[
        bool | None, msgspec.Meta(description="A worktree of its own; without it, as the project says.")
    ] = None


class Spawn(Request, frozen=True, kw_only=True):
    """A session of its own for a task. `asked_by` is the request's own id, the same however often it is tried."""

    asked_by: str
    task: Annotated[str, msgspec.Meta(min_length=1, description="What the new session shall do.")]
    project: str = ""
    agent: str = ""
    worktree: Annotated[bool, msgspec.Meta(description="A worktree of its own.")] = False


class AgentStatus(Request, frozen=True):
    pass


class AgentStop(Request, frozen=True):
    """`kill` does not ask the agent first."""

    kill: bool = False


class AgentModel(Request, frozen=True):
    """Without a model, what it is now and what it may be."""

    model: Annotated[str, msgspec.Meta(min_length=1, description="One of the `models` of /v1/agent.")] = ""


class AgentMode(Request, frozen=True):
    """What the agent may do without asking; never more than the project's permissions allow. Without a mode, what it
    is now and what it may be."""

    mode: Annotated[str, msgspec.Meta(min_length=1, description="One of the `modes` of /v1/agent.")] = ""


class AgentSlashCommand(Request, frozen=True):
    """A slash command of the agent's own, and what stands after it. `asked_by` is the request's own id."""

    asked_by: str
    name: str
    text: str = ""


class HookAdd(Request, frozen=True, kw_only=True):
    """A new hook. `session` is "own" or "here"; `form` is "github" or "signed". Without a template there is a plain
    one; `events` and `where` say which events are taken, without them all are."""

    name: str
    template: str = ""
    form: str = "github"
    events: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    project: str = ""
    tool: str = ""
    session: str = "own"


class HookList(Request, frozen=True):
    pass


class HookRemove(Request, frozen=True):
    name: str


class HookTest(Request, frozen=True):
    """`asked_by` is the request's own id: the same test runs once."""

    asked_by: str
    name: str


class BudgetShow(Request, frozen=True):
    """Without a project, all that have a budget or have spent something today."""

    project: str = ""


class BudgetChange(Request, frozen=True, kw_only=True):
    """`usd` is an amount in US dollars, such as 2.50. What is left out has no limit."""

    project: str
    usd: str = ""
    tokens: int = 0


class BudgetClear(Request, frozen=True):
    project: str


WorktreeNumber = Annotated[int, msgspec.Meta(ge=0, description="The number of a worktree in /v1/worktrees.")]


class WorktreeMake(Request, frozen=True):
    """For the session of this conversation, which begins with one if there is none yet."""

    project: str = ""


class WorktreeShow(Request, frozen=True):
    """Without a number, the one of this session."""

    number: WorktreeNumber = 0


class WorktreeList(Request, frozen=True):
    """The worktrees that the caller may see, and the discarded ones that can be brought back."""


class WorktreeRestore(Request, frozen=True):
    """A discarded worktree, for the session of this conversation."""

    number: Annotated[int, msgspec.Meta(ge=1, description="The number of a discarded worktree in /v1/worktrees.")]


class Merge(Request, frozen=True, kw_only=True):
    """Without a number, the worktree of this session. `uncommitted` says what becomes of files there that are not
    committed: the merge is refused, or they are left there as they are."""

    number: WorktreeNumber = 0
    uncommitted: UncommittedChoice = "refuse"


class Discard(Request, frozen=True, kw_only=True):
    """Without a number, the worktree of this session. Without `confirm`, only if nothing would be lost."""

    number: WorktreeNumber = 0
    confirm: Annotated[bool, msgspec.Meta(description="Also if work would be lost.")] = False


class ProjectWorktrees(Request, frozen=True, kw_only=True):
    """Whether the sessions that people begin in this project get a worktree where nobody says otherwise."""

    project: str
    worktree: bool


class AgentUsage(Request, frozen=True):
    pass


class AgentAdd(Request, frozen=True, kw_only=True):
    """Add an ACP agent, or change the one of its name. The fields are those of `ConfiguredAgent`; `projects`
    allow it from now on, besides those that allow every agent anyway."""

    name: str
    command: tuple[str, ...]
    env: tuple[str, ...] = ()
    version: str = ""
    digest: str = ""
    source: str = FROM_COMMAND
    projects: tuple[str, ...] = ()


class AgentRemove(Request, frozen=True, kw_only=True):
    name: str
    even_if_used: bool = False


class MachineAdd(Request, frozen=True):
    """A machine whose runner may join, or a new key for one that is known. The reply holds the key."""

    name: str


class MachineList(Request, frozen=True):
    pass


class MachineRemove(Request, frozen=True):
    """Refused while jobs are active there."""

    name: str


class MachineRename(Request, frozen=True):
    """Its projects and agents get the new name too. Refused while a turn runs there."""

    name: str
    new_name: str


class MachineForget(Request, frozen=True):
    """The machine never comes back: what runs or waits there is given up."""

    name: str


class AgentCheck(Request, frozen=True):
    """Let every agent's program say which version it is, and whether it is logged in."""


class AgentList(Request, frozen=True):
    """The configured agents, as the journal has them: config.json may be in the middle of an edit."""


class SteerTurn(Request, frozen=True, kw_only=True):
    """A text for the turn that runs; without one, a message that waits: the one of `job_id`, or the newest. `asked_by`
    is the request's own id."""

    asked_by: str
    text: str = ""
    job_id: str = ""


class Fork(Request, frozen=True, kw_only=True):
    """Another session that begins with all that was said in this one; with a job, up to the end of that job. `asked_by`
    is the request's own id, the same however often it is tried."""

    asked_by: str
    job_id: str = ""
    worktree: Annotated[
        bool | None, msgspec.Meta(description="A worktree of its own; without it, as the session that is forked.")
    ] = None


class SessionSwitch(Request, frozen=True):
    """Go on here with another session of this conversation: one that was forked in it, or, without an id, its own."""

    session_id: str = ""
