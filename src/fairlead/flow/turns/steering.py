"""The texts that people give to a turn while it runs: each is written down, handed to the agent, and settled.

1. A text leaves its queue by a fact, and its first byte leaves when that fact is durable.
2. Every text that left its queue is settled before the turn's end is recorded: taken, queued again, cancelled with the
   turn, or failed because nobody knows.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol, Self

from fairlead.core.decide.job_ends import Outcome
from fairlead.core.decide.steering import BeginSteering, DeclineSteering, SettleSteering, is_foreign_in, takes_texts
from fairlead.core.engine import Steer, SteerResult
from fairlead.core.ids import JobId
from fairlead.core.state import Job
from fairlead.errors import FairleadError
from fairlead.flow.ledger import Ledger
from fairlead.kit.tasks import OwnedTasks
from fairlead.observe import log, log_failure
from fairlead.ports import Runtime

SETTLE_SEC: Final = 5.0
"""How long the agent's last word about a text is waited for when its turn is over."""

_NO_WORD: Final = SteerResult("unknown", "The agent did not say whether it took the text.")


class TextMaker(Protocol):
    """Makes what goes to the agent of a message that waits: its words, and its files on disk."""

    async def make_steer(self, job: Job, *, foreign: bool) -> Steer: ...


class Steering:
    """`find_stop` says how somebody has ended the turn, None while nobody has. A text that `is_held` waits: it was left
    by an earlier process, and its message is looked at once more."""

    def __init__(
        self,
        job: Job,
        runtime: Runtime,
        *,
        ledger: Ledger,
        texts: TextMaker,
        find_stop: Callable[[], Outcome | None],
        is_held: Callable[[JobId], bool],
    ) -> None:
        self._find_stop = find_stop
        self._is_held = is_held
        self._job = job
        self._runtime = runtime
        self._ledger = ledger
        self._texts = texts
        self._tasks = OwnedTasks(f"steering {job.job_id}")
        self._open: dict[asyncio.Future[SteerResult], JobId] = {}
        """Hand-overs, not texts: one that was refused may be given again before its first refusal is on disk."""
        self._has_prompt = False
        self._is_looking = False
        self._is_closed = False
        self.has_begun = False
        """Whether any text may have reached the agent: then nobody may ask it again from the beginning."""

    def begin(self) -> None:
        """The agent is given its prompt now."""
        if not self._has_prompt:
            self._has_prompt = True
            self.look()

    def look(self) -> None:
        """Called in the step of any change: give the turn what people want it to have."""
        if self._may_give and self._next() is not None:
            self._is_looking = True
            self._tasks.start(self._give_all(), name="give texts")

    @property
    def _may_give(self) -> bool:
        """That an agent takes no texts is known before it has its prompt, unless it must be started to say so."""
        can = self._runtime.capabilities
        is_known = self._has_prompt or (can.hand_over != "told" and not can.steering)
        return is_known and not self._is_closed and not self._is_looking

    async def close(self) -> None:
        """The turn is over. Returns when every text that left its queue is settled."""
        self._is_closed = True
        if self._open:
            await asyncio.wait(self._open, timeout=SETTLE_SEC)
        for settled, job_id in list(self._open.items()):
            result = settled.result() if settled.done() else _NO_WORD
            await self._ledger.record_durably(SettleSteering(job_id, result, self._find_stop()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *fault: object) -> None:
        self._is_closed = True
        await self._tasks.__aexit__(*fault)

    async def _give_all(self) -> None:
        """One after the other, in the order of the queue; none waits until the agent has taken the one before."""
        try:
            while (waiting := self._next()) is not None:
                await self._give(waiting)
        except Exception as fault:  # a text that cannot be given stays in its queue, and the turn goes on
            log_failure("a text could not be given to a turn", fault, job_id=self._job.job_id)
        finally:
            self._is_looking = False

    def _next(self) -> Job | None:
        state = self._ledger.state
        if self._is_closed or not takes_texts(state, self._job):
            return None
        wanted = (state.jobs[job_id] for job_id in state.to_steer if not self._is_held(job_id))
        return next((job for job in wanted if job.session_key == self._job.session_key), None)

    async def _give(self, waiting: Job) -> None:
        if not self._runtime.capabilities.steering:
            await self._ledger.record_durably(DeclineSteering(waiting.job_id, "unsupported"))
            return
        steer = await self._texts.make_steer(waiting, foreign=is_foreign_in(waiting, self._job))
        if self._is_closed:
            return
        decision = self._ledger.apply_now(BeginSteering(waiting.job_id, self._job.job_id))
        if not decision.events:
            return
        self.has_begun = True
        settled: asyncio.Future[SteerResult] = asyncio.get_running_loop().create_future()
        self._open[settled] = waiting.job_id
        await self._ledger.until_all_durable()
        self._tasks.start(self._hand_over(steer, settled), name=f"steer {waiting.job_id}")

    async def _hand_over(self, steer: Steer, settled: "asyncio.Future[SteerResult]") -> None:
        try:
            result = await self._runtime.steer(self._job.session_key, steer)
        except Exception as fault:  # a runtime that breaks loses no text: nobody knows whether its agent has it
            log_failure("a runtime broke while a text was given to its turn", fault, job_id=steer.job_id)
            result = SteerResult("unknown", f"{type(fault).__name__}: {fault}")
        log.info("steered", job_id=steer.job_id, into=self._job.job_id, outcome=result.outcome)
        try:
            await self._ledger.record_durably(SettleSteering(steer.job_id, result, self._find_stop()))
        except FairleadError as broken:  # the journal takes no more facts: the next start settles the text
            log_failure("what became of a text was not recorded", broken, job_id=steer.job_id)
            return
        del self._open[settled]
        settled.set_result(result)
