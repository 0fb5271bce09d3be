"""The files that people sent, as their agents get them: one directory for each session, and no way into another's.

1. A file is a copy of its blob, never a link: an agent may be allowed to change it, and blobs are durable facts that
   other sessions may share.
2. It is made again whenever a turn needs it, so nothing here has to survive a crash.
3. Its name begins with the id of its job. It stays as long as the state knows that job, so that an agent finds it in
   later turns; the directory stays as long as one of its files does.
"""

import asyncio
import functools
import hashlib
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from fairlead.core.engine import InputFile
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.inbound import Attachment
from fairlead.core.state import State
from fairlead.errors import Code, error
from fairlead.kit.file_names import clean_media_type, clean_name, name_on_disk
from fairlead.kit.files import NO_ROOM, Disk, make_private_directory, write_all
from fairlead.observe import log
from fairlead.ports import Blobs
from fairlead.store.history import Offload

INBOX_NAME: Final = "inbox"
Give = Callable[[Path | int], None]
_OF_A_JOB: Final = re.compile(r"(job_\d+_\d+)-\d+-")


class FileInboxes:
    """`give` makes a file or a directory that of the user under whom agents run, where that is another one."""

    def __init__(
        self,
        directory: Path,
        blobs: Blobs,
        *,
        disk: Disk,
        offload: Offload,
        give: Give | None = None,
    ) -> None:
        self._give = give
        self._directory = directory / INBOX_NAME
        self._blobs = blobs
        self._disk = disk
        self._offload = offload
        self._changing = asyncio.Lock()

    async def lay_out(
        self, session_key: SessionKeyText, job_id: JobId, attachments: Sequence[Attachment]
    ) -> tuple[InputFile, ...]:
        if not attachments:
            return ()
        inbox = self._directory / inbox_name(session_key)
        files: list[InputFile] = []
        for number, attachment in enumerate(attachments, 1):
            if not attachment.blob and not attachment.path:
                continue  # its bytes were refused
            path = inbox / f"{job_id}-{number}-{name_on_disk(attachment.name, attachment.media_type)}"
            data = await self._read(attachment)
            async with self._changing:
                await self._offload(functools.partial(lay_file, path, data, disk=self._disk, give=self._give))
            media_type = clean_media_type(attachment.media_type)
            files.append(InputFile(str(path), clean_name(attachment.name), media_type))
        return tuple(files)

    async def _read(self, attachment: Attachment) -> bytes:
        if attachment.blob:
            return await self._blobs.get(attachment.blob)
        path = Path(attachment.path)
        try:
            return await self._offload(lambda: self._read_laid_down(path))
        except OSError:
            raise error(Code.E_ATTACHMENT_GONE, f"{clean_name(attachment.name)} is no longer kept.") from None

    def _read_laid_down(self, path: Path) -> bytes:
        """An agent may write there: neither another place nor a link that it made is read."""
        if path.parent.parent != self._directory or path.is_symlink():
            raise FileNotFoundError
        return self._disk.read(path)

    def path_of(self, session_key: str) -> Path:
        """The inbox of a session, made if it is not there: a sandbox shows it before the first file comes."""
        inbox = self._directory / inbox_name(session_key)
        make_private_directory(inbox, disk=self._disk)
        if self._give is not None:
            self._give(inbox)
        return inbox

    def forget_unneeded(self, state: State) -> None:
        """At start: files of jobs that the state has forgotten go, and inboxes without any other file."""
        if not self._disk.exists(self._directory):
            return
        needed = _find_needed_jobs(state)
        for name in self._disk.listdir(self._directory):
            try:
                self._tidy(self._directory / name, needed.get(name, frozenset()))
            except OSError as fault:  # an agent may have closed a directory of its own to us: no reason not to start
                log.warning("an inbox could not be tidied", path=str(self._directory / name), message=str(fault))

    async def forget_unneeded_while_running(self, state: State) -> None:
        """The same for a daemon that stays up: one inbox at a time, and no file is laid out meanwhile."""
        if not self._disk.exists(self._directory):
            return
        listed: list[str] = await self._offload(lambda: self._disk.listdir(self._directory))
        for name in listed:
            async with self._changing:
                needed = _find_needed_jobs(state).get(name, frozenset())
                try:
                    await self._offload(functools.partial(self._tidy, self._directory / name, needed))
                except OSError as fault:
                    log.warning("an inbox could not be tidied", path=str(self._directory / name), message=str(fault))

    def _tidy(self, inbox: Path, needed_jobs: frozenset[str]) -> None:
        if not needed_jobs:
            self._disk.remove_tree(inbox)
            return
        for name in self._disk.listdir(inbox):
            of_job = _OF_A_JOB.match(name)
            if of_job is not None and of_job.group(1) not in needed_jobs:
                self._disk.unlink(inbox / name)


def inbox_name(session_key: str) -> str:
    """Readable, and never the same for two sessions."""
    digest = hashlib.blake2b(session_key.encode(), digest_size=16).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9_-]+', '-', session_key)[:80]}-{digest}"


def _find_needed_jobs(state: State) -> dict[str, frozenset[str]]:
    """For each inbox the jobs whose files it must keep."""
    needed: dict[str, set[str]] = {}
    for job in state.jobs.values():
        if any(a.blob or a.path for a in job.attachments):
            needed.setdefault(inbox_name(job.session_key), set()).add(job.job_id)
        for attachment in job.attachments:
            if attachment.path:  # laid down by an earlier version, under the id of the job that first had it
                path = Path(attachment.path)
                needed.setdefault(path.parent.name, set()).add(path.name.partition("-")[0])
    return {name: frozenset(jobs) for name, jobs in needed.items()}


def lay_file(path: Path, data: bytes, *, disk: Disk, give: Give | None) -> None:
    """Write a file that an agent may read into its inbox. `give` lets the agents' own user use it; None where they have
    none. Raises E_DISK_FULL."""
    try:
        make_private_directory(path.parent, disk=disk)
        # A new file in any case: what stands there now may be a link that an agent made.
        with suppress(FileNotFoundError):
            disk.unlink(path)
        handle = disk.open_new(path)
        try:
            write_all(handle, data, disk=disk)
            if give is not None:
                give(handle)  # and not by its name, behind which an agent may have put another file
        finally:
            disk.close(handle)
        if give is not None:
            give(path.parent)
    except OSError as fault:
        if fault.errno not in NO_ROOM:
            raise
        with suppress(OSError):
            disk.unlink(path)
        raise error(Code.E_DISK_FULL) from fault
