"""Files that go to another machine with a prompt, and pictures that come from there: blobs of the wire. Which of them
the wire still has, nobody knows; either end asks the other for one that is missing."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from fairlead.core.engine import EngineEvent, ImageProduced, InputFile, Noticed
from fairlead.core.machines.messages import BlobSent, BlobWanted, Order, SentFile, StoredImage
from fairlead.kit.tasks import OwnedTasks
from fairlead.machine_ports import Wire

ASK_AGAIN_SEC: Final = 20.0


class MachineFiles:
    """`post` gives the machine an order, if it is there; `tasks` own what is on its way."""

    def __init__(self, machine: str, wire: Wire, post: Callable[[Order], bool], tasks: OwnedTasks) -> None:
        self._machine = machine
        self._wire = wire
        self._post = post
        self._tasks = tasks
        self._paths: dict[str, str] = {}
        self._waiting: dict[str, asyncio.Future[bool]] = {}

    def rename(self, machine: str) -> None:
        """The wire knows the machine by this name from now on."""
        self._machine = machine

    async def send(self, files: Sequence[InputFile]) -> tuple[SentFile, ...]:
        sent: list[SentFile] = []
        for file in files:
            data = await asyncio.to_thread(Path(file.path).read_bytes)
            digest = hashlib.sha256(data).hexdigest()
            self._paths[digest] = file.path
            self._tasks.start(self._wire.put_blob(self._machine, digest, data), name=f"file {digest[:12]}")
            sent.append(SentFile(file.name, digest, file.media_type))
        return tuple(sent)

    async def send_again(self, digest: str) -> None:
        path = self._paths.get(digest)
        try:
            data = await asyncio.to_thread(Path(path or "").read_bytes)
        except OSError:
            self._post(BlobSent(digest=digest, is_gone=True))
            return
        await self._wire.put_blob(self._machine, digest, data)
        self._post(BlobSent(digest=digest))

    async def fetch_image(self, image: StoredImage) -> EngineEvent:
        """A picture that nobody has any more leaves a word in its place."""
        while True:
            data = await self._wire.get_blob(self._machine, image.digest)
            if data is not None:
                await self._wire.drop_blob(self._machine, image.digest)
                return ImageProduced(image.media_type, data)
            waiting = self._waiting.setdefault(image.digest, asyncio.get_running_loop().create_future())
            self._post(BlobWanted(digest=image.digest))
            try:
                async with asyncio.timeout(ASK_AGAIN_SEC):
                    if not await asyncio.shield(waiting):
                        return Noticed("A picture of this turn was lost.")
            except TimeoutError:
                self._waiting.pop(image.digest, None)

    def note_sent(self, sent: BlobSent) -> None:
        """The machine has put it on the wire again, or has not got it any more."""
        waiting = self._waiting.pop(sent.digest, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(not sent.is_gone)
