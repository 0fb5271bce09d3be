"""The turns that run on another machine and that somebody here listens to.

1. A turn is asked for again on every new link (`RunTurn` with the number of events that were heard). A runner that
   knows it goes on telling of it; one that does not, takes it, unless a runner had taken it before.
2. The end of a turn's job in the journal settles its turns; nothing else does. A stream that is closed, because the
   daemon stops, leaves the turn running.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Final, Protocol

import msgspec

from fairlead.core.engine import EngineEvent, HandingOver, Invocation, TurnEnded, TurnFailed
from fairlead.core.machines.messages import (
    AnswerNoted,
    Order,
    RunTurn,
    SettleTurns,
    StartSnapshot,
    StoredImage,
    Tell,
    TurnEvent,
    TurnShown,
    TurnTold,
    WatchTurn,
)
from fairlead.core.machines.places import path_there
from fairlead.core.machines.turn_events import TurnReader
from fairlead.core.trees import TreeSnapshot
from fairlead.errors import Code, FairleadError, error
from fairlead.machines.machine_calls import read_code
from fairlead.machines.machine_files import MachineFiles

SETTLE_SEC: Final = 0.2
"""Turns that have ended are settled so much later, those of one machine together: nobody waits for it."""


class OrderLink(Protocol):
    """The way of orders to one machine."""

    def post_order(self, order: Order) -> int:
        """Its number; 0 if there is nobody to tell: a runner that comes later knows nothing of it."""
        ...

    def is_owed(self, number: int) -> bool:
        """Whether the runner has not said that this order is safe."""
        ...

    def may_have_begun(self, turn_id: str) -> bool:
        """Whether a runner that nobody can ask may have given this turn to its agent."""
        ...

    def note_order(self) -> None:
        """An order was given that the daemon's journal led to."""
        ...


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


class RemoteTurns:
    def __init__(self, link: OrderLink, files: MachineFiles) -> None:
        self._link = link
        self._files = files
        self._turns: dict[str, _OpenTurn] = {}
        self._ended_turns: set[str] = set()
        self._to_settle: list[str] = []
        self._snapshots: dict[str, _ExpectedSnapshot] = {}

    # --- listening

    async def listen(
        self, turn_id: str, agent: str, invocation: Invocation, *, limit_sec: float
    ) -> AsyncIterator[EngineEvent]:
        """The events of a turn, from its first on. Raises the FairleadError that forbids it."""
        files = await self._files.send(invocation.files)
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
                yield await self._files.fetch_image(event) if isinstance(event, StoredImage) else event
                if isinstance(event, TurnEnded | TurnFailed):
                    return
        finally:
            if self._turns.get(turn_id) is turn:
                del self._turns[turn_id]

    def is_listening_to(self, turn_id: str) -> bool:
        return turn_id in self._turns

    def give_up(self, problem: FairleadError) -> None:
        """The machine is forgotten: nobody will hear of them again."""
        for turn in self._turns.values():
            turn.events.put_nowait(problem)

    # --- asking

    def _ask_for(self, turn_id: str) -> None:
        """On every new link: what the runner tells, it tells those who asked."""
        turn = self._turns[turn_id]
        was_taken = turn.was_taken
        if isinstance(turn.order, RunTurn):
            # An order that has left may have been taken by a runner whom nobody can ask any more.
            was_taken = was_taken or (turn.was_posted and self._link.may_have_begun(turn_id))
            order = msgspec.structs.replace(turn.order, since=turn.reader.count, was_taken=was_taken)
        else:
            order = msgspec.structs.replace(turn.order, since=turn.reader.count)
        number = self._link.post_order(order)
        if not number:
            return
        turn.number, turn.was_taken, turn.was_posted = number, was_taken, True
        self._link.note_order()
        for tell in turn.tells:
            self._link.post_order(tell)

    def begin_link(self) -> None:
        """Whatever was ordered before, a new runner may not know."""
        for turn in self._turns.values():
            turn.number = 0
        self._ended_turns.clear()

    def ask_again(self, kept: Collection[str]) -> None:
        """The runner may be given orders; it keeps these turns."""
        for turn_id, turn in list(self._turns.items()):
            if isinstance(turn.order, WatchTurn) and turn_id not in kept:
                turn.events.put_nowait(
                    error(Code.E_UNKNOWN_AFTER_CRASH, "The runner does not know this turn any more.")
                )
            else:
                self._ask_for(turn_id)

    def note_receipt(self) -> None:
        """A runner said that these are in its journal: one that does not know them later must not run them."""
        for turn in self._turns.values():
            if turn.number and not self._link.is_owed(turn.number):
                turn.was_taken = True

    def tell(self, tell: Tell) -> None:
        """Owed as long as the turn of its session lasts: a new link is told again, and a runner knows what it heard."""
        for turn in self._turns.values():
            if isinstance(turn.order, RunTurn) and turn.order.invocation.session_key == tell.session_key:
                turn.tells.append(tell)
        self._link.post_order(tell)

    # --- hearing

    def hear(self, said: TurnTold) -> None:
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
                _show(turn, event)
            elif isinstance(event, StartSnapshot):
                self._end_snapshot(said.turn_id.partition("#")[0], event)
            elif not answered or getattr(event, "request_id", "") not in answered:
                turn.events.put_nowait(_with_time(event, said.at))
        if new and isinstance(new[-1], TurnEnded | TurnFailed):
            self._ended_turns.add(said.turn_id)

    def hear_live(self, said: TurnShown) -> None:
        turn = self._turns.get(said.turn_id)
        if turn is not None:
            for live in turn.reader.hear_live(said):
                _show(turn, live)

    # --- settling

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
        if turn_ids and self._link.post_order(SettleTurns(turn_ids=tuple(turn_ids))):
            self._link.note_order()

    # --- snapshots

    async def expect_snapshot(self, job_id: str, label: str, limit_sec: float) -> TreeSnapshot | None:
        """The files as they were before the agent of this job had its prompt: the next turn of the job looks. Raises
        what the machine says."""
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


def _show(turn: _OpenTurn, live: TurnShown) -> None:
    for event in live.events:
        turn.events.put_nowait(event)


def _with_time(event: TurnEvent, at: str) -> TurnEvent:
    """A runner of an earlier version says when it told of a hand-over, and not when that was."""
    return HandingOver(at) if isinstance(event, HandingOver) and not event.machine_time else event
