"""A person's message in the form that is the same for every channel."""

from typing import Literal

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.ids import NO_SESSION, BlobName, MessageId, SessionKeyText
from fairlead.core.keys import SessionKey

Cause = Literal["message", "retry", "agent", "answer", "spawn", "child", "reaction", "schedule", "hook", "merge"]
"""Why there is a job. A "spawn" is the task of a session that was started for it, a "child" the completion of such a
task, which goes to the session that asked. A "merge" is what a merge of the session's worktree left to be resolved."""

Ring = Literal["usual", "always", "needed", "never"]
"""Whether the person hears of the end of a job at once: as its channel's rule says, always, only if something needs
them (a question, a failure), or never."""


class Attachment(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A file that came with a message: first only its `url`, and when it is fetched, a blob.

    `path` is where an earlier version laid down a file that was no picture; it made no blob of it."""

    name: str
    media_type: str = ""
    size: int = 0
    url: str = ""
    blob: BlobName = BlobName("")
    path: str = ""


class Inbound(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One message of one person. `person` is who they are after identities were linked; `pre_authorised` says that
    the channel's own authorisation (a bearer token) has already let them in. `foreign` says that `text` itself holds
    words of somebody else. With `own_session`, `session_key` names the session, whichever is bound to the conversation,
    and no binding is made: the conversation is only where its answer goes."""

    conversation: ConversationRef
    session_key: SessionKey
    message_id: MessageId
    person: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    quote: str = ""
    pre_authorised: bool = False
    project: str | None = None
    runtime: str | None = None
    cause: Cause = "message"
    body_digest: str = ""
    foreign: bool = False
    own_session: bool = False
    steers: bool | None = None
    """Whether the text is for the turn that runs. None: a sign at its beginning says so (`core/steering.py`)."""
    ring: Ring = "usual"
    tell: tuple[str, ...] = ()
    """Whom the answer mentions; empty for the person who asked."""
    parent_session_key: SessionKeyText = NO_SESSION
    """The session that started the one which `session_key` names."""


def clean_inbound(inbound: Inbound) -> Inbound:
    """The message with every text that came from outside cleaned, the names of its files among them."""
    return msgspec.structs.replace(
        inbound,
        text=clean_text(inbound.text),
        quote=clean_text(inbound.quote),
        attachments=tuple(
            msgspec.structs.replace(
                a, name=clean_text(a.name), media_type=clean_text(a.media_type), url=clean_text(a.url)
            )
            for a in inbound.attachments
        ),
    )


def clean_text(text: str) -> str:
    """Text that every file, screen and CLI can hold: lone surrogates become `?`, NUL becomes visible."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\u2400")
