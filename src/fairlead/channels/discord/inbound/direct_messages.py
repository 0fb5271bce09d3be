"""Opens the direct messages of the people who may talk to the bot: a first message may have come while we were not
connected, and Discord lists no direct messages."""

from collections.abc import Iterable
from typing import Any

from fairlead.channels.discord.inbound.catch_up import founding_id
from fairlead.channels.discord.inbound.conversations import DiscordConversations
from fairlead.channels.discord.inbound.messages import InboundMessages
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.push.rate_limit import Urgency
from fairlead.observe import log
from fairlead.ports import View


class DirectMessages:
    def __init__(
        self,
        view: View,
        *,
        rest: RestCalls,
        conversations: DiscordConversations,
        messages: InboundMessages,
        user_ids: Iterable[str],
    ) -> None:
        self._view = view
        self._rest = rest
        self._conversations = conversations
        self._messages = messages
        self._user_ids = [int(user_id) for user_id in dict.fromkeys(user_ids) if user_id.isdecimal()]

    async def open_all(self) -> None:
        for user_id in self._user_ids:
            try:
                opened: Any = await self._rest.until_done(
                    Urgency.CATCH_UP, lambda c, u=user_id: c.http.start_private_message(u)
                )
            except DELIVERY_ERRORS as failure:
                log.info("no direct messages with", user_id=str(user_id), message=repr(failure))
                continue
            self._catch_up_in(int(opened["id"]))

    def _catch_up_in(self, channel_id: int) -> None:
        """A conversation that is bound already is among those that every new session catches up on."""
        conversation = self._conversations.ref(channel_id)
        if self._view.conversation(conversation) is None:
            seen = self._view.last_message_seen(conversation) or 0
            self._messages.catch_up_in(channel_id, max(seen, founding_id(self._view)))
