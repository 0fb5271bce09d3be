"""Which conversation is bound to which session: bind, list, resolve, touch, unbind. Durable before it returns.

This is the binding service of requirement D1. Fairlead itself binds in the same batch as it takes a
message, starts a thread or spawns a session; what is bound apart from that is bound through here.
"""

from typing import Any

from fairlead.core.conversation import BindingTargetKind, ConversationRef, SessionBindingRecord
from fairlead.core.decide.sessions import Bind, Touch, Unbind
from fairlead.core.ids import BindingId, SessionKeyText
from fairlead.flow.ledger import Ledger


class Bindings:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def bind(
        self,
        *,
        target_session_key: SessionKeyText,
        target_kind: BindingTargetKind,
        conversation: ConversationRef,
        metadata: dict[str, Any] | None = None,
        ttl_ms: int | None = None,
    ) -> SessionBindingRecord:
        """A conversation that was bound before lets go of its older binding, with reason `rebound`."""
        decision = await self._ledger.record_durably(
            Bind(
                target_session_key=target_session_key,
                target_kind=target_kind,
                conversation=conversation,
                metadata=metadata or {},
                ttl_ms=ttl_ms,
            )
        )
        return self._ledger.state.bindings[decision.binding_id]

    def list_by_session(self, target_session_key: SessionKeyText) -> list[SessionBindingRecord]:
        now = self._ledger.now()
        bindings = self._ledger.state.bindings.values()
        return [b for b in bindings if b.target_session_key == target_session_key and b.is_live(now)]

    def resolve_by_conversation(self, conversation: ConversationRef) -> SessionBindingRecord | None:
        state = self._ledger.state
        binding = state.bindings.get(state.bound.get(conversation.address, BindingId("")))
        return binding if binding is not None and binding.is_live(self._ledger.now()) else None

    async def touch(self, binding_id: BindingId, at: str | None = None) -> None:
        await self._ledger.record_durably(Touch(binding_id, at))

    async def unbind(
        self, *, reason: str, binding_id: BindingId | None = None, target_session_key: SessionKeyText | None = None
    ) -> list[SessionBindingRecord]:
        """The bindings that this ended, each with status `ended` and the reason."""
        chosen = [
            b
            for b in self._ledger.state.bindings.values()
            if b.binding_id == binding_id or b.target_session_key == target_session_key
        ]
        await self._ledger.record_durably(Unbind(reason, binding_id, target_session_key))
        for binding in chosen:
            binding.status = "ended"
            binding.ended_reason = reason
        return chosen
