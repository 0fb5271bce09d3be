"""Events of the gateway, each handed to the part that handles it. Implements `gateway.client.GatewayListener`."""

from collections.abc import Sequence
from typing import Any, Protocol

import discord

from fairlead.channels.discord.inbound.bot_identity import BotIdentity
from fairlead.channels.discord.inbound.callers import Callers
from fairlead.channels.discord.inbound.events import MessageReaction
from fairlead.channels.discord.inbound.messages import InboundMessages
from fairlead.channels.discord.outbound.access_watch import AccessWatch
from fairlead.channels.discord.outbound.other_daemons import OtherDaemons
from fairlead.channels.discord.session_setup import SessionSetup


class ComponentHandler(Protocol):
    async def handle(self, interaction: discord.Interaction[Any]) -> None: ...


class GatewayEvents:
    def __init__(
        self,
        *,
        identity: BotIdentity,
        callers: Callers,
        messages: InboundMessages,
        component_handlers: Sequence[ComponentHandler],
        access: AccessWatch,
        others: OtherDaemons,
        session_setup: SessionSetup,
        reaction_emoji: str,
    ) -> None:
        self._identity = identity
        self._callers = callers
        self._messages = messages
        self._component_handlers = component_handlers
        self._access = access
        self._others = others
        self._session_setup = session_setup
        self._reaction_emoji = reaction_emoji

    def on_new_session(self, client: discord.Client) -> None:
        self._identity.learn(client)
        self._others.begin()
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

    def on_access_change(self) -> None:
        self._access.note_change()

    async def on_click(self, interaction: discord.Interaction[Any]) -> None:
        """Each handler knows its own custom ids, and leaves the others alone."""
        if await self._others.may_serve():
            for handler in self._component_handlers:
                await handler.handle(interaction)
