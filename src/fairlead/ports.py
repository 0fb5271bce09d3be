"""The interfaces between the flow and everything around it. Driven ports are what the flow calls (Journal, Runtime,
Channel, Blobs, Directories, Clock); driving ports are what channels call (Gate, View). Nothing is implemented here."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, Literal, Protocol, TypeAlias

import msgspec

from fairlead.core.command_spec import Choice, ChoiceSource
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.projects import DirectoryFacts
from fairlead.core.engine import AgentInitiated, AgentInstruction, EngineEvent, Invocation
from fairlead.core.events import FileRef, JournalEvent
from fairlead.core.ids import BlobName, EntryId, JobId, SessionKeyText
from fairlead.core.inbound import Attachment, Inbound
from fairlead.core.live import LiveEvent
from fairlead.core.message_outcomes import MessageOutcome
from fairlead.core.questions import RespondToQuestion
from fairlead.core.replies import Reply
from fairlead.core.requests import Caller, Request
from fairlead.core.state import State
from fairlead.core.views import (
    ConversationView,
    Counts,
    JobView,
    ProjectView,
    QuestionView,
    SessionView,
)
from fairlead.errors import Code

# --- driven: time, files, the journal ------------------------------------------------------------------------------


class Clock(Protocol):
    """Wall time for facts; timers use the event loop's own, monotonic time."""

    def now(self) -> str: ...


class Directories(Protocol):
    def inspect(self, path: str) -> DirectoryFacts:
        """The directory at `path`, absolute and with links resolved, or why there is none."""
        ...

    def problem_at(self, real_path: str) -> str:
        """Why no agent can run in this directory, which was resolved before; empty if one can. Every turn asks, so the
        good case is quick."""
        ...

    def subdirectories(self, path: str) -> list[str]: ...


class Blobs(Protocol):
    """Bytes that outlive the process. A name is given out only when the bytes are durable."""

    async def put(self, data: bytes) -> BlobName: ...

    async def get(self, name: BlobName) -> bytes: ...

    def path_of(self, name: BlobName) -> str: ...


class Recorded(msgspec.Struct, frozen=True):
    """One line of the journal, read back."""

    seq: int
    ts: str
    event: JournalEvent


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

    async def until_durable(self, seq: int) -> None:
        """Returns when everything up to `seq` is on disk; raises E_JOURNAL_BROKEN if it never can be."""
        ...


class Log(Durability, Protocol):
    """Facts in order. `append` numbers nothing and waits for nothing: the ledger brings the numbers."""

    def append(self, ts: str, first_seq: int, events: Sequence[JournalEvent]) -> None: ...


class History(Protocol):
    """Reads back facts that the state has forgotten."""

    async def lines_about(self, names: Sequence[str]) -> list[Recorded]:
        """Every line that holds one of `names` in a naming field, oldest first, up to the last that was appended when
        this was called. The cost does not grow with the journal."""
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

    async def aclose(self) -> None:
        """Everything appended is durable when this returns, unless the disk is full."""
        ...


# --- driven: agents ------------------------------------------------------------------------------------------------


class RuntimeCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a runtime can do beyond running a turn. Everything defaults to no."""

    permissions: bool = False
    questions: bool = False
    interrupt: bool = False
    images: bool = False
    models: bool = False
    modes: bool = False
    unasked: bool = False
    second_attempt: bool = False
    bounded_turns: bool = True
    gets_ready: bool = False
    """A turn's stream begins with Ready, and until then the runtime changes nothing that anybody could see: so the turn
    may ask for Ready while its start is still being written to disk."""


class JobLog(Protocol):
    """Takes the raw output of an agent as it comes; the log itself redacts secrets and keeps to its size limit."""

    def write(self, stream: Literal["stdout", "stderr"], data: bytes) -> None: ...

    def close(self) -> None: ...


JobLogs: TypeAlias = Callable[[str], JobLog]
"""The log of a job, by its id."""


AgentState = Literal["Created", "Active", "Prompting", "Closed"]


class AgentInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The process behind a session, as its runtime describes it."""

    state: AgentState = "Closed"
    model: str = ""
    models: tuple[str, ...] = ()
    mode: str = ""
    modes: tuple[str, ...] = ()
    context_used: int = 0
    context_size: int = 0


class RuntimeHealth(msgspec.Struct, frozen=True, kw_only=True):
    """A runtime's self-check, made without a request to any model."""

    ok: bool
    program: str = ""
    version: str = ""
    notes: tuple[str, ...] = ()


class Runtime(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> RuntimeCapabilities: ...

    def invoke(self, invocation: Invocation) -> AsyncIterator[EngineEvent]:
        """One turn: a stream that ends with exactly one TurnEnded or TurnFailed. Closing it early ends the turn, and
        returns only when nothing of it is left running."""
        ...

    async def instruct(self, session_key: str, instruction: AgentInstruction) -> None:
        """Pass a response, an interruption or a setting to the agent of this session; ignored when no agent runs,
        except for a mode, which the session's next agent gets too. Raises E_MODE_UNAVAILABLE."""
        ...

    def watch_agent_turns(self) -> AsyncIterator[AgentInitiated]:
        """The events of turns that agents begin by themselves, for ever; ends at once where agents never do that."""
        ...

    def describe(self, session_key: str) -> AgentInfo: ...

    async def end_session(self, session_key: str, how: Literal["stop", "kill"]) -> None: ...

    async def check(self) -> RuntimeHealth: ...

    async def aclose(self) -> None:
        """End every process; nothing is left behind."""
        ...


# --- driven: channels ----------------------------------------------------------------------------------------------


class ChannelCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a channel can do. A limit of 0 is none; without `push` the client fetches for itself. `busy_code` is what a
    person is told while the channel takes nothing more."""

    text_limit: int = 0
    max_pieces: int = 0
    max_files: int = 0
    edits: bool = False
    files: bool = False
    threads: bool = False
    push: bool = False
    tables: bool = True
    busy_code: Code = Code.E_UNDELIVERABLE


class OutgoingMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One piece on its way out. The same `nonce` on every attempt makes a second arrival recognisable.

    With a `thread_name` the piece is a thread, to be made from the message `thread_from`, whose id it bears. A thread
    that is there already counts as made; if it can never be made, the channel removes its opening message too."""

    entry_id: EntryId
    index: int
    nonce: str
    destination: ConversationRef
    text: str
    job_id: JobId = JobId("")
    session_key: SessionKeyText = SessionKeyText("")
    language: str = "en"
    files: tuple[FileRef, ...] = ()
    question: QuestionView | None = None
    after_message_id: str = ""
    reply_to: str = ""
    thread_name: str = ""
    thread_from: str = ""


class ChannelAway(Exception):  # noqa: N818 - a condition of the world, not a mistake
    """The whole channel is out of reach: its outbox entries wait, and no attempt counts."""


class OutcomeUnknown(Exception):  # noqa: N818 - see above
    """The piece may or may not have arrived: the outbox looks for it before it sends it again."""


class DeliveryLater(Exception):  # noqa: N818 - see above
    """The piece did not arrive; trying again may help. With `must_wait` the channel itself asked for `wait_sec`, as a
    rate limit does: nothing makes that shorter, not even a channel that comes back meanwhile."""

    def __init__(self, code: Code, wait_sec: float = 0.0, *, must_wait: bool = False) -> None:
        super().__init__(code)
        self.code = code
        self.wait_sec = wait_sec
        self.must_wait = must_wait


class DeliveryImpossible(Exception):  # noqa: N818 - see above
    """This conversation will never take the piece."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason


class AttachmentFetcher(Protocol):
    """Fetches the files of a message, once, before its job begins."""

    async def fetch(self, job: JobView) -> tuple[Attachment, ...]:
        """The job's attachments as blobs. Raises E_ATTACHMENT_GONE for a file that is gone."""
        ...


class MessageRechecker(Protocol):
    """Looks once more at the message of a job that waited while nobody listened."""

    async def recheck(self, job: JobView) -> None:
        """Tells the gate if the message was edited or deleted; returns when that is written or cannot be known."""
        ...


class Channel(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> ChannelCapabilities: ...

    async def send(self, outgoing: OutgoingMessage) -> str:
        """The id of the message that was made. Raises one of the four conditions above."""
        ...

    async def find(self, outgoing: OutgoingMessage) -> str | None:
        """The id of the message that an earlier attempt at this piece made; None if no attempt arrived."""
        ...


# --- driving -------------------------------------------------------------------------------------------------------


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """The message is written. `position` counts the jobs before it; a duplicate names the job it already is."""

    job_id: JobId
    session_key: SessionKeyText = SessionKeyText("")
    position: int = 0
    duplicate: bool = False


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

    async def respond(self, response: RespondToQuestion) -> str:
        """The id of the job that goes on, or that the response began."""
        ...

    async def acknowledge(self, job_id: str) -> None: ...

    async def see_person(self, person: str, locale: str) -> None: ...

    def came_back(self, channel: str) -> None:
        """A channel that was away is there again: its outbox entries are sent now, not at the next try."""
        ...


class Watching(Protocol):
    """Events to iterate over; a watcher that stops earlier than the daemon must close it, or it goes on collecting."""

    def __aiter__(self) -> AsyncIterator[LiveEvent]: ...

    async def aclose(self) -> None: ...


class View(Protocol):
    """The way to look: read models, made when they are asked for. Changes nothing, and hands out nothing that changes
    by itself. What "recent" means is core/retention's business: live jobs, and those that ended lately."""

    @property
    def state_id(self) -> str:
        """Which state directory this is: a button or a nonce of another one is ignored."""
        ...

    @property
    def seq(self) -> int:
        """The number of the last journal event that was decided; it may not be on disk yet."""
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

    def unsettled_jobs(self, channel: str) -> list[JobView]:
        """Jobs of this channel that are live, or whose end the person has not been told yet."""
        ...

    def jobs_ended_last(self, channel: str, *, within_sec: float) -> list[JobView]:
        """Jobs of this channel that ended at most so long before the latest end of all. An interruption by a crash is
        not counted as an end: it is noted when the daemon starts again."""
        ...

    def answer_owed_to(self, job_id: str) -> ConversationRef | None:
        """Who asked for the answer that is still owed; None if nothing is."""
        ...

    def unfetched_jobs(self, conversation: ConversationRef) -> list[str]:
        """Jobs whose answers wait here to be fetched."""
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

    def choices(self, source: ChoiceSource, typed: str, caller: Caller) -> list[Choice]: ...

    def language_of(self, person: str) -> str: ...

    def locale_of(self, person: str) -> str:
        """As an interaction of this person last said it; empty if none did."""
        ...

    # --- all of it

    def watch(self, *, session_key: str | None = None, job_id: str | None = None) -> Watching:
        """What happens from now on: subscribed when this returns, before anything is awaited."""
        ...

    def counts(self) -> Counts: ...
