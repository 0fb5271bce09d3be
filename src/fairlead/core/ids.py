"""Names that are text on disk and on the wire, and that must not be taken for one another: the type checker tells them
apart. Each is made where it is first known (`decide` numbers jobs, a channel names its messages) or read from outside.
"""

from typing import Final, NewType

JobId = NewType("JobId", str)
QuestionId = NewType("QuestionId", str)
EntryId = NewType("EntryId", str)
"""An entry of the outbox."""

BindingId = NewType("BindingId", str)
MessageId = NewType("MessageId", str)
"""A message as its channel names it, or what stands for a message where nobody wrote one: see `message_ids`."""

SessionKeyText = NewType("SessionKeyText", str)
"""A `SessionKey` as one string."""

NO_SESSION: Final = SessionKeyText("")

ConversationAddress = NewType("ConversationAddress", str)
"""A `ConversationRef` as one string, for look-ups."""

ResumeKey = NewType("ResumeKey", str)
"""What an agent calls its own memory of a session. Never the session's key."""

BlobName = NewType("BlobName", str)
