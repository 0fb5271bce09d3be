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


_OWN_RETRY_SEC: Final = 1.0
"""discord.py tries again by itself after a 5xx, and never sooner than this."""


async def acknowledge(interaction: discord.Interaction[Any], **how: bool) -> bool:
    """True if Discord has our acknowledgement. It refuses a second one: that is our own only if an earlier attempt of
    ours may have arrived, else another daemon on the same token was quicker, and answers."""
    problem: Exception | None = None
    loop = asyncio.get_running_loop()
    for attempt, limit in enumerate(_LIMITS_SEC):
        began = loop.time()
        try:
            async with asyncio.timeout(limit):
                await interaction.response.defer(**how)
        except discord.HTTPException as refused:
            may_have_arrived = attempt > 0 or loop.time() - began >= _OWN_RETRY_SEC
            if refused.code == ALREADY_ACKNOWLEDGED and may_have_arrived:
                return True
            problem = refused
            break
        except (aiohttp.ClientError, OSError) as broken:
            problem = broken
        else:
            return True
    log.warning("an interaction could not be acknowledged", message=repr(problem))
    return False
