"""A daemon's hub and a real runner with the echo agent, on a wire in memory, in virtual time or on a real loop."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from random import Random
from typing import Any

import msgspec

from fairlead.core.decide.machines import BeginMachinesEpoch, begin_epoch, is_set_back
from fairlead.core.engine import EngineEvent, Invocation
from fairlead.core.events import MachinesEpochBegun
from fairlead.core.fold.machines import epoch_begun
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.limits import Limits
from fairlead.core.machines.machine import Machine
from fairlead.core.machines.messages import AgentTurnBegun, RunnerHello
from fairlead.core.machines.runner_state import RUNNER_FACTS
from fairlead.core.state import State
from fairlead.errors import FairleadError
from fairlead.kit.files import make_private_directory
from fairlead.machines.hub import Machines
from fairlead.machines.remote_runtime import RemoteRuntime
from fairlead.ports import Runtime, ToolHandler
from fairlead.runner.remote_tools import RemoteTools
from fairlead.runner.runner import CallHandler, Runner, RunnerBook, RunnerParts
from fairlead.runner.runtimes import AgentSource, RunnerRuntimes
from fairlead.runtimes.echo import EchoRuntime
from fairlead.store.small_journal import SmallJournal
from fairlead.testing.clock import VirtualClock
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.memory_wire import MemoryServer
from fairlead.testing.simulated_runner import HERE, MemoryBlobs, NoCalls, PlainInputs
from fairlead.testing.stepped_writer import SteppedWriter
from fairlead.tree_ports import NO_TREES, WorkTrees

GPU = "gpu"
SESSION = SessionKeyText("agent:fairlead:user:local")


class Kept:
    """What a daemon's journal has of machines."""

    def __init__(self) -> None:
        self.state = State()
        self.known: dict[str, Machine] = {GPU: Machine(name=GPU)}


class Records:
    """machine_ports.MachineRecords in memory."""

    def __init__(self) -> None:
        self.kept = Kept()
        self.ended: set[str] = set()
        self.elsewhere: set[str] = set()
        self.met = asyncio.Event()

    @property
    def machines(self) -> Mapping[str, Machine]:
        return self.known

    def now(self) -> str:
        return "2026-01-05T08:00:00.000Z"

    @property
    def known(self) -> dict[str, Machine]:
        return self.kept.known

    @property
    def last_epoch(self) -> int:
        return self.kept.state.machines_epoch

    @property
    def tokens(self) -> list[str]:
        return self.kept.state.machines_tokens

    @property
    def step(self) -> int:
        return self.kept.state.machines_step

    async def begin_epoch(self, epoch: int, token: str, *, took_over: bool = False) -> None:
        command = BeginMachinesEpoch(epoch=epoch, token=token, took_over=took_over)
        for event in begin_epoch(self.kept.state, command, "", Limits()).events:
            assert isinstance(event, MachinesEpochBegun)
            epoch_begun(self.kept.state, "", event)

    def is_set_back(self, hello: RunnerHello) -> bool:
        return bool(hello.daemon_step) and is_set_back(self.kept.state, hello.daemon_step, hello.daemon_token)

    async def meet(self, machine: str, hello: RunnerHello, epoch: int) -> None:
        self.known[machine].agents = hello.agents
        self.known[machine].runner_epoch = epoch
        self.met.set()

    def is_wanted(self, turn_id: str) -> bool:
        return turn_id not in self.ended

    def works_at(self, machine: str, session_key: SessionKeyText) -> bool:
        return machine == GPU and session_key not in self.elsewhere

    def wants_agent_turn(self, begun: AgentTurnBegun) -> bool:
        return begun.turn_id not in self.ended

    def may_have_begun(self, turn_id: str) -> bool:
        del turn_id
        return False

    def on_presence(self, machine: str) -> None:
        del machine


class Stage:
    """`server` between the two; `disk` is the runner's."""

    def __init__(self, *, calls: CallHandler | None = None, runtimes: Mapping[str, Runtime] | None = None) -> None:
        self.server = MemoryServer()
        self.disk = SimulatedDisk()
        make_private_directory(HERE, disk=self.disk)
        self.records = Records()
        self.calls: CallHandler = calls or NoCalls()
        self.runtimes: Mapping[str, Runtime] = runtimes or {"echo": EchoRuntime()}
        self.source: AgentSource | None = None
        self.tools = RemoteTools()
        self.trees: WorkTrees = NO_TREES
        self._tokens = count(1)
        self.ends: dict[Runner, asyncio.Future[None]] = {}

    def copy_disk(self) -> SimulatedDisk:
        """As `cp -a` finds it: everything that was written, synced or not."""
        return self.disk.crash(Random(0), power_lost=False)

    def make_token(self) -> str:
        return f"token-{next(self._tokens)}"

    @asynccontextmanager
    async def daemon(
        self, tools: ToolHandler | None = None, *, on_taken_over: Callable[[], None] | None = None
    ) -> AsyncGenerator[Machines]:
        """With `on_taken_over` it takes over."""
        wire = self.server.connect("daemon")
        hub = Machines(
            wire,
            version="1",
            make_token=self.make_token,
            takes_over=on_taken_over is not None,
            on_taken_over=on_taken_over or (lambda: None),
        )
        running = asyncio.ensure_future(hub.run(self.records, tools))
        try:
            yield hub
        finally:
            self.server.unplug(wire)
            running.cancel()
            await asyncio.wait({running})

    @asynccontextmanager
    async def runner(self, disk: SimulatedDisk | None = None) -> AsyncGenerator[Runner]:
        disk = disk or self.disk
        wire = self.server.connect(GPU)
        journal = SmallJournal(
            HERE / "runner.ndjson",
            RUNNER_FACTS,
            disk=disk,
            make_writer=lambda: SteppedWriter(lambda: 0.001),
            on_broken=_no_fault,
        )
        runner = Runner(
            RunnerParts(
                machine=GPU,
                wire=wire,
                book=RunnerBook(journal, VirtualClock(asyncio.get_running_loop())),
                runtimes=RunnerRuntimes(self.runtimes, self.source),
                inputs=PlainInputs(),
                images=MemoryBlobs(disk),
                calls=self.calls,
                make_token=self.make_token,
                version="1",
                tools=self.tools,
                trees=self.trees,
            )
        )
        self.tools.daemon = runner
        running = self.ends[runner] = asyncio.ensure_future(runner.run())
        try:
            yield runner
        finally:
            self.server.unplug(wire)
            running.cancel()
            await asyncio.wait({running})

    async def remote_echo(self, hub: Machines) -> RemoteRuntime:
        """Once the runner has said what it can run."""
        await self.records.met.wait()
        machine = await hub.get(GPU)
        while not machine.is_usable:
            await asyncio.sleep(0.01)
        return RemoteRuntime(hub, GPU, self.records.known[GPU].agents[0], limit_sec=60.0)


def invocation(prompt: str, job: str = "job_1", **changes: Any) -> Invocation:
    plain = Invocation(
        job_id=JobId(job),
        session_key=SESSION,
        generation=1,
        project_name="gpu/trainer",
        project_path="gpu:/srv/trainer",
        workspace_path="/w",
        prompt=prompt,
        mark=f"m:{job}",
    )
    return msgspec.structs.replace(plain, **changes)


async def events_of(runtime: Runtime, turn: Invocation) -> list[EngineEvent]:
    return [event async for event in runtime.invoke(turn)]


def _no_fault(fault: FairleadError) -> None:
    raise AssertionError(fault)
