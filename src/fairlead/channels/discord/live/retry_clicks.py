"""Clicks on the button that tries a failed job again: brought to the gate as the command /retry, with its rules."""

import asyncio
from typing import Any

import discord

from fairlead.channels.discord.inbound.callers import Callers
from fairlead.channels.discord.outbound.acknowledge import acknowledge
from fairlead.channels.discord.outbound.messages import TEXT_LIMIT
from fairlead.channels.discord.outbound.redraw import redraw
from fairlead.channels.discord.outbound.refusal_line import refusal_line
from fairlead.channels.discord.outbound.rest import RestCalls
from fairlead.channels.discord.outbound.retry_button import parse_retry_button
from fairlead.core.job_names import short_name
from fairlead.core.replies import JobQueued
from fairlead.core.requests import Retry
from fairlead.errors import Code, FairleadError
from fairlead.observe import log_failure
from fairlead.ports import Gate
from fairlead.render.words import say


class RetryClicks:
    def __init__(self, gate: Gate, rest: RestCalls, callers: Callers) -> None:
        self._gate = gate
        self._rest = rest
        self._callers = callers

    async def handle(self, interaction: discord.Interaction[Any]) -> None:
        """The journal allows one retry of a job: a second click, also by somebody else, is refused with the id of the
        job that the first one began."""
        button = await self._callers.find_button(interaction, parse_retry_button)
        if button is None:
            return
        lang = self._callers.language(interaction)
        outcome, acknowledged = await asyncio.gather(
            self._gate.command(Retry(button.job_id), self._callers.caller(interaction)),
            acknowledge(interaction),
            return_exceptions=True,
        )
        if isinstance(acknowledged, BaseException):
            raise acknowledged
        await self._show(interaction, outcome, lang, is_acknowledged=acknowledged)
        await self._callers.see(interaction)

    async def _show(
        self, interaction: discord.Interaction[Any], outcome: object, lang: str, *, is_acknowledged: bool
    ) -> None:
        match outcome:
            case JobQueued():
                line = say(lang, "chat.retried_by", person=f"<@{interaction.user.id}>", job=short_name(outcome.job_id))
                await redraw(self._rest, interaction, _edit(interaction, line), is_acknowledged=is_acknowledged)
            case FairleadError():
                log_failure("click refused", outcome)
                if outcome.code is Code.E_JOB_NOT_RETRYABLE:  # the button does nothing any more
                    edit = {"view": other_buttons(interaction)}
                    await redraw(self._rest, interaction, edit, is_acknowledged=is_acknowledged)
                if is_acknowledged:
                    await interaction.followup.send(refusal_line(outcome, lang), ephemeral=True)
            case BaseException():
                raise outcome
            case _:
                return


def _edit(interaction: discord.Interaction[Any], line: str) -> dict[str, Any]:
    """The message without this button, and who tried again; a text that is full stays as it is."""
    content = interaction.message.content if interaction.message is not None else ""
    text = f"{content}\n-# {line}"
    edit = {"view": other_buttons(interaction)}
    return {"content": text, **edit} if content and len(text) <= TEXT_LIMIT else edit


def other_buttons(interaction: discord.Interaction[Any]) -> discord.ui.View | None:
    """The buttons of the message that still do something: those of the card of its turn."""
    view = discord.ui.View(timeout=None)
    for button in discord.ui.View.from_message(interaction.message).children if interaction.message else ():
        if isinstance(button, discord.ui.Button) and parse_retry_button(button.custom_id or "") is None:
            view.add_item(button)
    view.stop()  # clicks come by their custom ids: discord.py need not keep the view
    return view if view.children else None
