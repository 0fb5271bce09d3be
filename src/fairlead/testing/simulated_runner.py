"""One life of a runner on the fakes: the real runner and its real journal, on a simulated disk and a wire in memory."""

import asyncio
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, Final

from fairlead.core.engine import HandingOver, Invocation
from fairlead.core.ids import BlobName
from fairlead.core.machines.messages import BlobSent, RunTurn
from fairlead.core.machines.runner_state import RUNNER_FACTS, RunnerFact, TurnEventsNoted, TurnTaken
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.files import make_private_directory
from fairlead.ports import Clock
from fairlead.runner.runner import Runner, RunnerBook, RunnerParts
from fairlead.runner.runtimes import RunnerRuntimes
from fairlead.store.small_journal import SmallJournal
from fairlead.testing.clock import LoopProcess
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.memory_wire import MemoryServer, MemoryWire
from fairlead.testing.runtime import AgentLog, ScriptedRuntime
from fairlead.testing.stepped_writer import SteppedWriter

HERE: Final = Path("/runner")


class PlainInputs:
    """runner.book.TurnInputs of a machine whose directories are all there, and whose turns have no files."""

    async def prepare(self, order: RunTurn) -> Invocation:
        return order.invocation

    def on_blob(self, sent: BlobSent) -> None:
        """Nobody asked for one."""


class NoCalls:
    async def handle(self, name: str, args: dict[str, Any]) -> Any:
        del args
        raise error(Code.E_INTERNAL, f"{name} is not answered here.")


class MemoryBlobs:
    """ports.Blobs that lie on the simulated disk of a runner, and so survive its process."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self._disk = disk

    async def put(self, data: bytes) -> BlobName:
        name = BlobName(sha256(data).hexdigest())
        path = HERE / name
        if not self._disk.exists(path):
            handle = self._disk.open_new(path)
            self._disk.write(handle, data)
            self._disk.sync(handle)
            self._disk.close(handle)
            self._disk.sync_directory(HERE)
        return name

    async def get(self, name: BlobName) -> bytes:
        try:
            return self._disk.read(HERE / name)
        except OSError:
            raise error(Code.E_ATTACHMENT_GONE) from None


class _WatchedBook(RunnerBook):
    def __init__(self, journal: SmallJournal, clock: Clock, writes: asyncio.Event, handed_over: set[str]) -> None:
        super().__init__(journal, clock)
        self._writes = writes
        self._handed_over = handed_over

    def apply_now(self, *facts: RunnerFact) -> int:
        for fact in facts:
            if isinstance(fact, TurnTaken):
                self._writes.set()
            elif isinstance(fact, TurnEventsNoted) and isinstance(fact.events[0], HandingOver):
                self._writes.set()
                self._handed_over.add(fact.turn_id.partition("#")[0])
        return super().apply_now(*facts)


class SimulatedRunner:
    """From its start to `kill`, which gives the disk as the next one finds it."""

    def __init__(
        self,
        name: str,
        server: MemoryServer,
        disk: SimulatedDisk,
        *,
        agents: AgentLog,
        life: int,
        clock: Clock,
        latency: Callable[[], float],
        seed: object,
        handed_over: set[str],
        slots: int = 2,
    ) -> None:
        self.name = name
        self.life = life
        self.disk = disk
        self._random = Random(f"{seed}/runner/{name}/{life}")
        self._server = server
        self._clock = clock
        self._latency = latency
        self._slots = slots
        self._handed_over = handed_over
        self.agent = ScriptedRuntime(agents, life=life, starts_in=lambda: self._random.expovariate(1 / 3), name="echo")
        self._process = LoopProcess(f"{seed}/runner {name} {life}")
        self.wire: MemoryWire | None = None
        self.runner: Runner | None = None
        self._book: RunnerBook | None = None
        self._writes = asyncio.Event()
        self.ended: FairleadError | None = None

    def start(self) -> None:
        self.task = self._process.start(self._run())

    async def _run(self) -> None:
        make_private_directory(HERE, disk=self.disk)
        self.wire = self._server.connect(self.name)
        journal = SmallJournal(
            HERE / "runner.ndjson",
            RUNNER_FACTS,
            disk=self.disk,
            make_writer=lambda: SteppedWriter(self._latency),
            on_broken=self._break,
        )
        self._book = _WatchedBook(journal, self._clock, self._writes, self._handed_over)
        self.runner = Runner(
            RunnerParts(
                machine=self.name,
                wire=self.wire,
                book=self._book,
                runtimes=RunnerRuntimes({"echo": self.agent}),
                inputs=PlainInputs(),
                images=MemoryBlobs(self.disk),
                calls=NoCalls(),
                make_token=lambda: f"{self._random.getrandbits(64):016x}",
                version="0",
                slots=self._slots,
            )
        )
        try:
            await self.runner.run()
        except FairleadError as end:
            self.ended = end
            self.agent.unplug()

    async def until_it_writes(self) -> None:
        """An order or a hand-over from now on."""
        self._writes.clear()
        await self._writes.wait()

    @property
    def kept_turns(self) -> list[str]:
        return [] if self._book is None else list(self._book.state.turns)

    @property
    def runner_id(self) -> str:
        return "" if self._book is None else self._book.state.runner_id

    @property
    def known_tokens(self) -> list[str]:
        return [] if self._book is None else list(self._book.state.tokens)

    def _break(self, fault: FairleadError) -> None:
        self.ended = fault

    def kill(self, rng: Random, *, power_lost: bool) -> SimulatedDisk:
        self.agent.unplug()
        if self.wire is not None:
            self._server.unplug(self.wire)
        found = self.disk.crash(rng, power_lost=power_lost)
        self._process.kill()
        return found
