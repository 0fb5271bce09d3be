"""All other machines, as the daemon knows them: its own epoch, the wire, and one RemoteMachine for each.

1. The daemon gives no order before it has claimed its epoch. It does not claim one if another daemon has given orders
   since this journal was last written to: that is a second daemon, or this state is an older copy of itself. The
   server's claim says so, and where the server was set back too, what the runners have heard.
2. A runner is welcome when the journal has it: who it is, and what it can run.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from fairlead.core.machines.machine import Machine, Presence
from fairlead.core.machines.messages import (
    PROTOCOL,
    AgentTurnBegun,
    DaemonHello,
    RunnerHello,
    ToolCalled,
    ToolReplied,
)
from fairlead.core.machines.places import place
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.tasks import TaskOwner
from fairlead.machine_ports import DAEMON, Arrived, Connected, Disconnected, KeyRemoved, MachineRecords, Wire
from fairlead.machines.claims import ClaimKeeper, is_foreign
from fairlead.machines.remote_machine import RemoteMachine
from fairlead.observe import log
from fairlead.ports import ToolHandler, ToolReply

AgentTurnListener = Callable[[RemoteMachine, AgentTurnBegun], None]


KEEP_SEC: Final = 15.0
"""So often the daemon looks whether its claim is still its own. The state keeps 16 tokens: a server that loses what it
did not sync within its two minutes comes back with one of them."""
TAKE_OVER_EPOCHS: Final = 1 << 32
"""More than the epochs of a daemon that this journal does not know can be ahead."""


class Machines:
    """`make_token` gives a name unlike any other. With `takes_over` a person decided that this journal goes on,
    whatever another daemon did since; `on_taken_over` is called when that is done."""

    def __init__(
        self,
        wire: Wire,
        *,
        version: str,
        make_token: Callable[[], str],
        takes_over: bool = False,
        on_taken_over: Callable[[], None] = lambda: None,
    ) -> None:
        self._wire = wire
        self._version = version
        self._takes_over = takes_over
        self._on_taken_over = on_taken_over
        self._has_new_orders = False
        self._claim = ClaimKeeper(
            wire,
            DAEMON,
            make_token=make_token,
            record=self._record_epoch,
            known_tokens=lambda: self._known_records.tokens,
            has_grown=lambda: self._has_new_orders,
        )
        self._machines: dict[str, RemoteMachine] = {}
        self._records: MachineRecords | None = None
        self._tools: ToolHandler | None = None
        self._owner: TaskOwner | None = None
        self._begun = asyncio.Event()
        self._stopped = asyncio.Event()
        self._listeners: dict[tuple[str, str], AgentTurnListener] = {}
        self._begun_at = ""
        self.problem: FairleadError | None = None
        self.is_connected = False

    async def run(self, records: MachineRecords, tools: ToolHandler | None = None) -> None:
        """For ever. A daemon that may not give orders, or not any more, stays without its machines and says so."""
        self._records, self._tools = records, tools
        self._begun_at = records.now()
        try:
            await self._begin(records)
            async with TaskOwner("machines") as owner:
                self._owner = owner
                owner.start(self._keep_claim(), name="claim")
                owner.start(self._until_stopped(), name="stop")
                for name in records.machines:
                    self._add(name)
                self._begun.set()
                await self._listen()
        except FairleadError as problem:
            self.problem = problem
            log.error("no orders are given to other machines", error_code=problem.code, message=problem.message)
        finally:
            self._owner = None
        await asyncio.get_running_loop().create_future()

    async def _begin(self, records: MachineRecords) -> None:
        if not self._takes_over and is_foreign(await self._wire.read_claim(DAEMON), records.tokens):
            raise _make_taken_error()
        await self._claim.claim(records.last_epoch + (TAKE_OVER_EPOCHS if self._takes_over else 0))
        if self._takes_over:
            self._takes_over = False
            self._on_taken_over()

    @property
    def _known_records(self) -> MachineRecords:
        assert self._records is not None
        return self._records

    async def _record_epoch(self, epoch: int, token: str) -> None:
        self._has_new_orders = False
        await self._known_records.begin_epoch(epoch, token, took_over=self._takes_over)

    async def _keep_claim(self) -> None:
        """The claim, and what the runners know of it, follow the orders that are given."""
        while True:
            await asyncio.sleep(KEEP_SEC)
            if self.is_connected and self.problem is None:
                await self._confirm()
                for machine in self._machines.values():
                    machine.tell_progress()

    async def _until_stopped(self) -> None:
        await self._stopped.wait()
        assert self.problem is not None
        raise self.problem

    async def _listen(self) -> None:
        async for event in self._wire.events():
            match event:
                case Arrived():
                    machine = self._machines.get(event.machine)
                    if machine is not None and event.lane != "orders":
                        machine.hear(event)
                case Connected():
                    self.is_connected = True
                    await self._confirm()
                    for machine in self._machines.values():
                        machine.endpoint.resend_all()
                case Disconnected() | KeyRemoved():
                    # The operator of the server may not have added the daemon's account yet.
                    self.is_connected = False

    async def _confirm(self) -> None:
        if await self._claim.confirm() == "superseded":
            self.on_superseded()

    # --- which there are

    def _add(self, name: str) -> RemoteMachine:
        assert self._records is not None
        known = self._records.machines[name]
        machine = self._machines[name] = RemoteMachine(
            name,
            self._wire,
            self,
            epoch=self._claim.epoch,
            runner_epoch=known.runner_epoch,
            version=self._version,
            machine_id=known.machine_id,
            away_since=self._begun_at if known.runner_id else "",
        )
        if self._owner is not None:
            self._owner.start(machine.run(), name=name)
        return machine

    def follow(self) -> None:
        """The machines are those that the journal has, from now on."""
        if self._records is None or self._owner is None:
            return
        self._rename(self._records.machines)
        for name in [name for name in self._machines if name not in self._records.machines]:
            gone = self._machines.pop(name)
            gone.turns.give_up(error(Code.E_UNKNOWN_AFTER_CRASH, f"{name} was removed."))
            gone.close()
        for name in self._records.machines:
            if name not in self._machines:
                self._add(name)

    def _rename(self, known: Mapping[str, Machine]) -> None:
        """A machine that is known by its id goes on with all that it has begun, under its new name."""
        names = {machine.machine_id: machine.name for machine in known.values() if machine.machine_id}
        renamed = {names.get(machine.machine_id, name): machine for name, machine in self._machines.items()}
        for name, machine in renamed.items():
            if machine.name != name:
                machine.rename(name)
                self.on_presence(machine)
        self._machines = renamed

    async def get(self, name: str) -> RemoteMachine:
        """Waits until orders may be given. Raises E_MACHINE_NOT_FOUND."""
        await self._begun.wait()
        machine = self._machines.get(name)
        if machine is None:
            raise error(Code.E_MACHINE_NOT_FOUND, f"There is no machine {name[:60]!r}.")
        return machine

    def find(self, name: str) -> RemoteMachine:
        """At once. Raises E_MACHINE_AWAY, E_MACHINE_NOT_FOUND."""
        machine = self._machines.get(name)
        if machine is not None:
            return machine
        if self.problem is not None:
            raise self.problem
        if self._records is not None and name not in self._records.machines:
            raise error(Code.E_MACHINE_NOT_FOUND, f"There is no machine {name[:60]!r}.")
        raise error(Code.E_MACHINE_AWAY, f"{name} was not heard of yet.")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._machines)

    def presence(self, name: str) -> Presence:
        if self.problem is not None:
            return Presence(problem=self.problem.message)
        machine = self._machines.get(name)
        return Presence(since=self._begun_at) if machine is None else machine.presence

    def is_usable(self, name: str) -> bool:
        machine = self._machines.get(name)
        return machine is not None and machine.is_usable

    # --- turns

    def may_have_begun(self, turn_id: str) -> bool:
        return self._records is not None and self._records.may_have_begun(turn_id)

    def settle(self, name: str, turn_ids: Sequence[str]) -> None:
        machine = self._machines.get(name)
        if machine is not None:
            machine.turns.settle(turn_ids)

    def listen_to_agent(self, machine: str, agent: str, listener: AgentTurnListener) -> None:
        """Who is told of the turns that this agent begins by itself."""
        self._listeners[machine, agent] = listener

    # --- machines.remote_machine.Daemon

    def now(self) -> str:
        return "" if self._records is None else self._records.now()

    def on_hello(self, machine: RemoteMachine, hello: RunnerHello) -> None:
        if self._owner is not None:
            self._owner.start(self._meet(machine, hello), name=f"meet {machine.name}")

    async def _meet(self, machine: RemoteMachine, hello: RunnerHello) -> None:
        assert self._records is not None
        epoch = machine.runner_epoch
        if self._records.is_set_back(hello):
            self.on_superseded()
            return
        try:
            await self._records.meet(machine.name, hello, epoch)
        except FairleadError as refusal:
            log.warning("a runner is not heard", machine=machine.name, error_code=refusal.code, message=refusal.message)
            return
        if machine.runner_epoch == epoch:
            machine.welcome(hello)
            self.on_presence(machine)

    def is_wanted(self, turn_id: str) -> bool:
        return self._records is None or self._records.is_wanted(turn_id)

    def on_agent_turn(self, machine: RemoteMachine, begun: AgentTurnBegun) -> None:
        listener = self._listeners.get((machine.name, begun.agent))
        if not self._known_records.works_at(machine.name, begun.session_key):
            log.warning("a runner speaks for a session that is not its own", machine=machine.name)
            machine.turns.settle([begun.turn_id])
        elif self._records is not None and not self._records.wants_agent_turn(begun):
            machine.turns.settle([begun.turn_id])
        elif listener is not None:
            listener(machine, begun)

    def on_tool_call(self, machine: RemoteMachine, called: ToolCalled) -> None:
        if self._owner is not None and self._tools is not None:
            self._owner.start(self._carry_out(machine, called, self._tools), name=f"call {called.call_id}")

    async def _carry_out(self, machine: RemoteMachine, called: ToolCalled, tools: ToolHandler) -> None:
        """The same call, sent again, is carried out once: its id says so. A machine speaks for the sessions that work
        there, and for no other."""
        if not self._known_records.works_at(machine.name, called.holder.session_key):
            log.warning("a machine called a tool for a session that is not there", machine=machine.name)
            machine.post(ToolReplied(call_id=called.call_id, text="This session does not work here.", ok=False))
            return
        holder = msgspec.structs.replace(called.holder, project_path=place(machine.name, called.holder.project_path))
        try:
            reply = await tools.call(holder, call_id=called.call_id, tool=called.tool, arguments=called.arguments)
        except FairleadError as fault:
            reply = ToolReply(fault.message, ok=False)
        machine.post(ToolReplied(call_id=called.call_id, text=reply.text, ok=reply.ok))

    def on_presence(self, machine: RemoteMachine) -> None:
        if self._records is not None:
            self._records.on_presence(machine.name)

    def hello(self, machine: str) -> DaemonHello:
        records = self._known_records
        return DaemonHello(
            version=self._version, protocol=PROTOCOL, step=records.step, token=records.tokens[-1], machine=machine
        )

    def on_order(self) -> None:
        self._has_new_orders = True

    def on_superseded(self) -> None:
        """Another daemon gives orders now. This one stops at once: every frame of it would be refused anyway."""
        if self.problem is None:
            self.problem = _make_taken_error()
            log.error("superseded", error_code=self.problem.code, message=self.problem.message)
            self._stopped.set()


def _make_taken_error() -> FairleadError:
    return error(Code.E_MACHINES_TAKEN, "Another daemon has given orders since this state was last written to.")
