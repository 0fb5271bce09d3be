"""What crosses the wire between the HTTP server and its clients, as structs. Knows neither side.

Names are in snake_case like everywhere in Fairlead; `userId` alone is written as its users know it.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from fairlead.core.command_spec import Choice
from fairlead.core.engine import Verdict
from fairlead.core.job_states import JobState
from fairlead.core.questions import QuestionFields
from fairlead.core.replies import SessionRow
from fairlead.core.views import JobFields, QuestionStatus, QuestionView

CHANNEL_HEADER: Final = "Fairlead-Channel"
ACK_HEADER: Final = "Fairlead-Ack"
MANUAL: Final = "manual"
KEY_HEADER: Final = "Idempotency-Key"

UserId = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=128,
        description="Your id for the person: 1 to 128 visible characters, no ':', not all digits unless linked.",
        examples=["alice"],
    ),
]


class _Asked(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A misspelt field is a mistake that its sender wants to hear of."""


# --- asked ---------------------------------------------------------------------------------------------------------


class NewMessage(_Asked, frozen=True):
    userId: UserId  # noqa: N815 - the name that C5 gives it
    message: Annotated[str, msgspec.Meta(description="What to say to the agent.")]
    project: str | None = None
    tool: str | None = None
    stream: bool = False


class OfUser(_Asked, frozen=True):
    userId: UserId  # noqa: N815


class OfAnyUser(_Asked, frozen=True):
    userId: UserId | None = None  # noqa: N815


class MessageQuery(_Asked, frozen=True):
    """`wait=0` answers 202 as soon as the message is written; so does `Prefer: respond-async`."""

    wait: Literal[0, 1] = 1


class ChoicesQuery(_Asked, frozen=True):
    command: Annotated[str, msgspec.Meta(description="A command's words.", examples=["project status"])]
    argument: Annotated[str, msgspec.Meta(description="The name of one of its arguments.", examples=["project"])]
    typed: Annotated[str, msgspec.Meta(description="What is typed of it so far.")] = ""
    userId: UserId | None = None  # noqa: N815


class QuestionAnswer(_Asked, frozen=True):
    verdict: Verdict
    chosen: Annotated[dict[str, str], msgspec.Meta(description="For each question's text, the chosen answer.")] = {}
    message: str = ""
    for_session: bool = False
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


class JobList(msgspec.Struct, frozen=True):
    jobs: tuple[JobInfo, ...]


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


class QuestionList(msgspec.Struct, frozen=True):
    questions: tuple[QuestionInfo, ...]


class ChoiceList(msgspec.Struct, frozen=True):
    choices: tuple[Choice, ...]


class Answered(msgspec.Struct, frozen=True):
    """The job that goes on, or that the response began."""

    job_id: str


class Acknowledged(msgspec.Struct, frozen=True):
    job_id: str
    acknowledged: bool = True


class Health(msgspec.Struct, frozen=True):
    status: Literal["ok", "disk_full"]
    version: str


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


class Moved(_Event, frozen=True):
    job_id: str
    state: JobState
    position: int = 0
    tool: str = ""


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


class Done(_Event, frozen=True):
    job: JobInfo


class Failed(_Event, frozen=True):
    error: Fault
    job: JobInfo


StreamEvent: TypeAlias = Accepted | Moved | Delta | ToolUse | QuestionInfo | Image | Done | Failed

EVENT_NAMES: Final[dict[type[StreamEvent], str]] = {
    Accepted: "accepted",
    Moved: "moved",
    Delta: "delta",
    ToolUse: "tool",
    QuestionInfo: "question",
    Image: "image",
    Done: "done",
    Failed: "error",
}
EVENT_TYPES: Final[dict[str, type[StreamEvent]]] = {name: kind for kind, name in EVENT_NAMES.items()}


def question_info(question: QuestionView) -> QuestionInfo:
    return msgspec.convert(question, QuestionInfo, from_attributes=True)
