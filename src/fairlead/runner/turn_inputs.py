"""Makes of an order what a runtime of this machine takes: its directory, its workspace, the files that people sent."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from fairlead.core.engine import InputFile, Invocation
from fairlead.core.ids import BlobName
from fairlead.core.machines.messages import BlobSent, BlobWanted, RunTurn, SentFile
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.file_names import clean_media_type, clean_name, name_on_disk
from fairlead.kit.files import Disk, make_private_directory
from fairlead.machine_ports import Wire
from fairlead.ports import Blobs
from fairlead.runner.book import ToDaemon
from fairlead.store.directories import RealDirectories
from fairlead.store.inboxes import INBOX_NAME, Give, inbox_name, lay_file

ASK_AGAIN_SEC: Final = 15.0
WORKTREES_NAME: Final = "worktrees"
"""The directory of worktrees in the runner's own."""


class RealInputs:
    """runner.book.TurnInputs. `mark` begins the marks of this runner's agents, so that the next start finds and ends
    those that outlived it. `give` lets the agents' own user use a file, where they have one. Who the `daemon` is, is
    said after it was made."""

    def __init__(
        self,
        directory: Path,
        *,
        machine: str,
        wire: Wire,
        blobs: Blobs,
        disk: Disk,
        mark: str,
        give: Give | None = None,
    ) -> None:
        self._directory = directory
        self._machine = machine
        self._wire = wire
        self._blobs = blobs
        self._disk = disk
        self._mark = mark
        self._give = give
        self._directories = RealDirectories(directory)
        self._waiting: dict[str, asyncio.Future[bool]] = {}
        self.daemon: ToDaemon | None = None

    async def prepare(self, order: RunTurn) -> Invocation:
        invocation = order.invocation
        problem = self._find_problem(invocation.project_path)
        if problem:
            raise error(Code.E_INVALID_PATH, f"{self._machine}: {problem}")
        workspace = self._directory / "workspaces" / Path(invocation.workspace_path).name
        make_private_directory(workspace, disk=self._disk)
        files = await self.lay_out(order.files, session_key=invocation.session_key, job_id=invocation.job_id)
        return msgspec.structs.replace(
            invocation,
            workspace_path=str(workspace),
            mark=f"{self._mark}:{invocation.job_id}",
            files=files,
        )

    def _find_problem(self, path: str) -> str:
        """No agent works in the runner's own directory, but for the worktrees that lie there unless a setting puts them
        elsewhere."""
        if Path(path).resolve().is_relative_to((self._directory / WORKTREES_NAME).resolve()):
            return "" if Path(path).is_dir() else f"{path} does not exist."
        return self._directories.problem_at(path)

    async def lay_out(self, files: Sequence[SentFile], *, session_key: str, job_id: str) -> tuple[InputFile, ...]:
        """The files that people sent with a message, in the inbox of its session."""
        inbox = self._directory / INBOX_NAME / inbox_name(session_key)
        return tuple([await self._lay_out(file, inbox, f"{job_id}-{n}-") for n, file in enumerate(files, 1)])

    def on_blob(self, sent: BlobSent) -> None:
        waiting = self._waiting.get(sent.digest)
        if waiting is not None and not waiting.done():
            waiting.set_result(not sent.is_gone)

    async def _lay_out(self, file: SentFile, inbox: Path, prefix: str) -> InputFile:
        data = await self._fetch(file)
        path = inbox / (prefix + name_on_disk(clean_name(file.name), clean_media_type(file.media_type)))
        await asyncio.to_thread(lay_file, path, data, disk=self._disk, give=self._give)
        return InputFile(path=str(path), name=file.name, media_type=file.media_type)

    async def _fetch(self, file: SentFile) -> bytes:
        """Kept here, so that the turn can be run again after a crash, when the wire has forgotten it."""
        with suppress(FairleadError):  # not here yet, or damaged: the daemon has it
            return await self._blobs.get(BlobName(file.digest))
        while True:
            data = await self._wire.get_blob(self._machine, file.digest)
            if data is not None:
                await self._blobs.put(data)
                await self._wire.drop_blob(self._machine, file.digest)
                return data
            if not await self._ask_for(file.digest):
                raise error(Code.E_ATTACHMENT_GONE, f"{file.name} is gone.")

    async def _ask_for(self, digest: str) -> bool:
        """Whether the daemon has it still, or did not say."""
        waiting = self._waiting.setdefault(digest, asyncio.get_running_loop().create_future())
        if self.daemon is not None and self.daemon.is_up:
            self.daemon.tell(BlobWanted(digest=digest))
        try:
            async with asyncio.timeout(ASK_AGAIN_SEC):
                return await asyncio.shield(waiting)
        except TimeoutError:
            return True
        finally:
            self._waiting.pop(digest, None)
