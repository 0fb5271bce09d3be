"""What goes wrong around the daemon of the simulator: network, channel, rights, disk, clock. It all passes."""

import asyncio
from random import Random

from fairlead.testing.wall_clock import JUMPS
from fairlead.testing.world import Life, World


class Mishaps:
    """`pause` is how long it is quiet between two of them, `slowness` makes the long ones longer."""

    has_plans = True

    def __init__(self, world: World, *, number: int | None = None, pause: float = 30.0, slowness: float = 1.0) -> None:
        self._random = Random(f"{world.seed}/mishaps")
        self._left = self._random.choice((0, 1, 3)) if number is None else number
        self._pause = pause
        self._slowness = slowness

    async def act(self, world: World, life: Life) -> None:
        while self._left > 0:
            self._left -= 1
            await asyncio.sleep(self._random.expovariate(1 / self._pause))
            kinds = (
                self._rough,
                self._away,
                self._full,
                self._ban,
                self._stop_sending,
                self._stop_sending_in_one_place,
                self._take_a_right_away,
                self._set_the_clock,
                self._delete_a_conversation,
            )
            await self._random.choice(kinds)(world, life)

    async def _rough(self, world: World, _life: Life) -> None:
        world.tell("the network is rough")
        world.roughness = 0.4
        await asyncio.sleep(self._random.uniform(5, 300))
        world.roughness = 0.0

    async def _away(self, world: World, life: Life) -> None:
        world.tell("the channel is away")
        world.is_away = True
        await asyncio.sleep(self._random.uniform(5, 900))
        world.is_away = False
        life.gate.came_back("chat")

    async def _ban(self, world: World, _life: Life) -> None:
        world.tell("the channel bans us")
        world.banned_until = world.loop.time() + self._random.uniform(60, 7200 * self._slowness)
        world.happened["bans"] += 1
        await asyncio.sleep(world.ban_left())

    async def _stop_sending(self, world: World, life: Life) -> None:
        world.tell("sending fails, and everything else works")
        world.is_sending_down = True
        await self._last(7200)
        world.is_sending_down = False
        life.gate.came_back("chat")

    async def _stop_sending_in_one_place(self, world: World, _life: Life) -> None:
        """The channel notices nothing: other calls succeed all the time."""
        address = self._place(world)
        world.tell(f"sending fails in {address}, and works everywhere else")
        world.places_without_sending.add(address)
        await self._last(7200)
        world.places_without_sending.discard(address)

    async def _take_a_right_away(self, world: World, life: Life) -> None:
        address = self._place(world)
        world.tell(f"nobody may send in {address}")
        world.forbidden.add(address)
        await self._last(7200)
        world.forbidden.discard(address)
        if self._random.random() < 0.5:
            life.gate.came_back("chat")

    async def _set_the_clock(self, world: World, _life: Life) -> None:
        seconds = self._random.choice(JUMPS)
        world.jump_clock(seconds)
        await self._last(900)
        if self._random.random() < 0.7:
            world.jump_clock(-seconds)

    async def _delete_a_conversation(self, world: World, _life: Life) -> None:
        """It never comes back; what is said there meanwhile was on its way."""
        address = self._place(world)
        world.tell(f"{address} is deleted")
        world.history.closed.add(address)
        world.happened["deleted conversations"] += 1

    def _place(self, world: World) -> str:
        here = [p.conversation.address for p in world.participants if p.conversation.channel == "chat"]
        return self._random.choice(here)

    async def _last(self, seconds: float) -> None:
        await asyncio.sleep(self._random.uniform(5, seconds * self._slowness))

    async def _full(self, world: World, _life: Life) -> None:
        world.tell("the disk is nearly full")
        world.disk.capacity = world.disk.used_bytes + self._random.randint(0, 2000)
        await asyncio.sleep(self._random.uniform(1, 60))
        world.disk.capacity = None
        world.tell("the disk has space again")


class ClockSetter:
    """Sets the wall clock again and again, whatever else goes wrong meanwhile. Most jumps are taken back."""

    has_plans = True

    def __init__(self, world: World, *, jumps: int, pause: float) -> None:
        self._random = Random(f"{world.seed}/clock")
        self._left = jumps
        self._pause = pause

    async def act(self, world: World, life: Life) -> None:  # noqa: ARG002 - the daemon is not told
        while self._left > 0:
            self._left -= 1
            await asyncio.sleep(self._random.expovariate(1 / self._pause))
            seconds = self._random.choice(JUMPS)
            world.jump_clock(seconds)
            await asyncio.sleep(self._random.expovariate(1 / self._pause))
            if self._random.random() < 0.7:
                world.jump_clock(-seconds)


class Outage:
    """Sending fails for so long, and everything else works."""

    has_plans = True

    def __init__(self, *, seconds: float) -> None:
        self._left = seconds

    async def act(self, world: World, life: Life) -> None:
        world.tell("sending fails from the beginning")
        while self._left > 0:
            self._left -= 20
            world.is_sending_down = True
            await asyncio.sleep(20)
        world.is_sending_down = False
        life.gate.came_back("chat")


class RoughWeather:
    """Four of ten calls fail in one way or another, for so long."""

    has_plans = True

    def __init__(self, *, seconds: float) -> None:
        self._left = seconds

    async def act(self, world: World, life: Life) -> None:  # noqa: ARG002 - the channel notices by itself
        while self._left > 0:
            self._left -= 20
            world.roughness = 0.4
            await asyncio.sleep(20)
        world.roughness = 0.0
