"""What one tick costs, beside thousands of schedules that are not due. The disk is left out: a sync costs the same."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from benchmarks.rows import Row, at_most, forget_earlier_rows
from benchmarks.sessions import state_with
from fairlead.core.conversation import ConversationRef
from fairlead.core.events import JournalEvent, ScheduleMade
from fairlead.core.fold import apply
from fairlead.core.keys import thread_key
from fairlead.core.limits import Limits
from fairlead.core.schedules import ScheduleTerms, Timing
from fairlead.core.state import State
from fairlead.flow.ledger import Ledger
from fairlead.flow.schedules.checks import NoChecks
from fairlead.flow.schedules.ticking import Ticking
from fairlead.flow.schedules.times import next_tick
from fairlead.flow.turns.queued_recheck import QueuedRecheck
from fairlead.flow.turns.scheduler import Scheduler
from fairlead.kit.tasks import TaskOwner
from fairlead.ports import Runtime

FEW: Final = 10
MANY: Final = 10_000
TIMES: Final = 7
_NOW: Final = "2026-01-01T00:00:00.000Z"
_NO_RUNTIMES: Final[Mapping[str, Runtime]] = {}


class _NoDisk:
    durable_seq = 0
    is_stalled = False
    damage = ""
    checked_bytes = 0

    def append(self, ts: str, first_seq: int, events: Sequence[JournalEvent]) -> None:  # noqa: ARG002
        self.durable_seq = first_seq + len(events) - 1

    def delay_sync(self, steps: int, *, is_begun: bool = False) -> None:
        pass

    async def until_durable(self, seq: int) -> None:
        pass


class _Clock:
    moment = _NOW

    def now(self) -> str:
        return self.moment


def _state_with_schedules(count: int) -> State:
    """The first ten fire on one day, each at another minute; the others in the rest of the month."""
    state = state_with(0)
    for number in range(1, count + 1):
        day = 2 if number <= FEW else 3 + number % 26
        timing = Timing(f"{number % 60} {number // 60 % 24} {day} * *", "Europe/Berlin")
        terms = ScheduleTerms(
            timing=timing,
            text="look at the failing tests",
            person="42",
            conversation=ConversationRef("bench", "fairlead", str(number)),
            session_key=thread_key(agent_id="fairlead", space_id="1", thread_id=str(number)).text,
            pre_authorised=True,
        )
        made = ScheduleMade(number=number, terms=terms, status="active", due=next_tick(timing, _NOW))
        apply(state, state.seq + 1, _NOW, made)
    return state


async def _seconds_per_tick(count: int) -> float:
    state, clock = _state_with_schedules(count), _Clock()
    ledger = Ledger(state, _NoDisk(), clock, Limits())
    scheduler = Scheduler(ledger, _NO_RUNTIMES, _refuse_turn, QueuedRecheck(ledger, {}))
    ticking = Ticking(ledger, NoChecks(), _NO_RUNTIMES, scheduler, mark_of=str)
    ticking.load()
    forget_earlier_rows()
    spent: list[float] = []
    async with TaskOwner("bench") as owner:
        for due in sorted(state.schedules[number].due for number in range(1, FEW + 1)):
            clock.moment = due
            began = time.perf_counter()
            await ticking.settle_due(owner)
            spent.append(time.perf_counter() - began)
    assert len(state.jobs) == FEW, "each tick is a job"
    return min(spent)


def _refuse_turn(*_given: object) -> NoReturn:
    raise AssertionError("nothing runs here")


def schedule_rows() -> list[Row]:
    pairs = [(asyncio.run(_seconds_per_tick(MANY)), asyncio.run(_seconds_per_tick(FEW))) for _ in range(TIMES)]
    many, few = min(a for a, _ in pairs), min(b for _, b in pairs)
    return [
        at_most(
            f"{MANY:,} schedules: cost of a tick",
            many * 1e6,
            few * 1e6,
            floor_name=f"{FEW} schedules",
            unit="µs",
            factor=2,
        )
    ]
