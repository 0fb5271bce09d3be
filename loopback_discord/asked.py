"""One interaction as the person who began it sees it: acknowledged or not, reply, modal, choices."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .board import PATIENCE_SEC
from .model import Interaction, Message
from .routes_interactions import AUTOCOMPLETE, DEFER, DEFER_UPDATE, MODAL

if TYPE_CHECKING:
    from .server import LoopbackDiscord


class Asked:
    def __init__(self, server: "LoopbackDiscord", interaction: Interaction) -> None:
        self.server = server
        self.interaction = interaction

    def __repr__(self) -> str:
        name = self.interaction.data.get("name") or self.interaction.data.get("custom_id")
        return f"<Asked {name!r} answered with {self.interaction.callback_type}>"

    @property
    def failed(self) -> bool:
        """The person reads "This interaction failed": three seconds went by."""
        waited = self.server.clock.now() - self.interaction.created_at
        return self.interaction.callback_type is None and waited > self.server.world.acknowledge_within_sec

    @property
    def followups(self) -> list[Message]:
        return self.interaction.followups

    async def acknowledged(self, *, timeout: float = PATIENCE_SEC) -> int:
        """The callback's type: 4 message, 5 and 6 deferred, 7 update, 8 choices, 9 modal."""
        return await self.server.wait_for(
            lambda: self.interaction.callback_type, timeout=timeout, what=f"the acknowledgement of {self}"
        )

    async def reply(self, *, timeout: float = PATIENCE_SEC) -> Message:
        """The message that answers, filled in when it was deferred."""

        def look() -> Message | None:
            kind, original = self.interaction.callback_type, self.interaction.original
            if kind is None or original is None or (kind == DEFER and original.loading):
                return None
            return None if kind == DEFER_UPDATE and not self.interaction.original_edits else original

        return await self.server.wait_for(look, timeout=timeout, what=f"the reply to {self}")

    async def followup(
        self, test: Callable[[Message], object] = lambda _message: True, *, timeout: float = PATIENCE_SEC
    ) -> Message:
        return await self.server.wait_for(
            lambda: next((each for each in self.followups if test(each)), None),
            timeout=timeout, what=f"a follow-up of {self}",
        )  # fmt: skip

    async def modal(self, *, timeout: float = PATIENCE_SEC) -> dict[str, Any]:
        kind = await self.acknowledged(timeout=timeout)
        assert kind == MODAL, f"{self}: no modal"
        assert self.interaction.callback_data is not None
        return self.interaction.callback_data

    async def choices(self, *, timeout: float = PATIENCE_SEC) -> list[dict[str, Any]]:
        kind = await self.acknowledged(timeout=timeout)
        assert kind == AUTOCOMPLETE, f"{self}: no choices"
        assert self.interaction.callback_data is not None
        return self.interaction.callback_data["choices"]
