"""Events of the gateway, each handed to the part that handles it. Implements `gateway.client.GatewayListener`."""

from typing import Any

import discord

from fairlead.channels.discord.inbound.bot_identity import BotIdentity
from fairlead.channels.discord.inbound.callers import Callers
from fairlead.channels.discord.inbound.events import MessageReaction
from fairlead.channels.discord.inbound.messages import InboundMessages
from fairlead.channels.discord.live.button_clicks import ButtonClicks
from fairlead.channels.discord.session_setup import SessionSetup


class GatewayEvents:
    def __init__(
        self,
        *,
        identity: BotIdentity,
        callers: Callers,
        messages: InboundMessages,
        button_clicks: ButtonClicks,
        session_setup: SessionSetup,
        reaction_emoji: str,
    ) -> None:
        self._identity = identity
        self._callers = callers
        self._messages = messages
        self._button_clicks = button_clicks
        self._session_setup = session_setup
        self._reaction_emoji = reaction_emoji

    def on_new_session(self, client: discord.Client) -> None:
        self._identity.learn(client)
        self._messages.catch_up()
        self._session_setup.start(client)

    def on_message(self, message: discord.Message) -> None:
        self._messages.take_message(message)

    def on_edit(self, message: discord.Message) -> None:
        self._messages.take_edit(message)

    def on_delete(self, channel_id: int, message_id: int) -> None:
        self._messages.take_deletion(channel_id, message_id)

    def on_reaction(self, reaction: discord.RawReactionActionEvent) -> None:
        """Only the emoji of the settings, by a person who is served, asks the agent to look at a message."""
        is_wanted = bool(self._reaction_emoji) and str(reaction.emoji) == self._reaction_emoji
        if not is_wanted or reaction.user_id == self._identity.bot_id:
            return
        if self._callers.is_served(reaction.user_id, reaction.guild_id):
            pointed = MessageReaction(reaction.message_id, reaction.user_id, reaction.guild_id)
            self._messages.take_reaction(reaction.channel_id, pointed)

    async def on_click(self, interaction: discord.Interaction[Any]) -> None:
        await self._button_clicks.handle(interaction)
