"""A project chosen from the menu under a refused message: the person works in it from now on, and the message that
waited is sent to it."""

from typing import Any

import discord

from fairlead.channels.discord.inbound.callers import Callers
from fairlead.channels.discord.inbound.message_handler import MessageHandler
from fairlead.channels.discord.outbound.acknowledge import acknowledge
from fairlead.channels.discord.outbound.project_menu import ProjectMenuId, parse_project_menu
from fairlead.channels.discord.outbound.redraw import redraw
from fairlead.channels.discord.outbound.refusal_line import refusal_line
from fairlead.channels.discord.outbound.rest import RestCalls
from fairlead.core.replies import ProjectSelected
from fairlead.core.requests import ProjectSwitch
from fairlead.errors import Code, FairleadError
from fairlead.observe import log_failure
from fairlead.ports import Gate, View
from fairlead.render.words import error_line, say


class ProjectChoices:
    def __init__(self, gate: Gate, view: View, *, rest: RestCalls, callers: Callers, handler: MessageHandler) -> None:
        self._gate = gate
        self._view = view
        self._rest = rest
        self._callers = callers
        self._handler = handler

    async def handle(self, interaction: discord.Interaction[Any]) -> None:
        data: Any = interaction.data or {}
        menu = parse_project_menu(str(data.get("custom_id", "")))
        values = list(data.get("values") or ())
        if menu is None or not values or interaction.type is not discord.InteractionType.component:
            return
        if not await self._callers.may_pass(interaction, "a menu"):
            return
        lang = self._callers.language(interaction)
        problem = self._find_problem(interaction, menu, lang)
        if problem:
            await interaction.response.send_message(problem, ephemeral=True)
            return
        is_acknowledged = await acknowledge(interaction)
        try:
            line = await self._choose(interaction, menu, str(values[0]), lang)
        except FairleadError as refusal:
            log_failure("choice refused", refusal)
            if is_acknowledged:
                await interaction.followup.send(refusal_line(refusal, lang), ephemeral=True)
            return
        await redraw(self._rest, interaction, {"content": line, "view": None}, is_acknowledged=is_acknowledged)
        await self._callers.see(interaction)

    def _find_problem(self, interaction: discord.Interaction[Any], menu: ProjectMenuId, lang: str) -> str:
        """The message that was refused is the one that the menu replies to: only its author chooses for it."""
        if not self._view.state_id.startswith(menu.state_id):
            return error_line(lang, Code.E_MESSAGE_NOT_FOUND)
        reference = interaction.message.reference if interaction.message is not None else None
        refused = reference.resolved if reference is not None else None
        if isinstance(refused, discord.Message) and refused.author.id != interaction.user.id:
            return say(lang, "chat.somebody_elses")
        return ""

    async def _choose(self, interaction: discord.Interaction[Any], menu: ProjectMenuId, project: str, lang: str) -> str:
        reply = await self._gate.command(ProjectSwitch(project), self._callers.caller(interaction))
        assert isinstance(reply, ProjectSelected)
        is_sent = await self._handler.submit_chosen(
            interaction.channel_id or 0, menu.message_id, interaction.guild_id, interaction.user.id
        )
        return say(lang, "chat.project_chosen" if is_sent else "chat.message_gone", project=reply.name)
