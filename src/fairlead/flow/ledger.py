"""The one place where facts are made.

1. `decide`, the numbering and `apply` happen in one step without an await, so that the same message arriving twice at
   once is accepted once.
2. Effects, replies and delivery wait until everything they were computed from is durable.
3. A change is only a wake-up: workers look at the state, never at the notification's content. A follower is called in
   the same step, so that the facts which follow at once (a message is taken, its job starts) share one sync.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from fairlead.core.decide import NOTHING, Command, Decision, decide
from fairlead.core.events import JournalEvent
from fairlead.core.fold import apply
from fairlead.core.limits import Limits
from fairlead.core.state import State
from fairlead.errors import Code, error
from fairlead.ports import Clock, Log

Announce = Callable[[JournalEvent], None]

STEPS_BEFORE_WATCHERS: Final = 2
"""Once a fact is durable, watchers are told this many steps of the event loop later: the scheduler and the turn, which
the same fact wakes, need two steps to start the agent's process, and watchers (edits of a status message) can wait."""


class Ledger:
    def __init__(self, state: State, journal: Log, clock: Clock, limits: Limits) -> None:
        self.state = state
        self.limits = limits
        self._journal = journal
        self._clock = clock
        self._sleepers: list[asyncio.Future[None]] = []
        self._unannounced: deque[tuple[int, tuple[JournalEvent, ...]]] = deque()
        self._announcers: list[Announce] = []
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
        """Decide, number and apply, without waiting for the disk. A caller that acts on them waits for it first."""
        now = self._clock.now()
        decision = decide(self.state, command, now, self.limits)
        if decision.events:
            first = self.state.seq + 1
            self._journal.append(
                now, first, decision.events
            )  # first, because encoding may fail: then nothing is applied
            for index, event in enumerate(decision.events):
                apply(self.state, first + index, now, event)
            self._unannounced.append((self.state.seq, decision.events))
            self._wake()
        return decision

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

    async def until_changed(self, since: int) -> None:
        """Returns as soon as the state has gone past seq `since`."""
        if self.state.seq > since:
            return
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.append(sleeper)
        await sleeper

    def wake(self) -> None:
        """Wake the workers that wait for a change: something outside of the state that they decide by has changed."""
        self._wake()

    @contextmanager
    def call_on_change(self, follower: Callable[[], None]) -> Generator[None]:
        """While the block lasts, `follower` is called in the very step of every change: the facts that it applies share
        the change's sync instead of waiting for one of their own. These facts are changes too, and call it again."""
        self._followers.append(follower)
        try:
            yield
        finally:
            self._followers.remove(follower)

    def announce_to(self, announce: Announce) -> None:
        self._announcers.append(announce)

    async def run_announcements(self) -> None:
        """Tell watchers of every fact that has become durable, in order, for ever."""
        while True:
            while self._unannounced:
                seq, events = self._unannounced[0]
                await self._journal.until_durable(seq)
                for _ in range(STEPS_BEFORE_WATCHERS):
                    await asyncio.sleep(0)
                self._unannounced.popleft()
                for event in events:
                    for announce in self._announcers:
                        announce(event)
            await self.until_changed(self.state.seq)

    def _wake(self) -> None:
        for follower in self._followers:
            follower()
        sleepers, self._sleepers = self._sleepers, []
        for sleeper in sleepers:
            if not sleeper.done():
                sleeper.set_result(None)
