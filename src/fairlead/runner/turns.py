"""The turns of a runner: each runs by itself, its lasting events go to the journal and then to the daemon.

1. Turns of one session run one after the other, in the order in which they were taken.
2. The hand-over is durable before the agent gets the first byte of its prompt, and no answer of the daemon is waited
   for. The order stands before it in the journal.
3. An event is told when it is durable, to a daemon that asked for its turn; what one sync made durable is one message.
   What is only shown is told at once.
4. A turn ends in exactly one TurnEnded or TurnFailed, whatever its runtime does, and nothing of it is left running.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from weakref import WeakValueDictionary

import msgspec

from fairlead.core import engine
from fairlead.core.engine import AgentInitiated, HandingOver, TurnEnded, TurnFailed
from fairlead.core.ids import SessionKeyText
from fairlead.core.machines.messages import (
    ONLY_SHOWN,
    AgentTurnBegun,
    AnswerNoted,
    RunTurn,
    StartSnapshot,
    StoredImage,
    TurnEvent,
    TurnShown,
    TurnTold,
)
from fairlead.core.machines.runner_state import AgentTurnTaken, TurnEventsNoted, TurnsSettled, TurnTaken
from fairlead.errors import Code, FairleadError
from fairlead.kit.tasks import OwnedTasks
from fairlead.observe import log_failure
from fairlead.ports import Blobs, Runtime
from fairlead.runner.book import Book, ToDaemon, TurnInputs
from fairlead.runner.runtimes import RunnerRuntimes
from fairlead.runner.turn import RunnerTurn
from fairlead.tree_ports import NO_TREES, WorkTrees

SendBlob = Callable[[str], None]


class RunnerTurns:
    """`send_blob` puts a stored picture on the wire."""

    def __init__(
        self,
        book: Book,
        daemon: ToDaemon,
        *,
        runtimes: RunnerRuntimes,
        inputs: TurnInputs,
        images: Blobs,
        send_blob: SendBlob,
        trees: WorkTrees = NO_TREES,
    ) -> None:
        self._book = book
        self._daemon = daemon
        self._runtimes = runtimes
        self._inputs = inputs
        self._images = images
        self._send_blob = send_blob
        self._trees = trees
        self._tasks = OwnedTasks("turns")
        self._running: dict[str, tuple[RunnerTurn, asyncio.Task[None]]] = {}
        # A lock lasts as long as somebody holds it or waits for it: sessions come and go for years.
        self._orders: WeakValueDictionary[SessionKeyText, asyncio.Lock] = WeakValueDictionary()
        self._durable: dict[str, int] = {}
        self._told: dict[str, int] = {}
        self._taken_at: dict[str, str] = {}
        self._to_tell: set[str] = set()
        book.call_after_sync(self._tell_all)

    async def aclose(self) -> None:
        """End every turn with its agent."""
        for _, task in list(self._running.values()):
            task.cancel("the runner ends")
        await self._tasks.join()

    @property
    def count(self) -> int:
        return len(self._running)

    def mark_durable(self) -> None:
        """At a start: everything in the journal is."""
        self._durable = {turn_id: len(turn.events) for turn_id, turn in self._book.state.turns.items()}

    # --- orders

    def take(self, order: RunTurn) -> int:
        """Run a turn, or tell of one that is known; the number of the fact that the receipt waits for."""
        turn_id = order.turn_id
        if turn_id not in self._book.state.turns:
            if order.was_taken:
                self._tell_unknown(order)
                return 0
            number = self._book.apply_now(TurnTaken(order=order))
            self._taken_at[turn_id] = self._book.now()
            self._begin(turn_id, order, taken=number)
            self.tell_from(turn_id, order.since)
            return number
        self.tell_from(turn_id, order.since)
        return 0

    def begin_again(self) -> None:
        """At a start: the turns whose agents had no prompt."""
        for turn_id, turn in self._book.state.turns.items():
            if turn.order is not None and not turn.is_handed_over and not turn.is_ended:
                self._begin(turn_id, turn.order, taken=0)

    def settle(self, turn_ids: Sequence[str]) -> int:
        """The daemon has the ends of their jobs. What still runs of them was cancelled."""
        known = tuple(turn_id for turn_id in turn_ids if turn_id in self._book.state.turns)
        for turn_id in known:
            _, task = self._running.get(turn_id, (None, None))
            if task is not None:
                task.cancel("nobody wants this turn any more")
            self._durable.pop(turn_id, None)
            self._told.pop(turn_id, None)
            self._taken_at.pop(turn_id, None)
        return self._book.apply_now(TurnsSettled(turn_ids=known)) if known else 0

    def note_answer(self, session_key: str, request_id: str) -> bool:
        """False if the agent of this session had a response to this request already, or has not asked."""
        for turn_id, (running, _) in self._running.items():
            turn = self._book.state.turns.get(turn_id)
            if turn is None or turn.order is None or turn.order.invocation.session_key != session_key:
                continue
            asked = [e for e in turn.events if getattr(e, "request_id", "") == request_id]
            if asked and not any(isinstance(e, AnswerNoted | engine.RequestWithdrawn) for e in asked):
                running.resume(request_id)
                self.note(turn_id, [AnswerNoted(request_id=request_id)])
                return True
        return False

    # --- telling

    def forget_listener(self) -> None:
        """The daemon is a new process, or does not know this one yet: it asks for what it wants."""
        self._told.clear()

    def tell_from(self, turn_id: str, since: int) -> None:
        """The daemon listens to this turn from now on, and has its first `since` events."""
        self._told[turn_id] = since
        self._tell(turn_id)

    def _tell(self, turn_id: str) -> None:
        turn, told = self._book.state.turns.get(turn_id), self._told.get(turn_id)
        durable = self._durable.get(turn_id, 0)
        if turn is None or told is None or durable <= told or not self._daemon.is_up:
            return
        self._told[turn_id] = durable
        events = tuple(turn.events[told:durable])
        self._daemon.tell(TurnTold(turn_id=turn_id, first=told, events=events, at=self._book.now()))

    def _tell_unknown(self, order: RunTurn) -> None:
        """It was taken once, and is in no journal here: whether its agent had the prompt, nobody knows."""
        unknown = TurnFailed(Code.E_UNKNOWN_AFTER_CRASH, "The runner does not know this turn any more.")
        self._daemon.tell(TurnTold(turn_id=order.turn_id, first=order.since, events=(unknown,), at=self._book.now()))

    def _show(self, live: TurnShown) -> None:
        if live.turn_id in self._told and self._daemon.is_up:
            self._daemon.show(live)

    def note(self, turn_id: str, events: Sequence[TurnEvent]) -> int:
        """Told when it is durable. The number to wait for, where somebody has to; 0 if the turn is over already."""
        turn = self._book.state.turns.get(turn_id)
        if turn is None or turn.is_ended:
            return 0
        stamped = tuple(self._stamp(turn_id, event) for event in events)
        number = self._book.apply_now(TurnEventsNoted(turn_id=turn_id, events=stamped))
        self._book.when_durable(number, partial(self._note_durable, turn_id, len(turn.events)))
        return number

    def _note_durable(self, turn_id: str, count: int) -> None:
        """What became durable by one sync is told in one message."""
        if turn_id not in self._book.state.turns:
            return
        self._durable[turn_id] = max(count, self._durable.get(turn_id, 0))
        self._to_tell.add(turn_id)

    def _tell_all(self) -> None:
        to_tell, self._to_tell = self._to_tell, set()
        for turn_id in sorted(to_tell):
            self._tell(turn_id)

    def _stamp(self, turn_id: str, event: TurnEvent) -> TurnEvent:
        """By this machine's clock, when it happened: the daemon may hear of it much later."""
        match event:
            case HandingOver():
                return HandingOver(self._book.now(), self._taken_at.pop(turn_id, ""))
            case TurnEnded() | TurnFailed():
                return msgspec.structs.replace(event, machine_time=self._book.now())
            case _:
                return event

    # --- running

    def _begin(self, turn_id: str, order: RunTurn, *, taken: int) -> None:
        """`taken` is the number of the fact that it was taken."""
        kept = self._book.state.turns[turn_id]
        turn = RunnerTurn(
            order,
            note=partial(self.note, turn_id),
            until_durable=self._book.until_durable,
            taken=taken,
            show=self._show,
            store_image=self._store_image,
            count=lambda: len(kept.events),
            take_snapshot=partial(self._take_snapshot, order) if order.snapshot else None,
        )
        task = self._tasks.start(self._run(turn, order), name=turn_id)
        self._running[turn_id] = (turn, task)
        task.add_done_callback(lambda _: self._running.pop(turn_id, None))

    async def _run(self, turn: RunnerTurn, order: RunTurn) -> None:
        async with self._orders.setdefault(order.invocation.session_key, asyncio.Lock()):
            if order.turn_id not in self._book.state.turns:
                return
            runtime = self._runtimes.find(order.agent)
            if runtime is None:
                self.note(order.turn_id, [_missing(order.agent, self._runtimes.names)])
                return
            self._runtimes.hold(order.turn_id, order.invocation.session_key, runtime)
            try:
                await turn.run(runtime, self._inputs)
            finally:
                self._runtimes.release(order.turn_id)

    async def _take_snapshot(self, order: RunTurn) -> StartSnapshot:
        """Raises nothing: a turn goes on without a snapshot, and people are told that it cannot be undone."""
        path, limit = order.invocation.project_path, order.snapshot_sec or None
        unchanged = self._trees.find_unchanged(path)
        if unchanged is not None:
            return StartSnapshot(snapshot=unchanged)
        try:
            async with asyncio.timeout(limit):
                return StartSnapshot(snapshot=await self._trees.snapshot(path, order.snapshot, limit_sec=limit))
        except TimeoutError:
            return StartSnapshot(code=Code.E_SNAPSHOT, message=f"It took longer than {order.snapshot_sec:.0f} s.")
        except FairleadError as fault:
            return StartSnapshot(code=fault.code, message=fault.message)
        except Exception as fault:  # whatever breaks here, the turn goes on without a snapshot
            log_failure("a snapshot of the files crashed", fault, turn_id=order.turn_id)
            return StartSnapshot(code=Code.E_INTERNAL, message=f"{type(fault).__name__}: {fault}")

    async def _store_image(self, image: engine.ImageProduced) -> StoredImage:
        digest = await self._images.put(image.data)
        self._send_blob(digest)
        return StoredImage(media_type=image.media_type, digest=digest)

    # --- turns that agents begin by themselves

    async def listen_to(self, agent: str, runtime: Runtime) -> None:
        """For ever: what the agents of this runtime say without having been asked."""
        async for initiated in runtime.watch_agent_turns():
            turn_id = f"{initiated.session_key}@{initiated.turn_id}"
            self._runtimes.hold(turn_id, initiated.session_key, runtime)
            await self._take_agent_event(agent, turn_id, initiated)
            if isinstance(initiated.event, TurnEnded | TurnFailed):
                self._runtimes.release(turn_id)

    async def _take_agent_event(self, agent: str, turn_id: str, initiated: AgentInitiated) -> None:
        if turn_id not in self._book.state.turns:
            taken = AgentTurnTaken(
                turn_id=turn_id,
                agent=agent,
                session_key=initiated.session_key,
                generation=initiated.generation,
                agent_turn=initiated.turn_id,
            )
            await self._book.until_durable(self._book.apply_now(taken))
            self.announce(taken)
        if isinstance(initiated.event, ONLY_SHOWN):
            turn = self._book.state.turns.get(turn_id)
            self._show(TurnShown(turn_id=turn_id, after=len(turn.events) if turn else 0, events=(initiated.event,)))
        elif isinstance(initiated.event, engine.ImageProduced):
            self.note(turn_id, [await self._store_image(initiated.event)])
        elif not isinstance(initiated.event, engine.Ready | HandingOver):
            self.note(turn_id, [initiated.event])

    def announce(self, taken: AgentTurnTaken) -> None:
        """The daemon learns of it, and asks for its events."""
        if self._daemon.is_up:
            self._daemon.tell(
                AgentTurnBegun(
                    turn_id=taken.turn_id,
                    agent=taken.agent,
                    session_key=taken.session_key,
                    generation=taken.generation,
                    agent_turn=taken.agent_turn,
                )
            )

    def announce_all(self) -> None:
        for turn in self._book.state.turns.values():
            if isinstance(turn.origin, AgentTurnTaken):
                self.announce(turn.origin)


def _missing(agent: str, available: Sequence[str]) -> TurnFailed:
    """It was removed after the daemon had given the order."""
    return TurnFailed(
        Code.E_CLI_NOT_FOUND, f"The agent {agent!r} is not on this machine; it has: {', '.join(available)}."
    )
