"""The read models of the console: what needs a person, the list of sessions, what became of messages. Frozen;
`core/console_models.py` makes them from the state."""

from typing import Literal

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.replies import TurnsUndone
from fairlead.core.state import SessionState
from fairlead.core.views import JobView, QuestionView


class BoardJob(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A job in a list; `prompt` is the beginning of what was said, `position` counts the jobs before it."""

    job: JobView
    session_id: str
    title: str
    prompt: str = ""
    position: int = 0


class BoardQuestion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    question: QuestionView
    session_id: str
    title: str


class BoardDelivery(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a person has not received. With `awaits_fetching` a client has to fetch it; else it is sent, and
    `last_error` says why it was not."""

    entry_id: str
    kind: str
    job_id: str
    session_id: str
    title: str
    where: ConversationRef
    owed_at: str
    awaits_fetching: bool = False
    attempts: int = 0
    due: str = ""
    last_error: str = ""


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """What needs somebody, and what goes on. Each list is cut; `queued_total` and `undelivered_total` count all."""

    questions: tuple[BoardQuestion, ...] = ()
    running: tuple[BoardJob, ...] = ()
    queued: tuple[BoardJob, ...] = ()
    queued_total: int = 0
    failed: tuple[BoardJob, ...] = ()
    undelivered: tuple[BoardDelivery, ...] = ()
    undelivered_total: int = 0


class SessionLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One session in the list of the console."""

    session_key: str
    session_id: str
    title: str
    project: str
    tool: str
    state: SessionState
    last_activity_at: str
    pending: int = 0
    cost_usd: float = 0.0
    parent_session_id: str = ""


class SessionPage(msgspec.Struct, frozen=True, kw_only=True):
    """`following` is where the next page begins; empty if there is none. `total` counts all that fit the words."""

    sessions: tuple[SessionLine, ...] = ()
    following: str = ""
    total: int = 0


class TurnUndo(msgspec.Struct, frozen=True, kw_only=True):
    """What can be done about the files of a turn. `undone` is how it was undone, and nobody has brought it back."""

    can_undo: bool = False
    can_redo: bool = False
    undone: TurnsUndone | None = None


class FoundText(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A prompt or an answer in which words were found, and the words around them."""

    job_id: str
    is_answer: bool
    at: str
    excerpt: str
    session_id: str = ""
    title: str = ""


class TextPage(msgspec.Struct, frozen=True, kw_only=True):
    """`since` is how far back the page looked; with `is_whole`, to the beginning. Else `before` is where the next one
    goes on."""

    texts: tuple[FoundText, ...] = ()
    before: int = 0
    since: str = ""
    is_whole: bool = False


OutcomeName = Literal[
    "answered",
    "failed",
    "cancelled",
    "unknown",
    "withdrawn",
    "steered",
    "refused",
    "skipped",
    "queued",
    "running",
    "waiting",
    "steering",
]


class MessageLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One message and what became of it. `job_id` is empty for one that became no job: then `detail` says why."""

    message_id: str
    job_id: str = ""
    session_id: str = ""
    title: str = ""
    state: str = ""
    prompt: str = ""
    at: str = ""
    detail: str = ""


class MessagePage(msgspec.Struct, frozen=True, kw_only=True):
    """The latest messages of one outcome that are still known. `counted` is how many there have been."""

    outcome: OutcomeName
    lines: tuple[MessageLine, ...] = ()
    counted: int = 0
