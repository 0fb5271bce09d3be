"""Removes, while the daemon runs, the files that nothing needs any more: a daemon that stays up for months frees disk
too. A few at a time, and never one that a fact names or is about to name."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from fairlead.core.state import State
from fairlead.kit.files import Disk, remove_leftovers
from fairlead.observe import log
from fairlead.ports import Durability
from fairlead.store.blobs import FileBlobs, named_blobs
from fairlead.store.history import Offload
from fairlead.store.inboxes import FileInboxes

TIDY_SECONDS: Final = 3600.0
"""Also how long a blob may be without a fact that names it, while its message is on the way into the journal."""


class Tidying:
    """`directories` are those in which files are replaced by way of temporary ones; `forget_logs` removes old logs."""

    def __init__(
        self, directories: Sequence[Path], *, disk: Disk, offload: Offload, forget_logs: Callable[[], object] = bool
    ) -> None:
        self._directories = directories
        self._disk = disk
        self._offload = offload
        self._forget_logs = forget_logs

    def remove_leftovers(self) -> None:
        """Temporary files of processes that were killed. Also for a start."""
        for directory in self._directories:
            if self._disk.exists(directory):
                remove_leftovers(directory, disk=self._disk)

    async def keep_tidy(self, state: State, journal: Durability, blobs: FileBlobs, inboxes: FileInboxes) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(TIDY_SECONDS)
            try:
                await self._offload(self.remove_leftovers)
                await self._offload(self._forget_logs)
                await blobs.forget_unnamed_while_running(
                    lambda: named_blobs(state), lambda: journal.until_durable(state.seq)
                )
                await inboxes.forget_unneeded_while_running(state)
            except OSError as fault:
                log.warning("files not tidied", message=str(fault))
