"""Whose turn it is. Looks at the state whenever it changes, records a start, and owns the turn until it has ended."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from fairlead.core.decide.job_ends import Cancelled, Failure
from fairlead.core.decide.scheduling import HandOver, StartNext
from fairlead.core.events import JobStarted
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.machines.places import machine_of
from fairlead.core.state import Job
from fairlead.errors import Code
from fairlead.flow.ledger import Ledger
from fairlead.flow.turns.missing_runtime import MissingRuntime
from fairlead.flow.turns.queued_recheck import QueuedRecheck
from fairlead.flow.turns.turn import Turn
from fairlead.kit.tasks import PausableTimeout, TaskOwner
from fairlead.machine_ports import NO_MACHINES, OtherMachines
from fairlead.ports import Runtime

MakeTurn = Callable[[Job, Runtime], Turn]


class Scheduler:
    def __init__(
        self,
        ledger: Ledger,
        runtimes: Mapping[str, Runtime],
        make_turn: MakeTurn,
        queued_recheck: QueuedRecheck,
        machines: OtherMachines = NO_MACHINES,
    ) -> None:
        self._machines = machines
        self._ledger = ledger
        self._runtimes = runtimes
        self._make_turn = make_turn
        self._queued_recheck = queued_recheck
        self._turns: dict[str, Turn] = {}
        self._resting: Counter[SessionKeyText] = Counter()
        self._closed = False
        self._looking = False
        self._patience: PausableTimeout | None = None
        self._is_hurried = False
        self._quiet = asyncio.Event()
        self._quiet.set()

    async def run(self) -> None:
        """For ever. Cancelling it ends every turn, processes included."""
        async with TaskOwner("turns") as owner:
            for queue in self._queued_recheck.held_queues:
                owner.start(self._release(queue, owner), name=f"recheck {queue[0]}")
            self._attach_all(owner)
            with self._ledger.call_on_change(lambda: self._start_all(owner)):
                self._start_all(owner)
                await asyncio.get_running_loop().create_future()

    def _attach_all(self, owner: TaskOwner) -> None:
        """Turns on other machines went on while no daemon ran: listen to them again."""
        state = self._ledger.state
        for job_id in (*state.running, *state.waiting):
            job = state.jobs[job_id]
            if job_id not in self._turns and job.cause != "agent" and machine_of(job.project_path):
                turn = self._make_turn(job, self._runtime_of(job))
                turn.attach()
                owner.start(self.watch_over(turn), name=job_id)

    async def _release(self, queue: list[JobId], owner: TaskOwner) -> None:
        for job_id in queue:
            await self._queued_recheck.recheck(job_id)
            self._start_all(owner)

    def _start_all(self, owner: TaskOwner) -> None:
        """Does not wait for the disk: each turn gets ready meanwhile, and asks its agent when its start is durable."""
        if self._looking:
            return  # a start, applied below, is a change of the state and calls this again
        self._give_texts()
        self._looking = True
        try:
            while self._may_start and (decision := self._ledger.apply_now(self._next_start())).events:
                if isinstance(decision.events[0], JobStarted):
                    self._begin(decision.job_id, owner)
        finally:
            self._looking = False

    def _give_texts(self) -> None:
        """Texts that people want in a turn that runs: mostly there are none."""
        state = self._ledger.state
        for session_key in {state.jobs[job_id].session_key for job_id in state.to_steer}:
            turn = self._turns.get(state.sessions[session_key].running_job_id or "")
            if turn is not None:
                turn.look_for_texts()

    @property
    def _may_start(self) -> bool:
        """A quick look, because it is asked at every change of the state, and most changes let no job start."""
        state = self._ledger.state
        return not self._closed and bool(state.ready or state.waiting)

    def _next_start(self) -> StartNext:
        tell = (name for name, runtime in self._runtimes.items() if runtime.capabilities.hand_over != "start")
        return StartNext(self._held_jobs(), frozenset(tell), self._away_machines())

    def _away_machines(self) -> frozenset[str]:
        return frozenset(name for name in self._ledger.state.machines if not self._machines.is_usable(name))

    def _held_jobs(self) -> frozenset[JobId]:
        sessions = self._ledger.state.sessions
        resting = (sessions[key].queue[:1] for key in self._resting if key in sessions)
        return frozenset(self._queued_recheck.held).union(*resting)

    @contextmanager
    def rest(self, session_key: SessionKeyText) -> Generator[None]:
        """No further job of this session starts meanwhile: a command that ends the agent must end no later turn."""
        self._resting[session_key] += 1
        try:
            yield
        finally:
            self._resting[session_key] -= 1
            self._resting += Counter()  # adding an empty counter removes counts of zero
            self._ledger.wake()

    def _begin(self, job_id: JobId, owner: TaskOwner) -> None:
        job = self._ledger.state.jobs[job_id]
        runtime = self._runtime_of(job)
        turn = self._make_turn(job, runtime)
        self._get_ready(turn, runtime)
        owner.start(self.watch_over(turn), name=job_id)

    def _get_ready(self, turn: Turn, runtime: Runtime) -> None:
        """What is noted in the step of the start shares its sync: the files, and the hand-over if the agent gets its
        prompt as soon as that is on disk. Where anything else is waited for, the turn notes the hand-over behind it: a
        crash meanwhile must leave a job that runs again by itself."""
        if not turn.job.awaits_hand_over or runtime.capabilities.is_remote:
            turn.note_unchanged_files()
            return
        agent = runtime.describe(turn.job.session_key)
        if agent.state != "Active" and not runtime.capabilities.starts_with_prompt:
            self._ledger.let_agent_start()
            return
        turn.note_unchanged_files()
        if agent.takes_prompt_at_once and turn.has_all_for_its_prompt:
            self._ledger.apply_now(HandOver(turn.job.job_id))
        self._ledger.let_turn_get_ready()

    def _runtime_of(self, job: Job) -> Runtime:
        runtime = self._runtimes.get(job.runtime or "")
        return runtime if runtime is not None else MissingRuntime(job.runtime or "", tuple(self._runtimes))

    def watch_over(self, turn: Turn) -> Coroutine[Any, Any, None]:
        """Run a turn to its end, and be able to stop it from now on, also before it has taken its first step."""
        self._turns[turn.job.job_id] = turn
        if not turn.outlives_daemon:
            self._quiet.clear()
        return self._run(turn)

    async def _run(self, turn: Turn) -> None:
        try:
            await turn.run()
        finally:
            del self._turns[turn.job.job_id]
            self._note_quiet()

    def _note_quiet(self) -> None:
        if all(turn.outlives_daemon for turn in self._turns.values()):
            self._quiet.set()

    def cancel(self, job_id: JobId, person: str, reason: str = "") -> bool:
        """Ask a running turn to end as cancelled; False if it does not run. The turn of a job that has ended may still
        have a line to log."""
        turn = self._turns.get(job_id)
        if turn is None or not turn.job.is_live:
            return False
        turn.stop(Cancelled(person, reason))
        return True

    async def drain(self, seconds: float) -> None:
        """Start nothing more; let what runs come to its end, and after `seconds`, or `hurry`, end it as E_SHUTDOWN."""
        self._closed = True
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with PausableTimeout(seconds) as self._patience:
                if self._is_hurried:
                    self._patience.expire()
                await self._quiet.wait()
        except TimeoutError:
            had = loop.time() - began
            for turn in [turn for turn in self._turns.values() if not turn.outlives_daemon]:
                turn.stop(Failure(Code.E_SHUTDOWN, f"Fairlead was shut down; the job had {had:.0f} s to finish."))
            await self._quiet.wait()

    def hurry(self) -> None:
        """End the running turns now: also if `drain` has not yet been called."""
        self._is_hurried = True
        if self._patience is not None:
            self._patience.expire()
