"""Clicks on the buttons of a turn's card: run as the slash commands that they stand for, with the rules of these."""

from typing import Any

import discord

from fairlead.channels.discord.commands.runner import CommandRunner
from fairlead.channels.discord.outbound.card_buttons import parse_card_button
from fairlead.core.command_spec import CommandCatalogue


class CardClicks:
    def __init__(self, runner: CommandRunner, catalogue: CommandCatalogue) -> None:
        self._runner = runner
        self._catalogue = catalogue

    async def handle(self, interaction: discord.Interaction[Any]) -> None:
        button = await self._runner.callers.find_button(interaction, parse_card_button)
        spec = self._catalogue.find(button.command) if button is not None else None
        if button is not None and spec is not None:
            await self._runner.run(interaction, spec, {"job_id": button.job_id})
