"""Settles the ticks of schedules, each once. Sleeps until the next one is due, and looks at the clock in between.

A heap has the next tick of every active schedule; entries that no longer fit the state are dropped when they come up,
so neither a tick nor a change looks at the other schedules. Only a clock that was set back makes all of them be looked
at once.
"""

import asyncio
import contextlib
import heapq
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from fairlead.core import timestamps
from fairlead.core.decide.projects import project_to_work_in
from fairlead.core.decide.schedules import MoveDue, SettleTick, own_session, unfinished_run
from fairlead.core.schedules import LATE_SEC, Schedule
from fairlead.core.state import Project, State
from fairlead.errors import FairleadError
from fairlead.flow.ledger import Ledger
from fairlead.flow.schedules.checks import CheckRunner
from fairlead.flow.schedules.times import latest_tick, next_tick
from fairlead.flow.turns.scheduler import Scheduler
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log, log_failure
from fairlead.ports import Runtime

LOOK_AGAIN_SEC: Final = 20.0
"""How long the clock is trusted: it may be set, and a machine may sleep, while this process hears of neither."""

NOTICED_BACK_SEC: Final = 1.0
TICKS_AT_ONCE: Final = 50


class Ticking:
    def __init__(
        self,
        ledger: Ledger,
        checks: CheckRunner,
        runtimes: Mapping[str, Runtime],
        scheduler: Scheduler,
        *,
        mark_of: Callable[[int], str],
    ) -> None:
        self._ledger = ledger
        self._checks = checks
        self._runtimes = runtimes
        self._scheduler = scheduler
        self._mark_of = mark_of
        self._heap: list[tuple[str, int]] = []
        self._busy: set[int] = set()
        self._changed = asyncio.Event()
        self._latest_seen = ""

    @property
    def _state(self) -> State:
        return self._ledger.state

    def follow(self, number: int) -> None:
        """This schedule was made or changed."""
        schedule = self._state.schedules.get(number)
        if schedule is not None and schedule.status == "active" and schedule.due:
            heapq.heappush(self._heap, (schedule.due, number))
            self._changed.set()

    def load(self) -> None:
        """Once, before anything ticks: the only look at all schedules."""
        self._heap = [(s.due, s.number) for s in self._state.schedules.values() if s.status == "active" and s.due]
        heapq.heapify(self._heap)
        self._latest_seen = self._state.highest_ts

    async def run(self) -> None:
        """For ever."""
        self.load()
        async with TaskOwner("schedules", on_crash=self._report_crash) as owner:
            while True:
                self._changed.clear()
                await self._follow_clock()
                await self.settle_due(owner)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._seconds_to_wait()):
                        await self._changed.wait()

    def _report_crash(self, name: str, fault: Exception) -> None:
        log_failure("a tick crashed; it is tried again", fault, message=name)

    def _seconds_to_wait(self) -> float | None:
        """None, for ever, while there is nothing to wait for."""
        if not self._heap:
            return None
        due, _ = self._heap[0]
        if self._ledger.is_stalled:
            return LOOK_AGAIN_SEC
        return min(max(timestamps.seconds_between(self._ledger.now(), due), 0.001), LOOK_AGAIN_SEC)

    # --- the clock

    async def _follow_clock(self) -> None:
        """A clock that was set back brings ticks that seemed to be settled: those that ran are known by their message
        ids, the others have not had their time yet."""
        now = self._ledger.now()
        was_set_back = self._latest_seen and timestamps.seconds_between(now, self._latest_seen) > NOTICED_BACK_SEC
        self._latest_seen = now
        if not was_set_back or self._ledger.is_stalled:
            return
        log.warning("the clock was set back; schedules are computed again", message=now)
        for count, number in enumerate(list(self._state.schedules)):
            self._move_back(number, now)
            if count % TICKS_AT_ONCE == 0:
                await asyncio.sleep(0)

    def _move_back(self, number: int, now: str) -> None:
        schedule = self._state.schedules.get(number)
        if schedule is None or schedule.status != "active" or not schedule.terms.timing.cron:
            return
        expected = next_tick(schedule.terms.timing, now)
        if expected and expected < schedule.due:
            self._ledger.apply_now(MoveDue(number, expected))
            heapq.heappush(self._heap, (expected, number))

    # --- ticks

    async def settle_due(self, owner: TaskOwner) -> None:
        """Nothing is settled while the disk is full: what cannot be written has not happened."""
        count = 0
        while not self._ledger.is_stalled and (number := self._pop_due(self._ledger.now())) is not None:
            schedule = self._state.schedules[number]
            if schedule.terms.check or schedule.terms.session == "fresh":
                self._busy.add(number)
                owner.start(self._settle_slowly(number), name=f"schedule {number}")
            else:
                self._settle(schedule)
            count += 1
            if count % TICKS_AT_ONCE == 0:
                await asyncio.sleep(0)

    def _pop_due(self, now: str) -> int | None:
        while self._heap and self._heap[0][0] <= now:
            due, number = heapq.heappop(self._heap)
            schedule = self._state.schedules.get(number)
            is_current = schedule is not None and schedule.status == "active" and schedule.due == due
            if is_current and number not in self._busy:
                return number
        return None

    def _plan(self, schedule: Schedule) -> SettleTick:
        """Of several ticks that have passed, the latest counts; the others were missed."""
        timing, first, now = schedule.terms.timing, schedule.due, self._ledger.now()
        due = next_tick(timing, first)
        tick = first
        if due and due <= now:
            tick = latest_tick(timing, due, now)
            due = next_tick(timing, tick)
        is_missed = timestamps.seconds_between(tick, now) > LATE_SEC and schedule.terms.missed == "skip"
        return SettleTick(
            number=schedule.number,
            seen_due=schedule.due,
            tick=tick,
            due=due,
            outcome="missed" if is_missed else "ran",
            missed_from=first if tick != first else "",
        )

    def _settle(self, schedule: Schedule, plan: SettleTick | None = None) -> None:
        """Does not wait for the disk: the turn of the job does, before its agent is given anything."""
        plan = plan or self._plan(schedule)
        self._ledger.apply_now(plan)
        if schedule.last_outcome != "ran":
            log.warning("a tick did not run", schedule=plan.number, tick=plan.tick, reason=schedule.last_outcome)
        self.follow(plan.number)

    async def _settle_slowly(self, number: int) -> None:
        """With a check before the run, or with a session whose agent is ended first. The tick is settled afterwards, in
        one step: after a crash in between it is due again, and the check is made again."""
        try:
            schedule = self._state.schedules[number]
            plan = self._plan(schedule)
            if plan.outcome == "ran" and not unfinished_run(self._state, schedule):
                plan = await self._check_first(schedule, plan)
                if plan.outcome == "ran" and schedule.terms.session == "fresh":
                    await self._end_agent(schedule)
            was_set_back = self._ledger.now() < plan.tick  # the clock, during the check: the tick is not due yet
            if not self._ledger.is_stalled and not was_set_back:
                self._settle(schedule, plan)
        finally:
            self._busy.discard(number)
            self.follow(number)

    async def _check_first(self, schedule: Schedule, plan: SettleTick) -> SettleTick:
        if not schedule.terms.check:
            return plan
        project = self._project_of(schedule)
        if isinstance(project, FairleadError):
            return plan  # the run is refused for the same reason, and a person is told
        result = await self._checks.run(schedule.terms.check, project.path, self._mark_of(schedule.number))
        outcome = "ran" if result.passed else "check"
        return msgspec.structs.replace(plan, outcome=outcome, detail=result.detail)

    def _project_of(self, schedule: Schedule) -> Project | FairleadError:
        terms = schedule.terms
        session = self._state.session_at(terms.conversation, self._ledger.now())
        session = session or self._state.sessions.get(terms.session_key)
        return project_to_work_in(self._state, session=session, person=terms.person, asked_for=terms.project or None)

    async def _end_agent(self, schedule: Schedule) -> None:
        session = own_session(self._state, schedule, self._ledger.limits)
        runtime = self._runtimes.get(session.runtime) if session is not None else None
        if session is not None and runtime is not None:
            with self._scheduler.rest(session.session_key):
                await runtime.end_session(session.session_key, "stop")
