"""Acknowledges an interaction within Discord's three seconds, with a second attempt if the first one's reply was lost.
Replies nothing."""

import asyncio
from typing import Any, Final

import aiohttp
import discord

from fairlead.channels.discord.outbound.rest import ALREADY_ACKNOWLEDGED
from fairlead.observe import log

_LIMITS_SEC: Final = (2.0, 10.0)
"""The second attempt begins within Discord's three seconds. It may take longer, because its reply at least tells
whether the first one arrived."""


async def acknowledge(interaction: discord.Interaction[Any], **how: bool) -> bool:
    """True if Discord has the acknowledgement; it refuses a second one only if the first one arrived."""
    problem: Exception | None = None
    for limit in _LIMITS_SEC:
        try:
            async with asyncio.timeout(limit):
                await interaction.response.defer(**how)
        except discord.HTTPException as refused:
            if refused.code == ALREADY_ACKNOWLEDGED:
                return True
            problem = refused
            break
        except (aiohttp.ClientError, OSError) as broken:
            problem = broken
        else:
            return True
    log.warning("an interaction could not be acknowledged", message=repr(problem))
    return False
