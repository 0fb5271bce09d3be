"""What happened lately, for pages that are open: a ring of numbered live events, and the turns that run.

1. Each event has a number; a place in the feed is `epoch:number`, and the epoch is another one in each process. A page
   names the place up to which it has been rendered, and gets what came after it.
2. The ring forgets its oldest events. A page whose place it no longer knows is told so (`gap`) and is fetched again: it
   never shows half of what happened.
3. Events are kept from the first page on, and while pages are open: a daemon without a browser pays for none.
"""

import asyncio
import secrets
from collections import deque
from typing import Final

import msgspec

from fairlead.core.job_states import LIVE
from fairlead.core.live import AgentActed, JobMoved, LiveEvent
from fairlead.render.console.turns import LiveTurn, PartChange

MOST_EVENTS: Final = 2048
MOST_BYTES: Final = 512 * 1024
KEPT_TURNS: Final = 32
_EVENT_BYTES: Final = 64


class Happening(msgspec.Struct, frozen=True, gc=False):
    """One event with its number, and what it changed in its turn."""

    number: int
    event: LiveEvent
    change: PartChange | None = None
    size: int = 0


class ConsoleFeed:
    def __init__(self) -> None:
        self._epoch = secrets.token_hex(4)
        self._ring: deque[Happening] = deque()
        self._bytes = 0
        self._number = 0
        self._forgotten = 0
        self._is_wanted = False
        self._news = asyncio.Event()
        self._turns: dict[str, LiveTurn] = {}
        self._ended: dict[str, LiveTurn] = {}

    def place(self) -> str:
        """Where a page that is rendered now has to go on."""
        self._is_wanted = True
        return f"{self._epoch}:{self._number}"

    def number_of(self, place: str) -> int | None:
        """The number in a place of this process; None for any other."""
        epoch, _, number = place.partition(":")
        known = epoch == self._epoch and number.isascii() and number.isdecimal() and len(number) < 16
        return int(number) if known and int(number) <= self._number else None

    def name_of(self, number: int) -> str:
        return f"{self._epoch}:{number}"

    def after(self, number: int) -> list[Happening] | None:
        """What came after this number; None if some of it is forgotten."""
        if number < self._forgotten:
            return None
        ahead = self._number - number
        return list(self._ring)[-ahead:] if ahead else []

    async def wait_beyond(self, number: int, seconds: float) -> bool:
        """Whether something came after this number within the time."""
        if self._number > number:
            return True
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        return True

    def wake_all(self) -> None:
        """Pages look whether they are still served."""
        self._news.set()
        self._news = asyncio.Event()

    def turn(self, job_id: str) -> LiveTurn | None:
        """What is known of a turn that runs, or ran lately."""
        return self._turns.get(job_id) or self._ended.get(job_id)

    def note(self, event: LiveEvent) -> None:
        change = self._follow_turn(event)
        if self._is_wanted:
            self._keep(event, change)

    def _follow_turn(self, event: LiveEvent) -> PartChange | None:
        match event:
            case AgentActed():
                turn = self._turns.get(event.job_id)
                return None if turn is None else turn.note(event.event)
            case JobMoved() if event.state not in LIVE:
                self._end_turn(event.job_id)
            case JobMoved() if event.job_id not in self._turns:
                self._turns[event.job_id] = LiveTurn(event.job_id, event.session_key)
            case _:
                pass
        return None

    def _end_turn(self, job_id: str) -> None:
        turn = self._turns.pop(job_id, None)
        if turn is None or not self._is_wanted:
            return
        turn.shrink()
        self._ended[job_id] = turn
        while len(self._ended) > KEPT_TURNS:
            del self._ended[next(iter(self._ended))]

    def _keep(self, event: LiveEvent, change: PartChange | None) -> None:
        if isinstance(event, AgentActed) and change is None:
            return
        self._number += 1
        size = _EVENT_BYTES + (0 if change is None else len(change.text))
        self._ring.append(Happening(self._number, event, change, size))
        self._bytes += size
        while len(self._ring) > MOST_EVENTS or self._bytes > MOST_BYTES:
            forgotten = self._ring.popleft()
            self._bytes -= forgotten.size
            self._forgotten = forgotten.number
        self.wake_all()
