"""One other machine, as the daemon knows it: the link to its runner, the turns that run there, the calls it was asked.

1. A turn is asked for again on every new link (`RunTurn` with the number of events that were heard). A runner that
   knows it goes on telling of it; one that does not, takes it, unless a runner had taken it before.
2. The end of a turn's job in the journal settles its turns; nothing else does. A stream that is closed, because the
   daemon stops, leaves the turn running.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, Protocol

import msgspec

from fairlead.core import timestamps
from fairlead.core.engine import (
    EngineEvent,
    HandingOver,
    Invocation,
    TurnEnded,
    TurnFailed,
)
from fairlead.core.machines.link import Link
from fairlead.core.machines.machine import Presence
from fairlead.core.machines.messages import (
    PROTOCOL,
    AgentTurnBegun,
    AnswerNoted,
    Beat,
    BlobSent,
    BlobWanted,
    DaemonHello,
    Fact,
    Live,
    Order,
    Replied,
    RunnerHello,
    RunTurn,
    SettleTurns,
    StartSnapshot,
    StoredImage,
    Tell,
    ToolCalled,
    TurnEvent,
    TurnShown,
    TurnTold,
    WatchTurn,
)
from fairlead.core.machines.places import path_there
from fairlead.core.machines.turn_events import TurnReader
from fairlead.core.trees import TreeSnapshot
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.tasks import OwnedTasks
from fairlead.machine_ports import Arrived, Wire
from fairlead.machines.endpoint import LinkEndpoint
from fairlead.machines.machine_calls import MachineCalls, read_code
from fairlead.machines.machine_files import MachineFiles
from fairlead.observe import log

AWAY_SEC: Final = 20.0
"""A machine that was silent for this time is away."""
SETTLE_SEC: Final = 0.2
"""Turns that have ended are settled so much later, those of one machine together: nobody waits for it."""
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


class _OpenTurn:
    """A stream that somebody listens to."""

    def __init__(self, order: RunTurn | WatchTurn) -> None:
        self.order = order
        self.reader = TurnReader()
        self.events: asyncio.Queue[TurnEvent | FairleadError] = asyncio.Queue()
        self.number = 0
        self.tells: list[Tell] = []
        self.was_posted = isinstance(order, RunTurn) and order.invocation.is_asked_again
        """An order of it has left, of this process or of an earlier one."""
        self.was_taken = False


class _ExpectedSnapshot:
    """Of the files at the start of a turn. The machine takes it with the turn."""

    def __init__(self, label: str, limit_sec: float) -> None:
        self.label = label
        self.limit_sec = limit_sec
        self.told: asyncio.Future[StartSnapshot] = asyncio.get_running_loop().create_future()


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
        self._turns: dict[str, _OpenTurn] = {}
        self._ended_turns: set[str] = set()
        self._to_settle: list[str] = []
        self._snapshots: dict[str, _ExpectedSnapshot] = {}
        self._tasks = OwnedTasks(f"machine {name}")
        self.files = MachineFiles(name, wire, self.post, self._tasks)
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
            # Nothing is heard from here on: a stop must not wait for an answer.
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
        if not self._is_welcome or not self.endpoint.link.is_up:
            return False
        self.endpoint.post(order)
        return True

    def _post_hello(self) -> None:
        hello = self._daemon.hello(self.name)
        self._told_step = hello.step
        self.endpoint.post(hello)

    def _note_order(self) -> None:
        self._has_new_orders = True
        self._daemon.on_order()

    def tell_progress(self) -> None:
        """Only to a machine that was given orders: of the others, an older copy of the daemon cannot want anything
        twice."""
        hello = self._daemon.hello(self.name)
        if self._has_new_orders and hello.step > self._told_step and self.post(hello):
            self._has_new_orders, self._told_step = False, hello.step

    # --- turns

    async def listen(
        self, turn_id: str, agent: str, invocation: Invocation, *, limit_sec: float
    ) -> AsyncIterator[EngineEvent]:
        """The events of a turn, from its first on. Raises the FairleadError that forbids it."""
        files = await self.files.send(invocation.files)
        expected = self._snapshots.get(invocation.job_id)
        order = RunTurn(
            turn_id=turn_id,
            agent=agent,
            invocation=msgspec.structs.replace(invocation, project_path=path_there(invocation.project_path), files=()),
            files=files,
            limit_sec=limit_sec,
            snapshot="" if expected is None else expected.label,
            snapshot_sec=0.0 if expected is None else expected.limit_sec,
        )
        try:
            async for event in self._listen_to(turn_id, _OpenTurn(order)):
                yield event
        finally:
            self._end_snapshot(invocation.job_id, StartSnapshot(code=Code.E_SNAPSHOT, message="The turn has ended."))

    async def expect_snapshot(self, job_id: str, label: str, limit_sec: float) -> TreeSnapshot | None:
        """The files as they were before the agent of this job had its prompt: the next turn of the job looks. Raises
        E_MACHINE_AWAY, and what the machine says."""
        if not self.is_usable:
            raise self.away()
        expected = self._snapshots[job_id] = _ExpectedSnapshot(label, limit_sec)
        try:
            told = await expected.told
        finally:
            if self._snapshots.get(job_id) is expected:
                del self._snapshots[job_id]
        if told.code:
            raise error(read_code(told.code), told.message)
        return told.snapshot

    def _end_snapshot(self, job_id: str, told: StartSnapshot) -> None:
        expected = self._snapshots.get(job_id)
        if expected is not None and not expected.told.done():
            expected.told.set_result(told)

    async def watch(self, turn_id: str) -> AsyncIterator[EngineEvent]:
        """The events of a turn that an agent began by itself."""
        async for event in self._listen_to(turn_id, _OpenTurn(WatchTurn(turn_id=turn_id))):
            yield event

    async def _listen_to(self, turn_id: str, turn: _OpenTurn) -> AsyncIterator[EngineEvent]:
        self._turns[turn_id] = turn
        self._ask_for(turn_id)
        try:
            while True:
                event = await turn.events.get()
                if isinstance(event, FairleadError):
                    raise event
                if isinstance(event, AnswerNoted | StartSnapshot):
                    continue
                yield await self.files.fetch_image(event) if isinstance(event, StoredImage) else event
                if isinstance(event, TurnEnded | TurnFailed):
                    return
        finally:
            if self._turns.get(turn_id) is turn:
                del self._turns[turn_id]

    def _ask_for(self, turn_id: str) -> None:
        """On every new link: what the runner tells, it tells those who asked."""
        turn = self._turns[turn_id]
        if not self._is_welcome or not self.endpoint.link.is_up:
            return
        since = turn.reader.count
        if isinstance(turn.order, RunTurn):
            # An order that has left may have been taken by a runner whom nobody can ask any more.
            turn.was_taken = turn.was_taken or (turn.was_posted and self._daemon.may_have_begun(turn_id))
            turn.was_posted = True
            order = msgspec.structs.replace(turn.order, since=since, was_taken=turn.was_taken)
        else:
            order = msgspec.structs.replace(turn.order, since=since)
        turn.number = self.endpoint.post(order)
        self._note_order()
        for tell in turn.tells:
            self.endpoint.post(tell)

    def on_receipt(self) -> None:
        """A runner said that these are in its journal: one that does not know them later must not run them."""
        for turn in self._turns.values():
            if turn.number and not self.endpoint.link.is_owed(turn.number):
                turn.was_taken = True

    def _hear_events(self, said: TurnTold) -> None:
        turn = self._turns.get(said.turn_id)
        if turn is None:
            return
        turn.was_taken = True
        new = turn.reader.hear(said)
        if new is None:
            self._ask_for(said.turn_id)
            return
        answered = {event.request_id for event in new if isinstance(event, AnswerNoted)}
        for event in new:
            if isinstance(event, TurnShown):
                self._show(turn, event)
            elif isinstance(event, StartSnapshot):
                self._end_snapshot(said.turn_id.partition("#")[0], event)
            elif not answered or getattr(event, "request_id", "") not in answered:
                turn.events.put_nowait(_with_time(event, said.at))
        if new and isinstance(new[-1], TurnEnded | TurnFailed):
            self._ended_turns.add(said.turn_id)

    def _hear_live(self, said: TurnShown) -> None:
        turn = self._turns.get(said.turn_id)
        if turn is not None:
            for live in turn.reader.hear_live(said):
                self._show(turn, live)

    @staticmethod
    def _show(turn: _OpenTurn, live: TurnShown) -> None:
        for event in live.events:
            turn.events.put_nowait(event)

    def settle(self, turn_ids: Sequence[str]) -> None:
        """Their jobs have ended. If nobody hears this, the next link asks again. A turn that may still run is ended at
        once by this; one that has ended can wait."""
        if self._ended_turns.isdisjoint(turn_ids):
            self._post_settled(turn_ids)
            return
        self._ended_turns.difference_update(turn_ids)
        if not self._to_settle:
            asyncio.get_running_loop().call_later(SETTLE_SEC, self._settle_together)
        self._to_settle += turn_ids

    def _settle_together(self) -> None:
        turn_ids, self._to_settle = self._to_settle, []
        self._post_settled(turn_ids)

    def _post_settled(self, turn_ids: Sequence[str]) -> None:
        if turn_ids and self.post(SettleTurns(turn_ids=tuple(turn_ids))):
            self._note_order()

    def give_up_turns(self, problem: FairleadError) -> None:
        """The machine is forgotten: nobody will hear of them again."""
        for turn in self._turns.values():
            turn.events.put_nowait(problem)

    def is_listening_to(self, turn_id: str) -> bool:
        return turn_id in self._turns

    def tell(self, tell: Tell) -> None:
        """Owed as long as the turn of its session lasts: a new link is told again, and a runner knows what it heard."""
        for turn in self._turns.values():
            if isinstance(turn.order, RunTurn) and turn.order.invocation.session_key == tell.session_key:
                turn.tells.append(tell)
        self.post(tell)

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
        for turn in self._turns.values():
            turn.number = 0
        self._is_welcome = False
        self._ended_turns.clear()
        self._post_hello()

    def on_message(self, number: int, message: Fact) -> None:
        self._note_sign()
        match message:
            case RunnerHello():
                self._daemon.on_hello(self, message)
            case TurnTold():
                self._hear_events(message)
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
        self.settle([turn_id for turn_id in hello.turns if not self._daemon.is_wanted(turn_id)])
        for turn_id, turn in list(self._turns.items()):
            if isinstance(turn.order, WatchTurn) and turn_id not in hello.turns:
                turn.events.put_nowait(
                    error(Code.E_UNKNOWN_AFTER_CRASH, "The runner does not know this turn any more.")
                )
            else:
                self._ask_for(turn_id)
        self._calls.repeat(self._went_away())

    def on_live(self, message: Live) -> None:
        self._note_sign()
        match message:
            case TurnShown():
                self._hear_live(message)
            case Beat():
                self.presence = msgspec.structs.replace(self.presence, clock=message.clock, running=message.running)

    def on_superseded(self, epoch: int) -> None:
        del epoch
        self._daemon.on_superseded()


def _with_time(event: TurnEvent, at: str) -> TurnEvent:
    """A runner of an earlier version says when it told of a hand-over, and not when that was."""
    return HandingOver(at) if isinstance(event, HandingOver) and not event.machine_time else event
