"""The interfaces between the flow and everything around it. Driven ports are what the flow calls (Journal, Runtime,
Channel, Blobs, Directories, Clock); driving ports are what channels call (Gate, View). Nothing is implemented here.
Those of agents stand in `runtime_ports.py`, those of channels in `channel_ports.py`; all are imported from here."""

from collections.abc import AsyncIterator, Container, Sequence
from typing import Final, Protocol

import msgspec

from fairlead.channel_ports import (
    AttachmentFetcher,
    Channel,
    ChannelAway,
    ChannelCapabilities,
    DeliveryForbidden,
    DeliveryImpossible,
    DeliveryLater,
    Mentions,
    MessageRechecker,
    OutcomeUnknown,
    OutgoingMessage,
)
from fairlead.core.agent_views import AgentsView
from fairlead.core.command_spec import Choice, ChoiceSource
from fairlead.core.console_views import Board, MessagePage, OutcomeName, SessionLine, SessionPage, TextPage, TurnUndo
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.projects import DirectoryFacts
from fairlead.core.engine import InputFile, LimitWindow
from fairlead.core.events import JournalEvent, TitledBy
from fairlead.core.hook_deliveries import Delivery
from fairlead.core.ids import BlobName, JobId, SessionKeyText
from fairlead.core.inbound import Attachment, Inbound
from fairlead.core.job_states import Held
from fairlead.core.keys import SessionKey
from fairlead.core.live import LiveEvent
from fairlead.core.message_outcomes import MessageOutcome
from fairlead.core.questions import RespondToQuestion
from fairlead.core.replies import MachineRow, Reply
from fairlead.core.requests import Caller, Request
from fairlead.core.spending import Spending
from fairlead.core.state import State
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
from fairlead.core.worktrees import KeptWork, MadeWorktree, MergeResult, Worktree, WorktreeWork
from fairlead.errors import Code, FairleadError, error
from fairlead.runtime_ports import (
    NO_RECORDS,
    AgentInfo,
    AgentPreparation,
    AgentState,
    JobLog,
    JobLogs,
    Runtime,
    RuntimeCapabilities,
    RuntimeHealth,
    SessionRecords,
    ToolHandler,
    ToolReply,
)

__all__ = [
    "NAMING_FIELDS",
    "NO_FILES",
    "NO_RECORDS",
    "NO_WORKTREES",
    "AgentInfo",
    "AgentPreparation",
    "AgentState",
    "AttachmentFetcher",
    "Blobs",
    "Channel",
    "ChannelAway",
    "ChannelCapabilities",
    "Clock",
    "DeliveryForbidden",
    "DeliveryImpossible",
    "DeliveryLater",
    "Directories",
    "Durability",
    "Gate",
    "History",
    "HookReceipt",
    "HookSecrets",
    "JobLog",
    "JobLogs",
    "Journal",
    "Log",
    "Mentions",
    "MergeConflict",
    "MessageRechecker",
    "OutcomeUnknown",
    "OutgoingMessage",
    "ProjectFile",
    "ProjectFiles",
    "Receipt",
    "Recorded",
    "Runtime",
    "RuntimeCapabilities",
    "RuntimeHealth",
    "SessionInboxes",
    "SessionRecords",
    "Snapshots",
    "TakenBranch",
    "ToolHandler",
    "ToolReply",
    "View",
    "Watching",
    "Worktrees",
]

# --- driven: time, files, the journal ------------------------------------------------------------------------------


class Clock(Protocol):
    """Wall time for facts; timers use the event loop's own, monotonic time."""

    def now(self) -> str: ...


class Directories(Protocol):
    def inspect(self, path: str) -> DirectoryFacts:
        """The directory at `path`, absolute and with links resolved, or why there is none."""
        ...

    async def look(self, path: str) -> DirectoryFacts:
        """The same, also for a path on another machine, which is asked. Raises E_MACHINE_AWAY, E_MACHINE_NOT_FOUND."""
        ...

    def problem_at(self, real_path: str) -> str:
        """Why no agent can run in this directory, which was resolved before; empty if one can. Every turn asks, so the
        good case is quick."""
        ...

    def subdirectories(self, path: str) -> list[str]: ...

    async def files_below(self, path: str, typed: str) -> list[str]:
        """Paths below this directory that begin with what is typed, and lead nowhere else; also on another machine,
        which is asked. Raises E_MACHINE_AWAY, E_MACHINE_NOT_FOUND."""
        ...

    def real_path(self, path: str) -> str:
        """Absolute, with links and `..` resolved as far as there is something; also for what is not there yet."""
        ...


class Blobs(Protocol):
    """Bytes that outlive the process. A name is given out only when the bytes are durable."""

    async def put(self, data: bytes) -> BlobName: ...

    async def get(self, name: BlobName) -> bytes: ...


class ProjectFile(msgspec.Struct, frozen=True):
    """A file of a project: its name without directories, and its bytes."""

    name: str
    data: bytes


class ProjectFiles(Protocol):
    """Files that lie in a project, and none that a path or a link only leads to from there."""

    async def read(self, project_path: str, path: str, largest: int) -> ProjectFile:
        """Raises E_INVALID_PATH for whatever is no regular file below the project, and E_MESSAGE_TOO_LARGE."""
        ...


class _NoFiles:
    async def read(self, project_path: str, path: str, largest: int) -> ProjectFile:  # noqa: ARG002 - the port's names
        raise error(Code.E_INVALID_PATH, "There are no files here.")


NO_FILES: Final = _NoFiles()


class TakenBranch(Exception):  # noqa: N818 - says what happened
    """Somebody has a branch of the worktree's name; `branches` are those that another name must not be."""

    def __init__(self, branches: frozenset[str]) -> None:
        super().__init__("the branch is taken")
        self.branches = branches


class MergeConflict(Exception):  # noqa: N818 - says what happened
    """Commits of both sides changed the same places in `files`. Nothing was changed."""

    def __init__(self, target: str, files: tuple[str, ...]) -> None:
        super().__init__(f"{len(files)} files conflict with {target}")
        self.target = target
        self.files = files


class Worktrees(Protocol):
    """Git's part in the worktrees of sessions. Everything that changes something can be repeated after a crash in the
    middle of it: it finishes what was begun. All but `problem_at` raise E_WORKTREE_UNAVAILABLE where git cannot."""

    async def taken_branches(self, project_path: str) -> frozenset[str]:
        """The branches of the project's repository that a worktree's branch must not be."""
        ...

    async def make(self, worktree: Worktree) -> MadeWorktree:
        """Raises TakenBranch."""
        ...

    async def look(self, worktree: Worktree) -> WorktreeWork: ...

    async def merge(self, worktree: Worktree) -> MergeResult:
        """Raises E_WORKTREE_GONE, E_UNCOMMITTED_WORK, E_MERGE_BLOCKED, MergeConflict: then nothing was changed."""
        ...

    async def discard(self, worktree: Worktree) -> KeptWork | None:
        """Keeps what was there under a ref; None where there was nothing."""
        ...

    async def forget_kept(self, project_path: str, needed: Container[str]) -> None:
        """Remove the refs of discarded worktrees that nothing needs any more."""
        ...

    def problem_at(self, worktree: Worktree) -> str:
        """Why no agent can work in this worktree; empty if one can. Every turn asks, so it is quick."""
        ...


class _NoWorktrees:
    async def taken_branches(self, project_path: str) -> frozenset[str]:
        raise _no_git(project_path)

    async def make(self, worktree: Worktree) -> MadeWorktree:
        raise _no_git(worktree.repository)

    async def look(self, worktree: Worktree) -> WorktreeWork:
        raise _no_git(worktree.repository)

    async def merge(self, worktree: Worktree) -> MergeResult:
        raise _no_git(worktree.repository)

    async def discard(self, worktree: Worktree) -> KeptWork | None:
        raise _no_git(worktree.repository)

    async def forget_kept(self, project_path: str, needed: Container[str]) -> None:
        del project_path, needed

    def problem_at(self, worktree: Worktree) -> str:
        return f"There is no git here that knows {worktree.path}."


def _no_git(path: str) -> FairleadError:
    return error(Code.E_WORKTREE_UNAVAILABLE, f"There is no git here that knows {path}.")


NO_WORKTREES: Final = _NoWorktrees()


class SessionInboxes(Protocol):
    """A directory for each session, with the files that people sent: its agent may be let into this one, and into no
    other session's."""

    async def lay_out(
        self, session_key: SessionKeyText, job_id: JobId, attachments: Sequence[Attachment]
    ) -> tuple[InputFile, ...]:
        """The files in the session's directory, each a copy of its own under a safe name with its extension. Raises
        E_ATTACHMENT_GONE for a file that is no longer kept."""
        ...


class HookSecrets(Protocol):
    """The secrets by which events of hooks are signed, each by the name of its hook. No journal has them."""

    async def make(self, name: str) -> str:
        """A new secret, durable when this returns. Raises OSError."""
        ...

    async def read(self, name: str) -> str:
        """Empty if there is none."""
        ...

    async def forget(self, name: str) -> None: ...

    def forget_all_but(self, names: Container[str]) -> None:
        """At a start: the secrets of other hooks are of no use any more."""
        ...


class Recorded(msgspec.Struct, frozen=True):
    """One line of the journal, read back."""

    seq: int
    ts: str
    event: JournalEvent


class TextLine(msgspec.Struct, frozen=True):
    """A line with a text in it, and where it begins."""

    place: int
    recorded: Recorded


class TextStretch(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in a stretch of the journal, newest first. `before` is where the stretch begins, 0 for the first
    byte; `since` is the time of its first line."""

    lines: tuple[TextLine, ...]
    before: int
    since: str


NAMING_FIELDS: Final = ("message_id", "job_id", "retry_of", "entry_id", "question_id")
"""The fields of a journal event that say what it is about: `History` finds a line by these alone."""


class Durability(Protocol):
    """How far the journal is on disk."""

    @property
    def durable_seq(self) -> int: ...

    @property
    def is_stalled(self) -> bool:
        """True while the disk takes no more bytes. Appended lines wait in memory and are not lost."""
        ...

    @property
    def damage(self) -> str:
        """The first damaged line that the check in the background found; empty while none was."""
        ...

    @property
    def checked_bytes(self) -> int:
        """How far the check in the background is."""
        ...

    async def until_durable(self, seq: int) -> None:
        """Returns when everything up to `seq` is on disk; raises E_JOURNAL_BROKEN if it never can be."""
        ...


class Log(Durability, Protocol):
    """Facts in order. `append` numbers nothing and waits for nothing: the ledger brings the numbers."""

    def append(self, ts: str, first_seq: int, events: Sequence[JournalEvent]) -> None: ...

    def delay_sync(self, steps: int, *, is_begun: bool = False) -> None:
        """What was appended becomes durable so many steps of the event loop later, and what these steps append becomes
        durable with it. With `is_begun` the disk works meanwhile, which takes a moment before the first of them. 0 ends
        a delay."""
        ...


class History(Protocol):
    """Reads back facts that the state has forgotten."""

    async def lines_about(self, names: Sequence[str]) -> list[Recorded]:
        """Every line that holds one of `names` in a naming field, oldest first, up to the last that was appended when
        this was called. The cost does not grow with the journal."""
        ...

    async def texts_before(self, place: int | None, words: Sequence[str], most_bytes: int) -> TextStretch:
        """The prompts and answers in the stretch before this place, or before the end, that have all of these words, in
        lower case; and those whose text is in a blob, whatever it says. Reads no more than `most_bytes`."""
        ...

    async def keep_index(self) -> None:
        """For ever: keep the index of `lines_about` up to date with the journal. Without it, `lines_about` is slow."""
        ...


class Snapshots(Protocol):
    """The state at a durable moment, so that a start reads only the journal's tail."""

    async def until_appended(self, seq: int) -> None:
        """Returns when line `seq` has been appended, durable or not."""
        ...

    async def snapshot(self, state: State) -> None:
        """Write the state as it is now, once everything in it is durable. Raises OSError."""
        ...


class Journal(Log, History, Snapshots, Protocol):
    """The one store of facts, as the daemon holds it."""

    async def keep_checking(self) -> None:
        """For ever: read again, slowly, the lines that no start reads, and say if one is damaged."""
        ...

    async def aclose(self) -> None:
        """Everything appended is durable when this returns, unless the disk is full."""
        ...


# --- driving -------------------------------------------------------------------------------------------------------


class HookReceipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """The event is a job, and durable; or it is none, for a `reason` that the owner gave with the hook."""

    job_id: JobId = JobId("")
    duplicate: bool = False
    reason: str = ""


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """The message is written. `position` counts the jobs before it, `held` says why none of them starts; a duplicate
    names the job it already is."""

    job_id: JobId
    session_key: SessionKeyText = SessionKeyText("")
    position: int = 0
    duplicate: bool = False
    held: Held = ""


class Gate(Protocol):
    """The way in. Every message, command and response passes here, and only those of allowed people pass."""

    def allows(self, person: str, *, pre_authorised: bool = False) -> bool: ...

    async def submit(self, inbound: Inbound) -> Receipt:
        """Returns when the message is durable; raises the FairleadError that refused it."""
        ...

    async def skip(self, inbound: Inbound, reason: str) -> None: ...

    async def amend(self, conversation: ConversationRef, message_id: str, text: str) -> bool:
        """`text` is the person's own words, without what they quote. Raises the FairleadError that refused it."""
        ...

    async def withdraw(self, conversation: ConversationRef, message_id: str) -> bool: ...

    async def command(self, request: Request, caller: Caller) -> Reply: ...

    async def take_event(self, delivery: Delivery) -> HookReceipt:
        """An event for a hook, as it came, from anybody. Returns when its job is durable. Raises E_UNAUTHORIZED
        for a hook that is not there and for a wrong signature alike, and the FairleadError that refused it."""
        ...

    async def respond(self, response: RespondToQuestion) -> str:
        """The id of the job that goes on, or that the response began."""
        ...

    async def report_agent_request(self, job_id: str, request: str, program: str) -> None:
        """A process that was started for the agent of this job asked something as if it were a person, and was refused.
        The fact is written, and the job's answer says so."""
        ...

    async def acknowledge(self, job_id: str) -> None: ...

    async def acknowledge_message(self, sent_id: str) -> None:
        """A client has what an agent sent by itself."""
        ...

    async def remind(self, question_id: str, conversation: ConversationRef, link: str) -> None:
        """The owner is owed a reminder of this question in this conversation: once, while it can be answered."""
        ...

    async def title_session(self, session_key: str, title: str, by: TitledBy) -> None:
        """People see the session called so. A person's title stands."""
        ...

    async def see_person(self, person: str, locale: str) -> None: ...

    def came_back(self, channel: str) -> None:
        """A channel that was away is there again, or a right that was missing may be back: its outbox entries are sent
        now, not at the next try."""
        ...


class Watching(Protocol):
    """Events to iterate over; a watcher that stops earlier than the daemon must close it, or it goes on collecting."""

    def __aiter__(self) -> AsyncIterator[LiveEvent]: ...

    def take_waiting(self) -> list[LiveEvent]:
        """What the watcher was told and has not read yet, without waiting for more."""
        ...

    async def aclose(self) -> None: ...


class View(Protocol):
    """The way to look: read models, made when they are asked for. Changes nothing, and hands out nothing that changes
    by itself. What "recent" means is core/retention's business: live jobs, and those that ended lately."""

    @property
    def state_id(self) -> str:
        """Which state directory this is: a button or a nonce of another one is ignored."""
        ...

    @property
    def founding_time(self) -> str:
        """When this state directory began: whatever people said before was not said to it."""
        ...

    @property
    def seq(self) -> int:
        """The number of the last journal event that was decided; it may not be on disk yet."""
        ...

    async def files_below(self, directory: str, typed: str) -> list[str]:
        """Paths below the directory of a project that begin with what is typed; a directory's ends with a slash. Raises
        E_PROJECT_NOT_FOUND if no project lies there, E_MACHINE_AWAY if its machine cannot be asked."""
        ...

    # --- jobs

    async def job(self, job_id: str) -> JobView:
        """With its prompt and its answer, also when only the journal remembers it. Raises E_JOB_NOT_FOUND."""
        ...

    def recent_job(self, job_id: str) -> JobView | None:
        """A job without its texts, as long as the state has it."""
        ...

    def history(self, session_key: str) -> list[JobView]:
        """The session's recent jobs, oldest first, without their texts."""
        ...

    def queued_jobs(self, conversation: ConversationRef) -> list[JobView]: ...

    def takes_texts(self, session_key: str) -> bool:
        """Whether a turn runs there whose agent takes further texts."""
        ...

    def has_room(self, conversation: ConversationRef, session_key: SessionKey) -> bool:
        """Whether the queue of the session that is talked to here takes one more message."""
        ...

    def unsettled_jobs(self, channel: str) -> list[JobView]:
        """Jobs of this channel that are live, or whose end the person has not been told yet."""
        ...

    def jobs_ended_last(self, channel: str, *, within_sec: float, at_least: int = 0) -> list[JobView]:
        """Jobs of this channel that ended at most so long before the latest end of all, in the order of their ends; so
        many of the last ones in any case, since a clock may have jumped between two ends. An interruption by a crash is
        not counted as an end: it is noted when the daemon starts again."""
        ...

    def refused_lately(self, channel: str, *, most: int) -> list[RefusedMessage]:
        """The refused messages of this channel with the highest numbers, oldest first."""
        ...

    def answer_owed_to(self, job_id: str) -> ConversationRef | None:
        """Who asked for the answer that is still owed; None if nothing is."""
        ...

    def unfetched_jobs(self, conversation: ConversationRef) -> list[str]:
        """Jobs whose answers wait here to be fetched."""
        ...

    def unfetched_messages(self, conversation: ConversationRef) -> list[SentView]:
        """What agents sent by themselves and that waits here to be fetched, oldest first."""
        ...

    def unfetched_message(self, sent_id: str) -> SentView | None:
        """One of those, by its id; None if it was fetched."""
        ...

    # --- questions

    def question(self, question_id: str) -> QuestionView | None: ...

    def open_questions(self, *, session_key: str | None = None, job_id: str | None = None) -> list[QuestionView]:
        """Those that still take responses; without an argument, all of them."""
        ...

    # --- sessions, conversations, projects, people

    def session(self, session_key: str) -> SessionView | None: ...

    def conversation(self, conversation: ConversationRef) -> ConversationView | None:
        """None where no session is bound."""
        ...

    def bound_conversations(self, channel: str) -> list[ConversationView]: ...

    def message_outcome(self, conversation: ConversationRef, message_id: str) -> MessageOutcome | None:
        """None for a message that was never seen."""
        ...

    def last_message_seen(self, conversation: ConversationRef) -> int | None:
        """The highest number of a message here that left a fact; None if there is none."""
        ...

    def projects(self) -> list[ProjectView]:
        """By number."""
        ...

    @property
    def has_hooks(self) -> bool:
        """Whether there is a hook at all."""
        ...

    def choices(self, source: ChoiceSource, typed: str, caller: Caller) -> list[Choice]: ...

    def language_of(self, person: str) -> str: ...

    def locale_of(self, person: str) -> str:
        """As an interaction of this person last said it; empty if none did."""
        ...

    # --- all of it

    def watch(self, *, session_key: str | None = None, job_id: str | None = None) -> Watching:
        """What happens from now on: subscribed when this returns, before anything is awaited."""
        ...

    def told_so_far(self) -> list[LiveEvent]:
        """What a watch that begins now has missed: of every job that lives, its last move, then its open questions.
        The state itself may be ahead of this, by facts that are not durable yet and that no watch has told."""
        ...

    def counts(self) -> Counts: ...

    # --- for the console: what one caller may see

    def sees(self, caller: Caller, session_key: str) -> bool:
        """Whether this caller may see what happens in the session."""
        ...

    def board(self, caller: Caller) -> Board:
        """What needs somebody and what goes on. Costs as much as there is at work."""
        ...

    def find_sessions(self, caller: Caller, words: str = "", *, after: str = "", limit: int = 50) -> SessionPage:
        """One page of the sessions that fit the words, most recently active first."""
        ...

    def session_named(self, name: str) -> SessionView | None:
        """By its key, or by the id that people see."""
        ...

    def session_line(self, session_key: str) -> SessionLine:
        """A session that is there, as a line of the list."""
        ...

    def session_children(self, session_key: str) -> list[SessionLine]:
        """The sessions that this one started and that have something to do."""
        ...

    def session_jobs(self, session_key: str) -> list[JobView]:
        """As `history`. Costs as much as the session has, not as the state."""
        ...

    async def find_texts(self, caller: Caller, words: str, *, before: int | None = None) -> TextPage:
        """A page of the prompts and answers with all of the words, newest first. Costs the same on every journal."""
        ...

    def turn_undo(self, job_id: str) -> TurnUndo:
        """What can be done about the files that this turn changed."""
        ...

    def messages_with(self, caller: Caller, outcome: OutcomeName) -> MessagePage:
        """The latest messages that this became of."""
        ...

    def spending(self) -> Spending:
        """What was spent lately, by day, project and agent: of everybody."""
        ...

    def agents(self) -> AgentsView:
        """The agents that turns can be run with, and what their programs said when they were last checked."""
        ...

    def limit_windows(self) -> dict[str, tuple[LimitWindow, ...]]:
        """What each agent last said about the limits of its account, since this process began."""
        ...

    def machines(self) -> tuple[MachineRow, ...]:
        """The other machines, with whether they are there."""
        ...

    def latencies(self) -> list[LatencyView]:
        """Since this process began."""
        ...
