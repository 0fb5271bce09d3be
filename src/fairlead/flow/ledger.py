"""The one place where facts are made.

1. `decide`, the numbering and `apply` happen in one step without an await, so that the same message arriving twice at
   once is accepted once.
2. Effects, replies and delivery wait until everything they were computed from is durable.
3. A change is only a wake-up: workers look at the state, never at the notification's content. A follower is called in
   the same step, so that the facts which follow at once (a message is taken, its job starts) share one sync.
4. An announcer is called twice with every batch, in the order of the journal: when it is applied, to note what it will
   tell and in which place, and when it is durable, to tell it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, Protocol

from fairlead.core.decide import NOTHING, Command, Decision, decide
from fairlead.core.events import (
    DeliveryPlanned,
    JobEnqueued,
    JobHandedOver,
    JobStarted,
    JournalEvent,
    TreeSnapshotTaken,
)
from fairlead.core.fold import apply
from fairlead.core.limits import Limits
from fairlead.core.state import State
from fairlead.errors import Code, error
from fairlead.ports import Clock, Log

STEPS_OF_AN_ACTION: Final = 4
"""So many steps of the event loop, once a fact is durable, its actors need: a turn to give its agent the
prompt or to start its process, the outbox to get an answer's request on the wire."""

STEPS_TO_A_PROMPT: Final = 1
"""In one step the turn makes everything that its agent needs with the prompt."""

STEPS_TO_A_PROCESS: Final = 3
"""So many steps of the event loop lie between the start of a job and its agent's process: the turn, the task that lives
as long as the process, and the one that starts it."""

ACTIONS_FIRST_SEC: Final = 0.01
"""Telling watchers takes about as long as an agent that answers at once, or as a short answer's way into the chat. So
they are told so much later of a fact upon which somebody acts, unless the next fact comes sooner."""

_BEGINNINGS: Final = (JobEnqueued, JobStarted, JobHandedOver, TreeSnapshotTaken)


def _is_sent(event: JournalEvent) -> bool:
    return isinstance(event, DeliveryPlanned) and bool(event.pieces)


class Announcer(Protocol):
    """Tells watchers of facts."""

    def note(self, events: Sequence[JournalEvent], /) -> None:
        """This batch was just applied, and may be lost in a crash: nobody may hear of it yet."""
        ...

    def announce(self, events: Sequence[JournalEvent], /) -> None:
        """This batch is durable. Every batch that was noted is announced, in the same order."""
        ...


class Ledger:
    def __init__(self, state: State, journal: Log, clock: Clock, limits: Limits) -> None:
        self.state = state
        self.limits = limits
        self._journal = journal
        self._clock = clock
        self._sleepers: list[tuple[asyncio.Future[None], Callable[[], bool] | None]] = []
        self._is_wake_up_due = False
        self._unannounced: deque[tuple[int, tuple[JournalEvent, ...]]] = deque()
        self._announcers: list[Announcer] = []
        self._followers: list[Callable[[], None]] = []

    def now(self) -> str:
        return self._clock.now()

    async def record_durably(self, command: Command) -> Decision:
        """Decide, write, and return when the facts are durable. A refusal is raised once its own facts are durable."""
        decision = self.apply_now(command)
        if decision is NOTHING:
            return decision  # nothing was decided, so nobody acts on it, and there is nothing to wait for
        await self._journal.until_durable(self.state.seq)
        if decision.refusal is not None:
            raise decision.refusal
        return decision

    def apply_now(self, command: Command) -> Decision:
        """Decide, number and apply, without waiting for the disk: a caller that acts on the facts waits for it first.
        The followers are called before this returns, so the scheduler may have started a job by then."""
        now = self._clock.now()
        decision = decide(self.state, command, now, self.limits)
        if decision.events:
            first = self.state.seq + 1
            # The journal comes before the state, because encoding may fail: then nothing is applied.
            self._journal.append(now, first, decision.events)
            for index, event in enumerate(decision.events):
                apply(self.state, first + index, now, event)
            self._unannounced.append((self.state.seq, decision.events))
            for announcer in self._announcers:
                announcer.note(decision.events)
            self.wake()
        return decision

    def let_turn_get_ready(self) -> None:
        """Called in the step of a job's start whose agent can do nothing before the sync: the turn gets everything
        ready in one step of the event loop, while the disk begins to write."""
        self._journal.delay_sync(STEPS_TO_A_PROMPT, is_begun=True)

    def let_agent_start(self) -> None:
        """Called in the step of a job's start. Its sync lets the agent's process start first, which then boots while
        the disk works; nothing has the prompt before its hand-over is durable."""
        self._journal.delay_sync(STEPS_TO_A_PROCESS)

    def let_sync_begin(self) -> None:
        """Nothing more is waited for: the turn has recorded its last fact before the agent gets the prompt."""
        self._journal.delay_sync(0)

    async def until_durable(self, seq: int) -> None:
        """Everything up to `seq` is on disk when this returns."""
        await self._journal.until_durable(seq)

    async def until_all_durable(self) -> None:
        """Everything in the state, as it is now, is durable when this returns."""
        await self._journal.until_durable(self.state.seq)

    @property
    def is_stalled(self) -> bool:
        return self._journal.is_stalled

    def check_disk_space(self) -> None:
        """While the disk is full nothing new is taken, so that nothing taken is lost."""
        if self.is_stalled:
            raise error(Code.E_DISK_FULL)

    async def until_changed(self, since: int, *, concerns: Callable[[], bool] | None = None) -> None:
        """Returns as soon as the state has gone past seq `since`. With `concerns`, which must be quick, returns after
        the first change that it says yes to: most changes concern few workers, and each that wakes takes its time."""
        if self.state.seq > since and (concerns is None or concerns()):
            return
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.append((sleeper, concerns))
        await sleeper

    def wake(self) -> None:
        """Call the followers, then wake the workers: the state has changed, or something else that they decide by. The
        workers are woken some steps later: the turn or the delivery that a follower began goes before them."""
        for follower in self._followers:
            follower()
        if self._sleepers and not self._is_wake_up_due:
            self._is_wake_up_due = True
            self._wake_workers_after(STEPS_OF_AN_ACTION)

    def _wake_workers_after(self, steps: int) -> None:
        if steps:
            asyncio.get_running_loop().call_soon(self._wake_workers_after, steps - 1)
        else:
            self._wake_workers()

    def _wake_workers(self) -> None:
        self._is_wake_up_due = False
        sleepers, self._sleepers = self._sleepers, []
        for sleeper, concerns in sleepers:
            if sleeper.done():
                continue
            if concerns is None or concerns():
                sleeper.set_result(None)
            else:
                self._sleepers.append((sleeper, concerns))

    @contextmanager
    def call_on_change(self, follower: Callable[[], None]) -> Generator[None]:
        """While the block lasts, `follower` is called in the very step of every change: the facts that it applies share
        the change's sync instead of waiting for one of their own. These facts are changes too, and call it again."""
        self._followers.append(follower)
        try:
            yield
        finally:
            self._followers.remove(follower)

    def announce_to(self, announcer: Announcer) -> None:
        """Before the first fact: an announcer hears of every one."""
        self._announcers.append(announcer)

    async def run_announcements(self) -> None:
        """Tell watchers of every fact that has become durable, in order, for ever."""
        while True:
            while self._unannounced:
                seq, _ = self._unannounced[0]
                await self._until_acted_on(seq)
                await self._let_actions_end()
                self._announce_durable()
            await self.until_changed(self.state.seq)

    async def _until_acted_on(self, seq: int) -> None:
        await self._journal.until_durable(seq)
        for _ in range(STEPS_OF_AN_ACTION):
            await asyncio.sleep(0)

    async def _let_actions_end(self) -> None:
        if not self._is_acted_on():
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(ACTIONS_FIRST_SEC):
                while self._is_acted_on():
                    await self.until_changed(self.state.seq)
                    await self._until_acted_on(self.state.seq)

    def _is_acted_on(self) -> bool:
        """The newest of what watchers are not told yet is the beginning of a job, or an answer that is sent now."""
        _, newest = self._unannounced[-1]
        return any(isinstance(event, _BEGINNINGS) or _is_sent(event) for event in newest)

    def _announce_durable(self) -> None:
        while self._unannounced and self._unannounced[0][0] <= self._journal.durable_seq:
            _, events = self._unannounced.popleft()
            for announcer in self._announcers:
                announcer.announce(events)
