"""Clicks on the button that gives a waiting message to the running turn: brought to the gate as the command /steer."""

import asyncio
from typing import Any

import discord

from fairlead.channels.discord.inbound.callers import Callers
from fairlead.channels.discord.outbound.acknowledge import acknowledge
from fairlead.channels.discord.outbound.refusal_line import refusal_line
from fairlead.channels.discord.outbound.steer_button import parse_steer_button
from fairlead.core.replies import TurnSteered
from fairlead.core.requests import SteerTurn
from fairlead.errors import FairleadError
from fairlead.observe import log_failure
from fairlead.ports import Gate
from fairlead.render.steering import describe_steered


class SteerClicks:
    def __init__(self, gate: Gate, callers: Callers) -> None:
        self._gate = gate
        self._callers = callers

    async def handle(self, interaction: discord.Interaction[Any]) -> None:
        """Who clicks is told what became of it; everybody sees the mark on the message."""
        button = await self._callers.find_button(interaction, parse_steer_button)
        if button is None:
            return
        lang = self._callers.language(interaction)
        asked = SteerTurn(asked_by=str(interaction.id), job_id=button.job_id)
        outcome, acknowledged = await asyncio.gather(
            self._gate.command(asked, self._callers.caller(interaction)),
            acknowledge(interaction),
            return_exceptions=True,
        )
        if isinstance(acknowledged, BaseException):
            raise acknowledged
        if acknowledged:
            await self._tell(interaction, outcome, lang)
        await self._callers.see(interaction)

    async def _tell(self, interaction: discord.Interaction[Any], outcome: object, lang: str) -> None:
        match outcome:
            case TurnSteered():
                await interaction.followup.send(describe_steered(outcome, lang), ephemeral=True)
            case FairleadError():
                log_failure("click refused", outcome)
                await interaction.followup.send(refusal_line(outcome, lang), ephemeral=True)
            case BaseException():
                raise outcome
            case _:
                return
