"""The first word to an interaction: said within three seconds, said again where the line broke. Decides nothing."""

from typing import Any, Final

import aiohttp
import discord

from fairlead.channels.discord.calls import ALREADY_ACKNOWLEDGED
from fairlead.observe import log

_ATTEMPTS: Final = 2


async def acknowledge(interaction: discord.Interaction[Any], **how: bool) -> bool:
    """Whether Discord knows that we are at it. What it refuses because an earlier attempt had worked, has worked."""
    problem: Exception | None = None
    for _ in range(_ATTEMPTS):
        try:
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
