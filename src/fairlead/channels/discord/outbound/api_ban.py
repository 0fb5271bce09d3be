"""A ban: Discord, or Cloudflare before it, answers 429 to every request until a time that it names. While it lasts no
request leaves this machine, from no part of Fairlead: each one may make the ban longer. Retries nothing."""

import asyncio
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec

from fairlead.kit.files import read_regular, replace_durably
from fairlead.observe import log

BAN_FILE: Final = "discord-ban.json"
UNNAMED_BAN_SEC: Final = 60.0
LONGEST_BAN_SEC: Final = 7 * 86400.0
"""Longer than a pending delivery waits; a longer time means a ban for ever, or a mistake."""


class BannedByDiscord(OSError):  # noqa: N818 - a condition of the world, not a mistake
    """Raised instead of a request. An OSError, so that discord.py passes it on and does not try again."""

    def __init__(self, wait_sec: float) -> None:
        super().__init__(f"Discord accepts no requests for another {wait_sec:.0f} s")
        self.wait_sec = wait_sec


class _Ban(msgspec.Struct, frozen=True):
    """`until` is wall time, which another process understands; `seconds` bounds it where the wall clock was set."""

    until: float
    seconds: float


def retry_after(headers: Mapping[str, str], *, default: float) -> float:
    """The wait that the answer asks for. The header is believed whatever the body is: Cloudflare's is HTML."""
    try:
        seconds = float(headers.get("Retry-After", ""))
    except ValueError:
        return default
    return min(max(0.0, seconds), LONGEST_BAN_SEC) if math.isfinite(seconds) else default


class ApiBan:
    """Shared by all clients of this process, and kept in a file for the next process."""

    def __init__(self, state_dir: Path) -> None:
        self._file = state_dir / BAN_FILE
        self._ends_at: float | None = None

    def trace(self) -> aiohttp.TraceConfig:
        """For a client of discord.py: sees each of its requests, also those that pass no `RestCalls`."""
        config = aiohttp.TraceConfig()
        config.on_request_start.append(self._on_start)
        config.on_request_end.append(self._on_end)
        return config

    def remaining_sec(self) -> float:
        loop = asyncio.get_running_loop()
        if self._ends_at is None:
            self._ends_at = loop.time() + self._read_remaining()
        return max(0.0, self._ends_at - loop.time())

    def begin(self, seconds: float) -> None:
        if seconds <= self.remaining_sec():
            return
        self._ends_at = asyncio.get_running_loop().time() + seconds
        log.error(
            "discord",
            message=f"Discord banned this machine for {seconds:.0f} s. Fairlead sends no requests until then.",
        )
        try:
            replace_durably(self._file, msgspec.json.encode(_Ban(time.time() + seconds, seconds)))
        except OSError as fault:
            log.warning("a ban was not written down", message=repr(fault))

    async def _on_start(self, _session: Any, _context: Any, params: aiohttp.TraceRequestStartParams) -> None:
        wait_sec = self.remaining_sec()
        if wait_sec > 0 and not _is_gateway(params.url.scheme):
            raise BannedByDiscord(wait_sec)

    async def _on_end(self, _session: Any, _context: Any, params: aiohttp.TraceRequestEndParams) -> None:
        """Discord's own rate limits answer in JSON and through a proxy that signs with `Via`: those are for one route,
        and discord.py waits for them."""
        response = params.response
        if response.status == 429 and not ("Via" in response.headers and response.content_type == "application/json"):
            self.begin(retry_after(response.headers, default=UNNAMED_BAN_SEC))

    def _read_remaining(self) -> float:
        try:
            ban = msgspec.json.decode(read_regular(self._file), type=_Ban)
        except (OSError, msgspec.DecodeError):
            return 0.0
        return min(ban.until - time.time(), ban.seconds)


def _is_gateway(scheme: str) -> bool:
    return scheme in {"ws", "wss"}
