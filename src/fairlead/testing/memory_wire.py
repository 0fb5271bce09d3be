"""A wire in memory that does everything a wire may do: it loses, doubles, delays and reorders frames, it is cut for a
while, and its server forgets blobs and claims. What it does follows from a seed.

The server outlives its ends, as a real one does: each life of a daemon or a runner gets an end of its own."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from random import Random

from fairlead.machine_ports import Arrived, Claim, Connected, Disconnected, Lane, WireEvent

LARGEST: int = 64 * 1024


class WireWeather:
    """How bad it is now. All chances from 0 to 1; `delay` gives the seconds that a frame takes."""

    def __init__(self) -> None:
        self.loss = 0.0
        self.doubling = 0.0
        self.delay: Callable[[], float] = lambda: 0.0

    def clear_up(self) -> None:
        self.loss = self.doubling = 0.0


class MemoryServer:
    """What lies between the ends. `cut` names those that it cannot reach: machines, or the daemon."""

    def __init__(self, seed: object = 0, *, largest_frame: int = LARGEST) -> None:
        self.random = Random(f"{seed}/wire")
        self.weather = WireWeather()
        self.largest_frame = largest_frame
        self.carried = 0
        self.lost = 0
        self._ends: list[MemoryWire] = []
        self._claims: dict[str, Claim] = {}
        self._blobs: dict[tuple[str, str], bytes] = {}
        self._revision = 0
        self._cut: set[str] = set()
        self._waiting: list[asyncio.Future[None]] = []

    async def until_mended(self) -> None:
        """Returns when something that was cut is reached again."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        await waiting

    def connect(self, name: str) -> "MemoryWire":
        """An end: the daemon's, or that of a runner of this machine."""
        end = MemoryWire(self, name)
        self._ends.append(end)
        end.tell(Connected() if name not in self._cut else Disconnected("cut"))
        return end

    def unplug(self, end: "MemoryWire") -> None:
        """Its process is gone."""
        if end in self._ends:
            self._ends.remove(end)

    def cut(self, name: str) -> None:
        self._cut.add(name)
        for end in self._ends_of(name):
            end.tell(Disconnected("cut"))

    def mend(self, name: str) -> None:
        if name in self._cut:
            self._cut.discard(name)
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)
            for end in self._ends_of(name):
                end.tell(Connected())

    def mend_all(self) -> None:
        self.weather.clear_up()
        for name in sorted(self._cut):
            self.mend(name)

    def wipe(self) -> None:
        """The server comes back with an empty disk."""
        self._claims.clear()
        self._blobs.clear()
        self._revision = 0
        for end in list(self._ends):
            if end.name not in self._cut:
                end.tell(Disconnected("restarted"))
                end.tell(Connected())

    def put_back(self, name: str, claim: Claim | None) -> None:
        """The server's disk is an older copy."""
        if claim is None:
            self._claims.pop(name, None)
        else:
            self._claims[name] = claim

    def mute(self, name: str) -> None:
        """No frame reaches the ends that this name has now; what they ask for is answered."""
        for end in self._ends_of(name):
            end.is_deaf = True

    def is_cut(self, name: str) -> bool:
        return name in self._cut

    def _ends_of(self, name: str) -> list["MemoryWire"]:
        return [end for end in self._ends if end.name == name]

    # --- what ends ask for

    def carry(self, sender: "MemoryWire", to: str, arrived: Arrived) -> None:
        if sender not in self._ends or sender.name in self._cut:
            return
        self.carried += 1
        if self.random.random() < self.weather.loss:
            self.lost += 1
            return
        copies = 2 if self.random.random() < self.weather.doubling else 1
        loop = asyncio.get_running_loop()
        for _ in range(copies):
            delay = self.weather.delay()
            if delay > 0:
                loop.call_later(delay, self._arrive, to, arrived)
            else:
                loop.call_soon(self._arrive, to, arrived)

    def _arrive(self, to: str, arrived: Arrived) -> None:
        if to not in self._cut:
            for end in self._ends_of(to):
                if not end.is_deaf:
                    end.tell(arrived)

    def read_claim(self, name: str) -> Claim | None:
        return self._claims.get(name)

    def write_claim(self, name: str, claim: Claim, after: int) -> bool:
        current = self._claims.get(name)
        if (current.revision if current is not None else 0) != after:
            return False
        self._revision += 1
        self._claims[name] = Claim(claim.epoch, claim.token, self._revision)
        return True

    @property
    def blobs(self) -> dict[tuple[str, str], bytes]:
        return self._blobs


class MemoryWire:
    """machine_ports.Wire."""

    def __init__(self, server: MemoryServer, name: str) -> None:
        self.name = name
        self._server = server
        self.is_deaf = False
        self._events: asyncio.Queue[WireEvent] = asyncio.Queue()

    @property
    def largest_frame(self) -> int:
        return self._server.largest_frame

    def tell(self, event: WireEvent) -> None:
        self._events.put_nowait(event)

    def send(self, machine: str, lane: Lane, data: bytes) -> None:
        assert len(data) <= self.largest_frame, "too large for a frame"
        to = machine if self.name == "daemon" else "daemon"
        self._server.carry(self, to, Arrived(machine, lane, data))

    async def events(self) -> AsyncIterator[WireEvent]:
        while True:
            yield await self._events.get()

    async def _until_up(self) -> None:
        while self._server.is_cut(self.name):
            await self._server.until_mended()

    async def read_claim(self, name: str) -> Claim | None:
        await self._until_up()
        return self._server.read_claim(name)

    async def write_claim(self, name: str, claim: Claim, *, after: int) -> bool:
        await self._until_up()
        return self._server.write_claim(name, claim, after)

    async def put_blob(self, machine: str, digest: str, data: bytes) -> None:
        await self._until_up()
        self._server.blobs[machine, digest] = data

    async def get_blob(self, machine: str, digest: str) -> bytes | None:
        await self._until_up()
        data = self._server.blobs.get((machine, digest))
        return data if data is not None and hashlib.sha256(data).hexdigest() == digest else None

    async def drop_blob(self, machine: str, digest: str) -> None:
        if not self._server.is_cut(self.name):
            self._server.blobs.pop((machine, digest), None)

    async def aclose(self) -> None:
        self._server.unplug(self)
