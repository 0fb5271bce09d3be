"""Where people talk, and which session a conversation is bound to. Names no channel: that is the adapters' business."""

from typing import Any, Literal

import msgspec

from fairlead.core.ids import BindingId, ConversationAddress, SessionKeyText

BindingTargetKind = Literal["subagent", "session"]
BindingStatus = Literal["active", "ending", "ended"]


class ConversationRef(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """An address inside a channel."""

    channel: str
    account_id: str
    conversation_id: str
    parent_conversation_id: str | None = None

    @property
    def address(self) -> ConversationAddress:
        """One string for look-ups. The parent is a property of the conversation, not part of its name."""
        return ConversationAddress(f"{self.channel}/{self.account_id}/{self.conversation_id}")


class SessionBindingRecord(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One conversation bound to one session, for a while or for good.

    A session that was spawned with a thread is bound to it as a "subagent", by a setting with a `ttl_ms`; every other
    binding that Fairlead makes by itself is for good. `metadata` is for those who use the binding service."""

    binding_id: BindingId
    target_session_key: SessionKeyText
    target_kind: BindingTargetKind
    conversation: ConversationRef
    status: BindingStatus
    bound_at: str
    expires_at: str | None = None
    ttl_ms: int | None = None
    ended_reason: str | None = None
    metadata: dict[str, Any] = {}
    touched_on: int = 0

    def is_live(self, now: str) -> bool:
        return self.status == "active" and (self.expires_at is None or now < self.expires_at)
