"""The interface between the flow and the channels that it sends to: what a channel can do, what it is given, and the
conditions that it raises when it cannot send. Part of `ports`, where everybody imports it from. Nothing is implemented
here."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.events import FileRef
from fairlead.core.ids import EntryId, JobId, SessionKeyText
from fairlead.core.inbound import Attachment
from fairlead.core.ping_rule import PingRule
from fairlead.core.views import JobView, QuestionView
from fairlead.errors import Code


class Mentions(msgspec.Struct, frozen=True, kw_only=True):
    """How a channel makes a person hear of a message at once: by the person's accounts there, and a text that mentions
    one of them. Every message that mentions nobody is sent silently."""

    rule: PingRule
    accounts_of: Callable[[str], tuple[str, ...]]
    text_of: Callable[[str], str]


class ChannelCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a channel can do. A limit of 0 is none, and no text limit is below 200 characters; without `push` the client
    fetches for itself. `busy_code` is what a person is told while the channel takes nothing more. `small_print` is what
    a line begins with that is shown small; without it, no such line stands under an answer. `thread_link` makes a link
    of a thread's id."""

    text_limit: int = 0
    max_pieces: int = 0
    max_files: int = 0
    edits: bool = False
    files: bool = False
    threads: bool = False
    push: bool = False
    tables: bool = True
    buttons: bool = False
    small_print: str = ""
    mentions: Mentions | None = None
    busy_code: Code = Code.E_UNDELIVERABLE
    thread_link: Callable[[str], str] = str


class OutgoingMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One piece on its way out. The same `nonce` on every attempt makes a second arrival recognisable.

    With a `thread_name` the piece is a thread, to be made from the message `thread_from`, whose id it bears. A thread
    that is there already counts as made; if it can never be made, the channel removes its opening message too.

    `mentions` are the only accounts that may be mentioned, whatever the text says; with none the piece is sent
    silently. With `retries` the piece has a button that tries that job again, with `card` the buttons about what
    that job changed. `reminds_of` is the question that the
    piece is a reminder of."""

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
    mentions: tuple[str, ...] = ()
    retries: JobId = JobId("")
    card: JobId = JobId("")
    reminds_of: str = ""


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


class DeliveryForbidden(DeliveryImpossible):
    """This conversation does not take the piece as long as people leave it as it is: a right is missing, or it is
    locked. An answer waits for them; whatever nobody waits for is as good as impossible."""


class AttachmentFetcher(Protocol):
    """Fetches the files of a message, once, before its job begins."""

    async def fetch(self, job: JobView) -> tuple[Attachment, ...]:
        """The job's attachments as blobs. Raises E_ATTACHMENT_GONE for a file that is gone."""
        ...


class MessageRechecker(Protocol):
    """Looks once more at the message of a job that was queued while Fairlead was offline."""

    async def recheck(self, job: JobView) -> None:
        """Tells the gate if the message was edited or deleted; returns when that is written or cannot be known. It may
        wait for the channel to connect: the caller cancels it when the job has waited long enough."""
        ...


class Channel(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> ChannelCapabilities: ...

    async def send(self, outgoing: OutgoingMessage) -> str:
        """The id of the message that was made. Raises one of the five conditions above."""
        ...

    async def find(self, outgoing: OutgoingMessage) -> str | None:
        """The id of the message that an earlier attempt at this piece made; None if no attempt arrived."""
        ...
