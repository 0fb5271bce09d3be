"""One other machine, as the daemon knows it: the link to its runner, and whether it is there. The turns that run there
are `remote_turns`'s business, the calls that it was asked `machine_calls`'s."""

import asyncio
from typing import Any, Final, Protocol

import msgspec

from fairlead.core import timestamps
from fairlead.core.machines.link import Link
from fairlead.core.machines.machine import Presence
from fairlead.core.machines.messages import (
    PROTOCOL,
    AgentTurnBegun,
    Beat,
    BlobSent,
    BlobWanted,
    DaemonHello,
    Fact,
    Live,
    Order,
    Replied,
    RunnerHello,
    ToolCalled,
    TurnShown,
    TurnTold,
)
from fairlead.core.trees import TreeSnapshot
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.tasks import OwnedTasks
from fairlead.machine_ports import Arrived, Wire
from fairlead.machines.endpoint import LinkEndpoint
from fairlead.machines.machine_calls import MachineCalls
from fairlead.machines.machine_files import MachineFiles
from fairlead.machines.remote_turns import RemoteTurns
from fairlead.observe import log

AWAY_SEC: Final = 20.0
"""A machine that was silent for this time is away."""
_FACTS: Final = msgspec.json.Decoder(Fact)
_LIVE: Final = msgspec.json.Decoder(Live)


class DaemonSide(Protocol):
    """What a machine needs of the daemon."""

    def now(self) -> str: ...

    def on_hello(self, machine: "RemoteMachine", hello: RunnerHello) -> None: ...

    def is_wanted(self, turn_id: str) -> bool:
        """Whether the job of this turn has not ended."""
        ...

    def may_have_begun(self, turn_id: str) -> bool:
        """Whether a runner that nobody can ask may have given this turn to its agent."""
        ...

    def on_agent_turn(self, machine: "RemoteMachine", begun: AgentTurnBegun) -> None: ...

    def on_tool_call(self, machine: "RemoteMachine", called: ToolCalled) -> None: ...

    def on_presence(self, machine: "RemoteMachine") -> None: ...

    def hello(self, machine: str) -> DaemonHello: ...

    def on_order(self) -> None:
        """An order was given that the daemon's journal led to."""
        ...

    def on_superseded(self) -> None: ...


class RemoteMachine:
    def __init__(
        self,
        name: str,
        wire: Wire,
        daemon: DaemonSide,
        *,
        epoch: int,
        runner_epoch: int,
        version: str,
        machine_id: str = "",
        away_since: str = "",
    ) -> None:
        self.name = name
        self.machine_id = machine_id
        self._wire = wire
        self._daemon = daemon
        self._version = version
        self._tasks = OwnedTasks(f"machine {name}")
        self.files = MachineFiles(name, wire, self.post, self._tasks)
        self.turns = RemoteTurns(self, self.files)
        self._closed = asyncio.Event()
        self._is_welcome = False
        self._told_step = 0
        self._has_new_orders = False
        self._heard_at = -AWAY_SEC
        self.presence = Presence(since=away_since)
        self.endpoint = LinkEndpoint(
            wire,
            name,
            "orders",
            Link(epoch, runner_epoch),
            owner=self,
            decode=_FACTS.decode,
            decode_live=_LIVE.decode,
        )
        self._calls = MachineCalls(epoch, self.endpoint.post)

    async def run(self) -> None:
        """Until it is closed, which ends nothing on the other machine."""
        try:
            async with self._tasks:
                self._tasks.start(self._watch_presence(), name="presence")
                self._tasks.start(self.endpoint.run(), name="link")
                await self._closed.wait()
        finally:
            # From here on the runner's answers are not read: a stop must not wait for one.
            self._is_welcome = False
            self._calls.fail_all(self._went_away())

    def rename(self, name: str) -> None:
        """The same machine and the same link: what is owed stays owed. Its runner is told how it is called now."""
        self.name = name
        self.endpoint.rename(name)
        self.files.rename(name)
        if self.endpoint.link.is_up:
            self._post_hello()

    def close(self) -> None:
        """The machine is known no more."""
        self._closed.set()

    @property
    def is_usable(self) -> bool:
        """Whether orders reach a runner that can be given any."""
        return self._is_welcome and self.presence.is_there

    @property
    def runner_epoch(self) -> int:
        return self.endpoint.link.peer_epoch

    def hear(self, arrived: Arrived) -> None:
        self.endpoint.hear(arrived)

    def post(self, order: Order) -> bool:
        """False if there is nobody to tell: a runner that comes later knows nothing of it."""
        return self.post_order(order) > 0

    def _post_hello(self) -> None:
        hello = self._daemon.hello(self.name)
        self._told_step = hello.step
        self.endpoint.post(hello)

    def tell_progress(self) -> None:
        """Only to a machine that was given orders: of the others, an older copy of the daemon cannot want anything
        twice."""
        hello = self._daemon.hello(self.name)
        if self._has_new_orders and hello.step > self._told_step and self.post(hello):
            self._has_new_orders, self._told_step = False, hello.step

    # --- machines.remote_turns.OrderLink

    def post_order(self, order: Order) -> int:
        if not self._is_welcome or not self.endpoint.link.is_up:
            return 0
        return self.endpoint.post(order)

    def is_owed(self, number: int) -> bool:
        return self.endpoint.link.is_owed(number)

    def may_have_begun(self, turn_id: str) -> bool:
        return self._daemon.may_have_begun(turn_id)

    def note_order(self) -> None:
        self._has_new_orders = True
        self._daemon.on_order()

    async def expect_snapshot(self, job_id: str, label: str, limit_sec: float) -> TreeSnapshot | None:
        """The files as they were before the agent of this job had its prompt: the next turn of the job looks. Raises
        E_MACHINE_AWAY, and what the machine says."""
        if not self.is_usable:
            raise self.away()
        return await self.turns.expect_snapshot(job_id, label, limit_sec)

    # --- calls

    async def call(self, name: str, result: Any, *, may_repeat: bool = True, **args: Any) -> Any:
        """What the machine says, as a `result`. Raises its FairleadError; E_MACHINE_AWAY if it is not there."""
        if not self.is_usable:
            raise self.away()
        return await self._calls.ask(name, result, args, may_repeat=may_repeat)

    def _went_away(self) -> str:
        return f"{self.name} went away before it answered."

    def away(self) -> FairleadError:
        if self.presence.problem:
            return error(Code.E_RUNNER_OLD, self.presence.problem)
        if not self.presence.since:
            return error(Code.E_MACHINE_AWAY, f"{self.name} was not heard of yet.")
        return error(Code.E_MACHINE_AWAY, f"{self.name} is away since {self.presence.since}.")

    # --- presence

    async def _watch_presence(self) -> None:
        while True:
            await asyncio.sleep(AWAY_SEC / 4)
            silent_sec = asyncio.get_running_loop().time() - self._heard_at
            if self.presence.is_there and silent_sec > AWAY_SEC:
                self._set_presence(is_there=False, since=timestamps.plus(self._daemon.now(), -silent_sec))
                self._calls.fail_all(self._went_away())

    def _note_sign(self) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        if not self.presence.is_there:
            self._set_presence(is_there=True, since=self._daemon.now())

    def _set_presence(self, *, is_there: bool, since: str) -> None:
        """One that went is away since it was last heard, not since somebody noticed."""
        self.presence = msgspec.structs.replace(self.presence, is_there=is_there, since=since)
        self._daemon.on_presence(self)

    # --- machines.endpoint.LinkOwner

    def on_new_peer(self, epoch: int) -> None:
        del epoch
        self._is_welcome = False
        self.turns.begin_link()
        self._post_hello()

    def on_receipt(self) -> None:
        self.turns.note_receipt()

    def on_message(self, number: int, message: Fact) -> None:
        self._note_sign()
        match message:
            case RunnerHello():
                self._daemon.on_hello(self, message)
            case TurnTold():
                self.turns.hear(message)
            case AgentTurnBegun():
                self._daemon.on_agent_turn(self, message)
            case Replied():
                self._calls.hear(message)
            case ToolCalled():
                self._daemon.on_tool_call(self, message)
            case BlobWanted():
                self._tasks.start(self.files.send_again(message.digest), name="blob")
            case BlobSent():
                self.files.note_sent(message)
        self.endpoint.take(number)

    def welcome(self, hello: RunnerHello) -> None:
        """The runner may be given orders: ask for the turns that somebody listens to, settle what nobody wants."""
        self.presence = msgspec.structs.replace(self.presence, clock=hello.clock, problem="")
        if hello.protocol != PROTOCOL:
            problem = f"{self.name} runs Fairlead {hello.version}, this daemon {self._version}."
            self.presence = msgspec.structs.replace(self.presence, problem=problem)
            log.warning("a runner of another version", machine=self.name, version=hello.version)
            return
        if self._is_welcome:
            return  # the same runner, which has other agents now
        self._is_welcome = True
        self.turns.settle([turn_id for turn_id in hello.turns if not self._daemon.is_wanted(turn_id)])
        self.turns.ask_again(hello.turns)
        self._calls.repeat(self._went_away())

    def on_live(self, message: Live) -> None:
        self._note_sign()
        match message:
            case TurnShown():
                self.turns.hear_live(message)
            case Beat():
                self.presence = msgspec.structs.replace(self.presence, clock=message.clock, running=message.running)

    def on_superseded(self, epoch: int) -> None:
        del epoch
        self._daemon.on_superseded()
