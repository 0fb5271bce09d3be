"""People and agents of the simulator who give tasks to sessions of their own, some of them without end."""

import asyncio
from random import Random
from typing import Final

import msgspec

from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.inbound import Cause
from fairlead.core.replies import Spawned
from fairlead.core.requests import Caller, Cancel, Spawn
from fairlead.errors import Code, FairleadError
from fairlead.flow.spawns.spawning import AgentAsks
from fairlead.testing.people import everybody
from fairlead.testing.world import LEAVES_NOTHING, Actor, Life, World

_TASKS: Final = ("count", "count\n/slow 15", "count\n/fail E_CLI_EXIT_NONZERO", "count\n/ask make", "count\n/long 500")
_GOES_ON: Final[frozenset[Cause]] = frozenset({"spawn", "child"})


class Asker:
    """A person who asks for sessions in one conversation or another. A request that got no reply is sent again, with
    the same id."""

    has_plans = True

    def __init__(self, world: World, *, requests: int) -> None:
        self._random = Random(f"{world.seed}/asker")
        self._left = [world.history.new_message_id() for _ in range(requests)]

    async def act(self, world: World, life: Life) -> None:
        while self._left:
            await asyncio.sleep(self._random.expovariate(1 / 30))
            participant = self._random.choice(world.participants)
            caller = Caller(
                person=participant.person, conversation=participant.conversation, session_key=participant.session_key
            )
            request = Spawn(asked_by=self._left[0], task=self._random.choice(_TASKS))
            try:
                reply = await life.gate.command(request, caller)
            except FairleadError as refusal:
                world.tell(f"the task {request.asked_by} was refused: {refusal.code}")
                if refusal.code in LEAVES_NOTHING:
                    continue
            else:
                assert isinstance(reply, Spawned)
                world.promise_spawn(request.asked_by, reply)
            self._left.pop(0)


class EndlessAgents:
    """Agents that give tasks away in the middle of theirs, and again whenever one is done, for ever: only a limit ends
    it. `act` sees every job once, as its agent does."""

    has_plans = False

    def __init__(self, world: World) -> None:
        self._random = Random(f"{world.seed}/endless")
        self._seen: set[str] = set()

    async def act(self, world: World, life: Life) -> None:
        while True:
            await asyncio.sleep(self._random.expovariate(1 / 4))
            for job in [job for job in life.state.jobs.values() if job.job_id not in self._seen and job.started_at]:
                self._seen.add(job.job_id)
                if self._random.random() < (0.9 if job.cause in _GOES_ON else 0.15):
                    await self._ask(world, life, job.session_key, job.job_id)

    async def _ask(self, world: World, life: Life, session_key: SessionKeyText, job_id: JobId) -> None:
        asked_by = f"call-{job_id}"
        tries = self._random.choice((1, 1, 2))
        try:
            for _ in range(tries):
                task = self._random.choice(_TASKS)
                reply = await life.spawn(AgentAsks(session_key, job_id), task=task, asked_by=asked_by)
                world.promise_spawn(asked_by, reply)
        except FairleadError as refusal:
            world.tell(f"the agent of {job_id} was refused: {refusal.code}")
            world.happened[f"tasks refused with {refusal.code}"] += 1


class Canceller:
    """Cancels a session with all that is below it."""

    has_plans = True

    def __init__(self, world: World, *, deeds: int) -> None:
        self._random = Random(f"{world.seed}/canceller")
        self._left = deeds

    async def act(self, world: World, life: Life) -> None:
        while self._left > 0:
            self._left -= 1
            await asyncio.sleep(self._random.expovariate(1 / 90))
            someone = self._random.choice(world.participants)
            caller = Caller(person=someone.person, conversation=someone.conversation, session_key=someone.session_key)
            try:
                await life.gate.command(Cancel(children=True), caller)
            except FairleadError as refusal:
                if refusal.code is not Code.E_NOTHING_TO_CANCEL:
                    world.tell(f"{someone.person} could not cancel: {refusal.code}")
            else:
                world.happened["trees cancelled"] += 1


def everybody_and_spawns(world: World) -> list[Actor]:
    """The usual company, and tasks for sessions of their own: in half of the worlds these have threads."""
    rng = Random(f"{world.seed}/spawns")
    world.limits = msgspec.structs.replace(
        world.limits,
        spawn_threads=rng.random() < 0.5,
        spawn_fail_closed=rng.random() < 0.7,
        spawn_binding_ttl_sec=rng.choice((0, 0, 0, 20)),
        spawn_max_depth=rng.choice((1, 2, 3)),
        spawn_max_children=rng.choice((1, 3)),
        spawn_max_in_a_row=rng.choice((3, 8)),
    )
    return [
        *everybody(world),
        Asker(world, requests=rng.randint(1, 5)),
        EndlessAgents(world),
        Canceller(world, deeds=rng.choice((0, 1, 2))),
    ]
