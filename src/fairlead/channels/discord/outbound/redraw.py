"""Edits the message that a button stands on, when a click has taken effect. Decides nothing."""

from typing import Any

import discord

from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, REST_FAULTS, RestCalls
from fairlead.channels.discord.outbound.threads import edit_reopening
from fairlead.channels.push.rate_limit import Urgency
from fairlead.observe import log


async def redraw(
    rest: RestCalls, interaction: discord.Interaction[Any], edit: dict[str, Any], *, is_acknowledged: bool
) -> None:
    """Edit the message through the interaction, else as any message of ours: the click counted, so the buttons must not
    stay."""
    try:
        if is_acknowledged:
            await edit_reopening(rest, interaction.channel_id or 0, lambda: interaction.edit_original_response(**edit))
            return
    except (*REST_FAULTS, *DELIVERY_ERRORS) as fault:
        log.info("an interaction no longer edits its message", message=repr(fault))
    if interaction.message is not None and interaction.channel_id is not None:
        await edit_message(rest, interaction.channel_id, interaction.message.id, edit)


async def edit_message(rest: RestCalls, channel_id: int, message_id: int, edit: dict[str, Any]) -> None:
    try:
        await rest.until_done(
            Urgency.FINAL_STATUS,
            lambda client: client.get_partial_messageable(channel_id).get_partial_message(message_id).edit(**edit),
        )
    except DELIVERY_ERRORS as failure:
        log.info("a message kept its buttons", message_id=str(message_id), message=repr(failure))
