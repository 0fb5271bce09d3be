"""People of the simulator who make schedules, change them and run them by hand; and the checks before such runs."""

import asyncio
from random import Random
from typing import Final

import msgspec

from fairlead.core import timestamps
from fairlead.core.requests import (
    Caller,
    Request,
    ScheduleAdd,
    SchedulePause,
    ScheduleRemove,
    ScheduleResume,
    ScheduleRun,
)
from fairlead.errors import FairleadError
from fairlead.flow.schedules.checks import CheckResult
from fairlead.testing.mishaps import ClockSetter
from fairlead.testing.people import everybody
from fairlead.testing.world import LEAVES_NOTHING, OWNER, Actor, Life, World

STEPS: Final = (1, 2, 5)
"""Minutes between the ticks of the schedules here."""
_TEXTS: Final = ("ok", "/slow 1", "/slow 45", "/slow 150", "/fail E_CLI_EXIT_NONZERO", "/usage 10 5 0.01", "/transient")
_LATE_SEC: Final = 120.0


class SimulatedChecks:
    """Commands that say yes, say no, or cannot be run."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = Random(f"{world.seed}/checks/{world.lives}")

    async def run(self, argv: tuple[str, ...], directory: str, mark: str) -> CheckResult:  # noqa: ARG002
        await asyncio.sleep(self._random.uniform(0, 8))
        self._world.happened["checks"] += 1
        said = self._random.choice(("exit code 0", "exit code 0", "exit code 1", f"{argv[0]} was not found"))
        return CheckResult(passed=said == "exit code 0", detail=said)


class SchedulingPerson:
    """The owner has some schedules, and changes them for a while. In the end all of them are removed, so that the world
    becomes quiet. A command whose reply a crash swallowed is asked again: removing needs no memory."""

    has_plans = True

    def __init__(self, world: World, *, schedules: int, deeds: int) -> None:
        self._random = Random(f"{world.seed}/schedule maker")
        self._to_add = [self._make_request() for _ in range(schedules)]
        self._deeds = deeds
        self._asked = 0
        self._patience = self._random.uniform(200, 900)

    def _make_request(self) -> ScheduleAdd:
        rng = self._random
        session = rng.choice(("here", "here", "own", "fresh"))
        step = rng.choice(STEPS)
        when = "* * * * *" if step == 1 else f"*/{step} * * * *"
        return ScheduleAdd(
            when=f"once {rng.randint(30, 300)}" if rng.random() < 0.2 else when,
            text=rng.choice(_TEXTS),
            zone="UTC",
            session=session,
            missed=rng.choice(("run", "skip")),
            overlap=rng.choice(("skip", "skip", "queue")) if session != "fresh" else "skip",
            ring=rng.choice(("usual", "always", "needed", "never")),
            check="may-it-run" if rng.random() < 0.25 else "",
            project="api" if session != "here" else "",
        )

    async def act(self, world: World, life: Life) -> None:
        while self._to_add:
            await asyncio.sleep(self._random.expovariate(1 / 20))
            if await self._ask(world, life, self._with_moment(self._to_add[0], world)):
                self._to_add.pop(0)
        while self._deeds > 0:
            self._deeds -= 1
            await asyncio.sleep(self._random.expovariate(1 / 60))
            await self._meddle(world, life)
        while self._patience > 0:
            self._patience -= 30
            await asyncio.sleep(30)
        self._judge_punctuality(world, life)
        while life.state.schedules:
            await self._ask(world, life, ScheduleRemove(next(iter(life.state.schedules))))
            await asyncio.sleep(1)

    def _with_moment(self, request: ScheduleAdd, world: World) -> ScheduleAdd:
        once, _, seconds = request.when.partition(" ")
        if once != "once":
            return request
        moment = timestamps.plus(world.wall.tell(world.loop.time()), float(seconds))
        return msgspec.structs.replace(request, when=moment)

    async def _meddle(self, world: World, life: Life) -> None:
        numbers = list(life.state.schedules)
        if not numbers:
            return
        number = self._random.choice(numbers)
        self._asked += 1
        choices: tuple[Request, ...] = (
            SchedulePause(number),
            ScheduleResume(number),
            ScheduleResume(number),
            ScheduleRun(f"hand-{self._asked}", number),
        )
        request = self._random.choice(choices)
        copies = self._random.choice((1, 1, 2))
        await asyncio.gather(*(self._ask(world, life, request) for _ in range(copies)))

    async def _ask(self, world: World, life: Life, request: Request) -> bool:
        """False if nothing came of it, and it is worth asking again."""
        here = self._random.choice([p for p in world.participants if p.person == OWNER])
        caller = Caller(person=OWNER, conversation=here.conversation, session_key=here.session_key)
        try:
            reply = await life.gate.command(request, caller)
        except FairleadError as refusal:
            world.tell(f"{OWNER} asked for {request}: {refusal.code}")
            return refusal.code not in LEAVES_NOTHING
        world.tell(f"{OWNER} asked for {request}: {type(reply).__name__}")
        return True

    def _judge_punctuality(self, world: World, life: Life) -> None:
        """By now every tick that has come was settled, unless the disk has been full, or the clock just jumped."""
        if world.disk.capacity is not None or world.loop.time() - world.wall.last_jump < _LATE_SEC:
            return
        now = world.wall.tell(world.loop.time())
        for schedule in life.state.schedules.values():
            if schedule.status != "active":
                continue
            late = timestamps.seconds_between(schedule.due, now)
            if late > _LATE_SEC:
                world.accuse(f"schedule {schedule.number} was due at {schedule.due} and has not fired at {now}")
            if schedule.terms.timing.cron and -late > 60 * max(STEPS) + _LATE_SEC:
                world.accuse(f"schedule {schedule.number} does not fire before {schedule.due}, and it is {now}")


class ClockNudger:
    """Sets the clock by minutes, forward and back, so that ticks come again."""

    has_plans = True

    def __init__(self, world: World, *, jumps: int) -> None:
        self._random = Random(f"{world.seed}/nudger")
        self._left = jumps

    async def act(self, world: World, life: Life) -> None:  # noqa: ARG002
        while self._left > 0:
            self._left -= 1
            await asyncio.sleep(self._random.expovariate(1 / 150))
            world.jump_clock(self._random.choice((-400.0, -130.0, -130.0, 130.0, 400.0)))


def everybody_and_schedules(world: World) -> list[Actor]:
    """The usual company, schedules, and now and then a clock that is set."""
    rng = Random(f"{world.seed}/schedules")
    maker = SchedulingPerson(world, schedules=rng.randint(1, 4), deeds=rng.randint(0, 5))
    nudger = ClockNudger(world, jumps=rng.choice((0, 1, 3)))
    setter = ClockSetter(world, jumps=rng.choice((0, 0, 1)), pause=200.0)
    return [*everybody(world), maker, nudger, setter]
