"""A runner from its start to its end: claims its epoch, takes orders into its journal, runs turns, answers calls.

1. An order is acknowledged when everything that it led to is in the journal, never before.
2. A start ends what the last process left: its agents are gone before this is called. Turns whose agents had their
   prompt are told as unknown; those whose agents had none run again.
3. Another process with this machine's name and a higher epoch supersedes this one: it ends itself, with its agents. It
   looks for one every few seconds, because the two share their orders, and it may never be given one that says so.
4. A journal that another process has taken over from, or that was set back, is not continued: the runner is a new one,
   and the daemon marks what the old one had as unknown.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, Protocol
from weakref import WeakValueDictionary

import msgspec

from fairlead.core.engine import Interrupt, Response
from fairlead.core.ids import BlobName
from fairlead.core.machines.link import Link
from fairlead.core.machines.messages import (
    PROTOCOL,
    Beat,
    BlobSent,
    BlobWanted,
    DaemonHello,
    EndSession,
    Fact,
    Live,
    MachineCall,
    Order,
    Replied,
    RunnerHello,
    RunTurn,
    SettleTurns,
    Tell,
    ToolReplied,
    WatchTurn,
)
from fairlead.core.machines.runner_state import (
    DaemonMet,
    EpochBegun,
    RunnerFact,
    RunnerFounded,
    RunnerState,
    end_lost_turns,
    has_unknown_owner,
)
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.tasks import OwnedTasks, TaskOwner
from fairlead.machine_ports import Arrived, Connected, Disconnected, KeyRemoved, Wire, WireEvent
from fairlead.machines.claims import CONFIRM_SEC, ClaimKeeper
from fairlead.machines.endpoint import LinkEndpoint
from fairlead.observe import log, log_failure
from fairlead.ports import Blobs, Clock
from fairlead.runner.book import TurnInputs
from fairlead.runner.runtimes import RunnerRuntimes
from fairlead.runner.turns import RunnerTurns
from fairlead.store.small_journal import SmallJournal
from fairlead.tree_ports import NO_TREES, WorkTrees

BEAT_SEC: Final = 5.0
REWRITE_BYTES: Final = 4 << 20
_ORDERS: Final = msgspec.json.Decoder(Order)


class CallHandler(Protocol):
    """Handles the calls of the daemon that are about this machine."""

    async def handle(self, name: str, args: dict[str, Any]) -> Any:
        """Raises FairleadError, CallRefused."""
        ...


class CallRefused(Exception):  # noqa: N818 - says what happened
    """A refusal that carries more than its code and words."""

    def __init__(self, code: Code, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class ToolReplies(Protocol):
    """The agents that wait for what the daemon says about their calls of Fairlead's own tools."""

    def on_reply(self, replied: ToolReplied) -> None: ...

    def repeat(self) -> None:
        """The daemon may not have heard of the calls that wait."""
        ...


class RunnerBook:
    """runner.book.Book: the journal and the state that its facts make."""

    def __init__(self, journal: SmallJournal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self.state = RunnerState()
        for fact in journal.facts:
            self.state.apply(fact)
        journal.facts.clear()

    def apply_now(self, *facts: RunnerFact) -> int:
        number = self._journal.append(self.now(), facts)
        for fact in facts:
            self.state.apply(fact)
        return number

    @property
    def last(self) -> int:
        return self._journal.last

    async def until_durable(self, number: int) -> None:
        await self._journal.until_durable(number)

    def when_durable(self, number: int, then: Callable[[], None]) -> None:
        self._journal.when_durable(number, then)

    def call_after_sync(self, then: Callable[[], None]) -> None:
        self._journal.after_sync = then

    def now(self) -> str:
        return self._clock.now()

    async def shrink(self) -> None:
        """Write the journal again when it has grown. What it costs does not grow with its age."""
        if self._journal.size > REWRITE_BYTES:
            await self._journal.rewrite(self.now(), self.state.facts)


class RunnerParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a runner is made of. `make_token` gives a new secret-free name, unlike any other. `serve_tools` lets the
    agents call Fairlead's own tools, for ever."""

    machine: str
    wire: Wire
    book: RunnerBook
    runtimes: RunnerRuntimes
    inputs: TurnInputs
    images: Blobs
    calls: CallHandler
    make_token: Callable[[], str]
    version: str = ""
    slots: int = 1
    trees: WorkTrees = NO_TREES
    tools: ToolReplies | None = None
    on_renamed: Callable[[str], None] = lambda _name: None
    """Told what people call this machine now, if that is another name than it knew."""
    serve_tools: Callable[[], Coroutine[Any, Any, None]] | None = None


class Runner:
    def __init__(self, parts: RunnerParts) -> None:
        self._parts = parts
        self._book = parts.book
        self._tasks = OwnedTasks(f"runner {parts.machine}")
        self._ended: asyncio.Future[FairleadError] | None = None
        self._endpoint: LinkEndpoint | None = None
        self._early: list[WireEvent] = []
        """What the wire said before this runner had its epoch."""
        self._calls_in_order: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._recorded = 0
        self._claim = ClaimKeeper(
            parts.wire,
            parts.machine,
            make_token=parts.make_token,
            record=self._record_epoch,
            known_tokens=lambda: self._book.state.tokens,
            has_grown=lambda: self._book.last != self._recorded,
        )
        self.is_connected = False
        self.turns = RunnerTurns(
            self._book,
            self,
            runtimes=parts.runtimes,
            inputs=parts.inputs,
            images=parts.images,
            send_blob=self._send_blob,
            trees=parts.trees,
        )

    @property
    def machine(self) -> str:
        return self._parts.machine

    @property
    def runner_id(self) -> str:
        return self._book.state.runner_id

    @property
    def kept_turns(self) -> tuple[str, ...]:
        return tuple(self._book.state.turns)

    @property
    def epoch(self) -> int:
        return self._claim.epoch

    async def run(self) -> None:
        """Until it is superseded, or its key is removed: raises the FairleadError that says why."""
        self._ended = asyncio.get_running_loop().create_future()
        try:
            async with TaskOwner(f"runner {self._parts.machine}") as owner:
                owner.start(self._until_ended(), name="end")
                owner.start(self._listen(), name="wire")
                await self._begin()
                for event in self._early:
                    self._hear(event)
                owner.start(self._beat(), name="beat")
                owner.start(self._keep_claim(), name="claim")
                if self._parts.serve_tools is not None:
                    owner.start(self._parts.serve_tools(), name="agent tools")
                owner.start(self._parts.runtimes.run(self.turns.listen_to, self._announce_agents), name="agents")
                if self._endpoint is not None:
                    owner.start(self._endpoint.run(), name="link")
                self.turns.begin_again()
        finally:
            await self.turns.aclose()
            await self._tasks.join()

    async def _begin(self) -> None:
        claim = await self._parts.wire.read_claim(self._parts.machine)
        state = self._book.state
        if not state.runner_id or has_unknown_owner(state, "" if claim is None else claim.token):
            if state.turns:
                log.warning(
                    "this journal is not continued", message=f"{len(state.turns)} turns were with another runner"
                )
            founded = RunnerFounded(runner_id=self._parts.make_token(), machine=self._parts.machine)
            await self._book.until_durable(self._book.apply_now(founded))
        lost = end_lost_turns(state)
        if lost:
            await self._book.until_durable(self._book.apply_now(*lost))
        self.turns.mark_durable()
        await self._claim.claim(state.epoch)
        self._endpoint = LinkEndpoint(
            self._parts.wire,
            self._parts.machine,
            "facts",
            Link(self.epoch, state.daemon_epoch),
            owner=self,
            decode=_ORDERS.decode,
        )

    async def _record_epoch(self, epoch: int, token: str) -> None:
        self._recorded = self._book.apply_now(EpochBegun(epoch=epoch, token=token))
        await self._book.until_durable(self._recorded)

    async def _until_ended(self) -> None:
        assert self._ended is not None
        raise await self._ended

    def _end(self, code: Code, message: str) -> None:
        self.fail(error(code, message))

    def fail(self, problem: FairleadError) -> None:
        """Ends the runner, with its agents: nothing can be written down any more, for example."""
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(problem)

    # --- the wire

    async def _listen(self) -> None:
        async for event in self._parts.wire.events():
            if self._endpoint is None and not isinstance(event, KeyRemoved):
                self._early.append(event)
            else:
                self._hear(event)

    def _hear(self, event: WireEvent) -> None:
        match event:
            case Arrived() if event.lane == "orders" and self._endpoint is not None:
                self._endpoint.hear(event)
            case Connected():
                self.is_connected = True
                self._tasks.start(self._confirm(), name="confirm")
            case Disconnected():
                self.is_connected = False
            case KeyRemoved():
                self._end(Code.E_MACHINE_REMOVED, f"The key of {self._parts.machine} is not valid any more.")
            case _:
                pass

    async def _confirm(self) -> None:
        if await self._is_ours() and self._endpoint is not None:
            self._endpoint.resend_all()

    async def _is_ours(self) -> bool:
        whose = await self._claim.confirm()
        if whose == "superseded":
            self.on_superseded(0)
        return whose == "ours"

    async def _keep_claim(self) -> None:
        while True:
            await asyncio.sleep(CONFIRM_SEC)
            if self.is_connected:
                await self._is_ours()

    async def _beat(self) -> None:
        while True:
            if self.is_up:
                self.show(Beat(clock=self._book.now(), running=self.turns.count))
            await asyncio.sleep(BEAT_SEC)
            await self._book.shrink()

    # --- runner.book.ToDaemon

    @property
    def is_up(self) -> bool:
        return self._endpoint is not None and self._endpoint.link.is_up

    def tell(self, fact: Fact) -> None:
        assert self._endpoint is not None
        self._endpoint.post(fact)

    def show(self, live: Live) -> None:
        assert self._endpoint is not None
        self._endpoint.send_live(live)

    # --- machines.endpoint.LinkOwner

    def on_new_peer(self, epoch: int) -> None:
        self._book.apply_now(DaemonMet(epoch=epoch))
        self.turns.forget_listener()
        self._say_hello()
        self.turns.announce_all()
        if self._parts.tools is not None:
            self._parts.tools.repeat()

    def _say_hello(self) -> None:
        self.tell(
            RunnerHello(
                runner_id=self._book.state.runner_id,
                version=self._parts.version,
                protocol=PROTOCOL,
                agents=self._parts.runtimes.offers(),
                slots=self._parts.slots,
                turns=tuple(self._book.state.turns),
                clock=self._book.now(),
                daemon_step=self._book.state.daemon_step,
                daemon_token=self._book.state.daemon_token,
            )
        )

    def _announce_agents(self) -> None:
        """A daemon that comes later is told all in its first greeting."""
        log.info("this machine has other agents", message=", ".join(self._parts.runtimes.names))
        if self.is_up:
            self._say_hello()

    def on_superseded(self, epoch: int) -> None:
        del epoch
        self._end(Code.E_RUNNER_SUPERSEDED, f"Another runner has the name {self._parts.machine} now.")

    def on_receipt(self) -> None:
        """What the daemon has heard it may forget again: turns are kept until they are settled."""

    def on_live(self, message: Any) -> None:
        """The daemon says nothing that is only shown."""

    def on_message(self, number: int, message: Order) -> None:
        """The receipt, when what the order led to is durable, and that of all orders before it."""
        self._book.when_durable(self._obey(message), partial(self._take, self.link_id, number))

    def _take(self, link: tuple[int, int], number: int) -> None:
        if self._endpoint is not None and link == self.link_id:
            self._endpoint.take(number)

    # --- orders

    def _obey(self, order: Order) -> int:
        """The number of the fact that must be durable before the receipt; 0 if there is none."""
        match order:
            case RunTurn():
                return self.turns.take(order)
            case SettleTurns():
                return self.turns.settle(order.turn_ids)
            case WatchTurn():
                self.turns.tell_from(order.turn_id, order.since)
            case Tell():
                self._in_order(order.session_key, self._instruct(order))
            case EndSession():
                self._in_order(order.session_key, self._end_session(order))
            case MachineCall():
                self._tasks.start(self._handle_call(order, self.link_id), name=order.name)
            case ToolReplied():
                if self._parts.tools is not None:
                    self._parts.tools.on_reply(order)
            case BlobWanted():
                self._send_blob(order.digest)
            case BlobSent():
                self._parts.inputs.on_blob(order)
            case DaemonHello():
                return self._note_hello(order)
        return 0

    @property
    def link_id(self) -> tuple[int, int]:
        assert self._endpoint is not None
        return self._endpoint.link.epoch, self._endpoint.link.peer_epoch

    def _note_hello(self, hello: DaemonHello) -> int:
        if hello.protocol != PROTOCOL:
            log.warning("the daemon has another version", version=hello.version, protocol=hello.protocol)
        if hello.machine and hello.machine != self._parts.machine:
            self._parts.on_renamed(hello.machine)
        state = self._book.state
        if hello.step <= state.daemon_step:
            return 0
        return self._book.apply_now(DaemonMet(epoch=state.daemon_epoch, step=hello.step, token=hello.token))

    def _in_order(self, session_key: str, work: Any) -> None:
        """What one session is told happens in the order of the orders."""
        lock = self._calls_in_order.setdefault(session_key, asyncio.Lock())

        async def do() -> None:
            async with lock:
                try:
                    await work
                except Exception as fault:  # an agent that cannot be told something ends nobody else's turn
                    log_failure("an agent could not be told", fault, session_key=session_key)

        self._tasks.start(do(), name=f"tell {session_key}")

    async def _instruct(self, order: Tell) -> None:
        runtime = self._parts.runtimes.find(order.agent, order.session_key)
        instruction: Response | Interrupt = order.instruction
        if runtime is None:
            return
        if isinstance(instruction, Response) and not self.turns.note_answer(order.session_key, instruction.request_id):
            return
        await runtime.instruct(order.session_key, instruction)

    async def _end_session(self, order: EndSession) -> None:
        runtime = self._parts.runtimes.find(order.agent, order.session_key)
        if runtime is not None:
            await runtime.end_session(order.session_key, "kill" if order.how == "kill" else "stop")

    async def _handle_call(self, call: MachineCall, link: tuple[int, int]) -> None:
        try:
            result = await self._parts.calls.handle(call.name, call.args)
            replied = Replied(call_id=call.call_id, result=msgspec.to_builtins(result))
        except CallRefused as refused:
            replied = Replied(call_id=call.call_id, code=refused.code, message=refused.message, details=refused.details)
        except FairleadError as fault:
            replied = Replied(call_id=call.call_id, code=fault.code, message=fault.message)
        except Exception as fault:  # whatever breaks, the daemon waits for a result
            log_failure("a call of the daemon crashed", fault, call=call.name)
            replied = Replied(call_id=call.call_id, code=Code.E_INTERNAL, message=f"{type(fault).__name__}: {fault}")
        if self.is_up and link == self.link_id:
            self.tell(replied)

    # --- blobs

    def _send_blob(self, digest: str) -> None:
        self._tasks.start(self._put_blob(digest), name=f"blob {digest[:12]}")

    async def _put_blob(self, digest: str) -> None:
        try:
            data = await self._parts.images.get(BlobName(digest))
        except FairleadError:
            if self.is_up:
                self.tell(BlobSent(digest=digest, is_gone=True))
            return
        await self._parts.wire.put_blob(self._parts.machine, digest, data)
        if self.is_up:
            self.tell(BlobSent(digest=digest))
