"""What crosses the wire between the HTTP server and its clients, as structs. Knows neither side.

Names are in snake_case like everywhere in Fairlead. `userId` alone is written as its users know it; the server takes
`user_id` as well, wherever it takes that.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from fairlead.core.command_spec import Choice
from fairlead.core.engine import Verdict
from fairlead.core.events import SteeringReason
from fairlead.core.job_states import Held, JobState
from fairlead.core.pages import MAX_PAGE, After, Limit
from fairlead.core.questions import QuestionFields
from fairlead.core.replies import SessionRow
from fairlead.core.rules import RuleOffer
from fairlead.core.views import JobFields, QuestionStatus, QuestionView

CHANNEL_HEADER: Final = "Fairlead-Channel"
ACK_HEADER: Final = "Fairlead-Ack"
MANUAL: Final = "manual"
KEY_HEADER: Final = "Idempotency-Key"
USER: Final = "userId"
USER_ALIAS: Final = "user_id"
DEFAULT_ANSWERS: Final = 20

UserId = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=128,
        description="Your id for the person: 1 to 128 visible characters, no ':', not all digits unless linked. "
        "`user_id` is accepted too.",
        examples=["alice"],
    ),
]


class _Asked(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A misspelt field is a mistake that its sender wants to hear of."""


# --- asked ---------------------------------------------------------------------------------------------------------


MAX_FILES_BYTES: Final = 20 * 1024 * 1024


class NewFile(_Asked, frozen=True):
    """A file that goes with a message: a picture is shown to the agent, any other file is laid down for it."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=255, examples=["screen.png"])]
    data: Annotated[bytes, msgspec.Meta(description="The bytes, in base64.")]
    media_type: Annotated[
        str, msgspec.Meta(max_length=255, description="Such as `image/png`; else the name's ending says it.")
    ] = ""


class NewMessage(_Asked, frozen=True):
    userId: UserId  # noqa: N815 - the name that C5 gives it
    message: Annotated[str, msgspec.Meta(description="The message for the agent.")]
    project: str | None = None
    tool: str | None = None
    stream: bool = False
    steer: Annotated[
        bool | None,
        msgspec.Meta(
            description="Give the text to the turn that runs (true), or not (false), whatever the text begins with."
            " Without it, a text that begins with `!` is for the turn that runs."
        ),
    ] = None
    files: Annotated[
        tuple[NewFile, ...], msgspec.Meta(description="At most 10, and 20 MiB together, before base64.")
    ] = ()


class OfUser(_Asked, frozen=True):
    userId: UserId  # noqa: N815


class AnswersQuery(OfUser, frozen=True):
    """One page: the answers to at most `limit` jobs, in the order of the jobs, behind the job `after`."""

    limit: Limit = DEFAULT_ANSWERS
    after: After = ""


class HistoryQuery(_Asked, frozen=True):
    """One page: at most `limit` jobs, behind the job `after` in the order that is asked for."""

    limit: Limit = MAX_PAGE
    after: After = ""
    order: Annotated[Literal["oldest_first", "newest_first"], msgspec.Meta(description="The order of the jobs.")] = (
        "oldest_first"
    )


class OfAnyUser(_Asked, frozen=True):
    userId: UserId | None = None  # noqa: N815


class MessageQuery(_Asked, frozen=True):
    """`wait=0` answers 202 as soon as the message is written; so does `Prefer: respond-async`."""

    wait: Literal[0, 1] = 1


class ChoicesQuery(_Asked, frozen=True):
    command: Annotated[str, msgspec.Meta(description="The words of a command.", examples=["project status"])]
    argument: Annotated[str, msgspec.Meta(description="The name of one of its arguments.", examples=["project"])]
    typed: Annotated[str, msgspec.Meta(description="The text typed so far.")] = ""
    userId: UserId | None = None  # noqa: N815


class FilesQuery(_Asked, frozen=True):
    directory: Annotated[str, msgspec.Meta(description="The path of a project.", examples=["gpu:/home/me/trainer"])]
    typed: Annotated[str, msgspec.Meta(description="The part of a path below it that was typed so far.")] = ""
    userId: UserId | None = None  # noqa: N815


class QuestionAnswer(_Asked, frozen=True):
    verdict: Verdict
    chosen: Annotated[dict[str, str], msgspec.Meta(description="For each question's text, the chosen answer.")] = {}
    message: Annotated[
        str, msgspec.Meta(description="Your own answer in words. With `deny`: the reason, which the agent can read.")
    ] = ""
    for_session: bool = False
    always: Annotated[
        int,
        msgspec.Meta(
            ge=0, description="With `allow`: make the offer with this number in `offers` (from 1) a standing rule."
        ),
    ] = 0
    userId: UserId | None = None  # noqa: N815


# --- answered ------------------------------------------------------------------------------------------------------


class Fault(msgspec.Struct, frozen=True):
    code: str
    message: str
    next: str


class FileInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file of an answer, to be fetched at `url`."""

    name: str
    url: str
    media_type: str = ""


class JobInfo(JobFields, frozen=True, kw_only=True):
    error: Fault | None = None
    files: tuple[FileInfo, ...] = ()


class FaultBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """Every refusal has this shape. `job` is there when a job was made and failed."""

    error: Fault
    job: JobInfo | None = None


class JobList(msgspec.Struct, frozen=True, omit_defaults=True):
    """With `next`, more jobs follow: it is what `after` of the next request must be."""

    jobs: tuple[JobInfo, ...]
    next: str = ""


class AnswerPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """With `next`, more answers wait: it is what `after` of the next request must be."""

    jobs: tuple[JobInfo, ...]
    next: str = ""


class SessionInfo(msgspec.Struct, frozen=True):
    session: SessionRow
    tool: str
    queue: tuple[str, ...]
    running_job_id: str | None


class QuestionInfo(QuestionFields, frozen=True, kw_only=True):
    """A question of an agent, with all that a person needs to decide it."""

    status: QuestionStatus
    outcome: str = ""
    answered_by: str = ""
    message: str = ""
    rule_made: int = 0
    machine: str = ""


class QuestionList(msgspec.Struct, frozen=True):
    questions: tuple[QuestionInfo, ...]


class ChoiceList(msgspec.Struct, frozen=True):
    choices: tuple[Choice, ...]


class Answered(msgspec.Struct, frozen=True):
    """The job that goes on, or that the response began."""

    job_id: str


class EventTaken(msgspec.Struct, frozen=True, omit_defaults=True):
    """The job that an event for a webhook became; or, without a job, why the hook leaves the event alone."""

    job_id: str = ""
    duplicate: bool = False
    reason: str = ""


class Acknowledged(msgspec.Struct, frozen=True):
    job_id: str
    acknowledged: bool = True


HealthStatus: TypeAlias = Literal["ok", "disk_full", "journal_damaged"]


class Health(msgspec.Struct, frozen=True):
    """`damage` names the damaged line of the journal."""

    status: HealthStatus
    version: str
    damage: str = ""


# --- the console ---------------------------------------------------------------------------------------------------


class NewConsoleLink(_Asked, frozen=True):
    """Without a person, the link is for the owner."""

    person: Annotated[
        str, msgspec.Meta(max_length=128, description="An allowed person, by the id in FAIRLEAD_ALLOWED_USER_IDS.")
    ] = ""


class ConsoleLink(msgspec.Struct, frozen=True):
    """Opened in a browser, once and within `seconds`, the path logs it in."""

    path: str
    person: str
    seconds: int


class ConsoleLoginInfo(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A browser that is logged in to the console; `browser` is what it says of itself."""

    number: int
    person: str
    is_owner: bool
    made_at: str
    used_at: str
    browser: str = ""


class ConsoleLoginList(msgspec.Struct, frozen=True):
    logins: tuple[ConsoleLoginInfo, ...]


class ConsoleLoginEnded(msgspec.Struct, frozen=True):
    number: int


# --- events --------------------------------------------------------------------------------------------------------


class _Event(msgspec.Struct, frozen=True, omit_defaults=True):
    pass


class Accepted(_Event, frozen=True):
    """The message is written. Also the first event of every stream: a client forgets the events before it."""

    job_id: str
    session_key: str
    state: JobState = "queued"
    position: int = 0
    duplicate: bool = False
    held: Held = ""


class Moved(_Event, frozen=True):
    job_id: str
    state: JobState
    position: int = 0
    tool: str = ""
    held: Held = ""
    machine: str = ""
    machine_away_since: str = ""
    steered_into: str = ""


class NotSteered(_Event, frozen=True):
    """A text that was meant for the turn that runs waits as an ordinary message instead."""

    job_id: str
    reason: SteeringReason
    detail: str = ""


class Delta(_Event, frozen=True):
    """The next words of the answer, for showing; `done` brings the whole."""

    text: str


class ToolUse(_Event, frozen=True):
    tool_id: str
    phase: Literal["started", "ended"]
    name: str = ""
    input: dict[str, Any] = {}
    ok: bool = True
    summary: str = ""


class Image(_Event, frozen=True):
    """The agent made an image; it is among the files of the answer."""

    media_type: str
    size: int


class RuleUse(_Event, frozen=True):
    """A standing rule allowed what the agent asked for; nobody was asked."""

    number: int
    rule: RuleOffer


class Usage(_Event, frozen=True, kw_only=True):
    """What the agent reports to have used in this turn; several reports add up, but for the context."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    context_used: int = 0
    context_size: int = 0


class Done(_Event, frozen=True):
    job: JobInfo


class Failed(_Event, frozen=True):
    error: Fault
    job: JobInfo


class SentInfo(_Event, frozen=True):
    """What an agent sent by itself, beside its answer. It waits until it is acknowledged; so do its files."""

    sent_id: str
    job_id: str
    sent_at: str
    text: str = ""
    files: tuple[FileInfo, ...] = ()


class SentList(msgspec.Struct, frozen=True):
    messages: tuple[SentInfo, ...]


StreamEvent: TypeAlias = (
    Accepted | Moved | NotSteered | Delta | ToolUse | QuestionInfo | RuleUse | Image | SentInfo | Usage | Done | Failed
)

EVENT_NAMES: Final[dict[type[StreamEvent], str]] = {
    Accepted: "accepted",
    Moved: "moved",
    NotSteered: "not_steered",
    Delta: "delta",
    ToolUse: "tool",
    QuestionInfo: "question",
    RuleUse: "rule",
    Image: "image",
    SentInfo: "sent",
    Usage: "usage",
    Done: "done",
    Failed: "error",
}
EVENT_TYPES: Final[dict[str, type[StreamEvent]]] = {name: kind for kind, name in EVENT_NAMES.items()}


def question_info(question: QuestionView) -> QuestionInfo:
    return msgspec.convert(question, QuestionInfo, from_attributes=True)
