"""Checks, beside the daemon's work, the lines that no start has read because a snapshot covers them.

It reads a little at a time, off the event loop, and rests in between: neither a start nor an append waits for it.
"""

import asyncio
from pathlib import Path
from typing import Final

from fairlead.errors import Code
from fairlead.kit.files import Disk
from fairlead.observe import log
from fairlead.store.history import Offload
from fairlead.store.reader import DamagedLine, Position, check_some

DELAY_SECONDS: Final = 5.0
"""After a start, which has the disk for itself."""

AGAIN_SECONDS: Final = 86400.0
RETRY_SECONDS: Final = 60.0

REST_FACTOR: Final = 3
"""After each step, rest this many times as long as it took."""


class JournalCheck:
    """`damage` names the first damaged line that was found; `checked_bytes` says how far the current round is."""

    def __init__(self, journal: Path, *, disk: Disk, offload: Offload, end: int) -> None:
        self._journal = journal
        self._disk = disk
        self._offload = offload
        self.end = end
        self.checked_bytes = 0
        self.rounds = 0
        self.damage = ""

    async def keep_checking(self) -> None:
        """For ever: once after the start, then once a day. Damage that was found stays until a person has acted."""
        await asyncio.sleep(DELAY_SECONDS)
        while not self.damage:
            try:
                await self._check_all()
            except DamagedLine as broken:
                self.damage = broken.message
                log.error("the journal is damaged", error_code=Code.E_JOURNAL_BROKEN, message=broken.message)
            except OSError as fault:
                log.warning("journal not checked", message=str(fault))
                await asyncio.sleep(RETRY_SECONDS)
            else:
                self.rounds += 1
                log.info("journal checked", bytes=self.checked_bytes, message="every checksum is right")
                await asyncio.sleep(AGAIN_SECONDS)

    async def _check_all(self) -> None:
        loop = asyncio.get_running_loop()
        position, end = Position(), self.end
        self.checked_bytes = 0
        while position.offset < end:
            began, before = loop.time(), position
            position = await self._offload(lambda: check_some(self._disk, self._journal, before, end))  # noqa: B023 - awaited
            self.checked_bytes = position.offset
            await asyncio.sleep((loop.time() - began) * REST_FACTOR)
