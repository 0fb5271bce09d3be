"""Refusals that the process before this one wrote down and may not have told: under a message that bears no reply of
ours, the refusal is said once more."""

from typing import Final

import discord

from fairlead.channels.discord.inbound.bot_identity import BotIdentity
from fairlead.channels.discord.inbound.catch_up import CatchUp
from fairlead.channels.discord.inbound.conversations import CHANNEL, DiscordConversations
from fairlead.channels.discord.outbound.message_marks import MessageAddress
from fairlead.channels.discord.outbound.remarks import Remarks
from fairlead.core.message_ids import written_message
from fairlead.core.views import RefusedMessage
from fairlead.errors import Code, error
from fairlead.ports import View

_MOST: Final = 10


class UntoldRefusals:
    def __init__(
        self,
        view: View,
        *,
        conversations: DiscordConversations,
        catch_up: CatchUp,
        identity: BotIdentity,
        remarks: Remarks,
    ) -> None:
        self._view = view
        self._conversations = conversations
        self._catch_up = catch_up
        self._identity = identity
        self._remarks = remarks
        self._refused: list[RefusedMessage] = []

    def note(self) -> None:
        """In a start, before anything is taken: later, refusals of this process would be among them."""
        self._refused = self._view.refused_lately(CHANNEL, most=_MOST)

    async def tell_all(self) -> None:
        """A call that is cancelled leaves the rest to the next one."""
        while self._refused:
            await self._tell(self._refused[-1])
            self._refused.pop()

    async def _tell(self, refused: RefusedMessage) -> None:
        written = written_message(refused.message_id)
        if (
            written is None
            or not refused.conversation.conversation_id.isdecimal()
            or refused.code not in Code.__members__
        ):
            return
        address = MessageAddress(int(refused.conversation.conversation_id), int(written))
        page = await self._catch_up.fetch_next(address.channel_id, address.message_id - 1)
        if not page or page[0].id != address.message_id or any(self._replies_to(m, address) for m in page):
            return  # the message is gone, or the refusal stands there
        person = self._conversations.person(page[0].author.id)
        self._remarks.refuse(address, person, error(Code(refused.code)))

    def _replies_to(self, message: discord.Message, address: MessageAddress) -> bool:
        reference = message.reference
        return self._identity.wrote(message) and reference is not None and reference.message_id == address.message_id
