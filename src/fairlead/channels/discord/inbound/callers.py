"""The person behind an interaction: whether they are served, which language they read, who they are to Fairlead."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import discord

from fairlead.channels.discord.inbound.conversations import DiscordConversation, DiscordConversations
from fairlead.channels.discord.inbound.stranger_log import StrangerLog
from fairlead.core.requests import Caller
from fairlead.errors import Code, FairleadError
from fairlead.observe import log_failure
from fairlead.ports import Gate, View
from fairlead.render.words import error_line, pick_language


class JobButton(Protocol):
    """What the id of a button below a message says: which job it is about, and whose."""

    @property
    def state_id(self) -> str: ...

    @property
    def job_id(self) -> str: ...


ButtonT = TypeVar("ButtonT", bound=JobButton)


class Callers:
    def __init__(
        self,
        gate: Gate,
        view: View,
        conversations: DiscordConversations,
        stranger_log: StrangerLog,
        *,
        silent: bool,
        default_language: str,
    ) -> None:
        self._gate = gate
        self._view = view
        self._conversations = conversations
        self._stranger_log = stranger_log
        self._silent = silent
        self._default_language = default_language

    def person(self, user_id: int) -> str:
        return self._conversations.person(user_id)

    def language(self, interaction: discord.Interaction[Any]) -> str:
        """The person's own locale, else the server's, else the setting FAIRLEAD_LANG."""
        guild = interaction.guild_locale.value if interaction.guild_locale is not None else None
        default = pick_language(guild, self._default_language)
        return pick_language(interaction.locale.value, default)

    def conversation(self, interaction: discord.Interaction[Any]) -> DiscordConversation:
        channel_id = interaction.channel_id or 0
        conversation = self._conversations.of(
            interaction.channel, guild_id=interaction.guild_id, channel_id=channel_id, user_id=interaction.user.id
        )
        return conversation or self._conversations.channel(interaction.guild_id or 0, channel_id)

    def caller(self, interaction: discord.Interaction[Any]) -> Caller:
        conversation = self.conversation(interaction)
        person = self.person(interaction.user.id)
        return Caller(
            person=person,
            conversation=conversation.ref,
            session_key=conversation.session_key,
            locale=interaction.locale.value,
        )

    def is_served(self, user_id: int, guild_id: int | None) -> bool:
        return self._conversations.serves(guild_id) and self._gate.allows(self.person(user_id))

    async def may_pass(self, interaction: discord.Interaction[Any], what: str) -> bool:
        """Only allowed people, and only in the server that is served; a stranger is told so once, or not at all."""
        if self.is_served(interaction.user.id, interaction.guild_id):
            return True
        self._stranger_log.note(interaction.user.id, what)
        if interaction.type is discord.InteractionType.autocomplete:
            await interaction.response.autocomplete([])
        elif not self._silent:
            line = error_line(self.language(interaction), Code.E_OWNER_ONLY)
            await interaction.response.send_message(line, ephemeral=True)
        return False

    async def find_button(
        self, interaction: discord.Interaction[Any], parse: Callable[[str], ButtonT | None]
    ) -> ButtonT | None:
        """The button that was clicked, if it is one that `parse` knows and the click counts. Who may not click it, and
        who clicks a button of another state directory, is told so."""
        data: Any = interaction.data or {}
        button = parse(str(data.get("custom_id", "")))
        if button is None or interaction.type is not discord.InteractionType.component:
            return None
        if not await self.may_pass(interaction, "a button"):
            return None
        if self._view.state_id.startswith(button.state_id):
            return button
        line = error_line(self.language(interaction), Code.E_JOB_NOT_FOUND, job=button.job_id)
        await interaction.response.send_message(line, ephemeral=True)
        return None

    async def see(self, interaction: discord.Interaction[Any]) -> None:
        """Keep the person's locale: of all that Discord sends, only interactions carry it."""
        try:
            await self._gate.see_person(self.person(interaction.user.id), interaction.locale.value)
        except FairleadError as fault:
            log_failure("a locale was not kept", fault)
