"""The first word to an interaction: within three seconds, and again where the line broke or was silent. No more."""

import asyncio
from typing import Any, Final

import aiohttp
import discord

from fairlead.channels.discord.outbound.rest import ALREADY_ACKNOWLEDGED
from fairlead.observe import log

_LIMITS_SEC: Final = (2.0, 10.0)
"""The second attempt still comes within Discord's three seconds; it may take longer, for its reply at least tells
whether the first was heard."""


async def acknowledge(interaction: discord.Interaction[Any], **how: bool) -> bool:
    """Whether Discord knows that we are at it. What it refuses because an earlier attempt had worked, has worked."""
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
