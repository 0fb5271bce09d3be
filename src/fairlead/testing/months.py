"""People of the simulator who take weeks: they write now and then, fetch late, and repeat what they sent long ago."""

import asyncio
from random import Random
from typing import Final

from fairlead.errors import FairleadError
from fairlead.testing.mishaps import ClockSetter, Mishaps
from fairlead.testing.people import Clicker, Fetcher, Talker
from fairlead.testing.wall_clock import DAY, HOUR
from fairlead.testing.world import Actor, Life, World

KEYS_KEPT_DAYS: Final = 13
"""A key is kept fourteen days: sent again before, a message is known."""


class Repeater:
    """Sends messages once more, days after they were taken, as a client does that got no reply."""

    has_plans = True

    def __init__(self, world: World, *, repeats: int, pause: float) -> None:
        self._random = Random(f"{world.seed}/repeater")
        self._left = repeats
        self._pause = pause

    async def act(self, world: World, life: Life) -> None:
        while self._left > 0:
            await asyncio.sleep(self._random.expovariate(1 / self._pause))
            self._left -= 1
            oldest = world.loop.time() - KEYS_KEPT_DAYS * DAY
            known = [inbound for at, inbound in world.sent if at > oldest or inbound.message_id.isdecimal()]
            if not known:
                continue
            again = self._random.choice(known)
            try:
                receipt = await life.gate.submit(again)
            except FairleadError as refusal:
                world.tell(f"message {again.message_id} was sent once more: {refusal.code}")
            else:
                world.happened["repeats"] += 1
                world.tell(f"message {again.message_id} was sent once more: {receipt.job_id or 'known'}")


def over_months(world: World) -> list[Actor]:
    """Weeks of little traffic, with a clock that is set and rights that are missing for days."""
    rng = Random(f"{world.seed}/months")
    world.longest_life = 400 * DAY
    world.pauses = (600.0, 6 * HOUR, 3 * DAY)
    pause = rng.choice((DAY, 2 * DAY))
    talkers = [
        Talker(world, participant, messages=rng.randint(3, 12), pause=pause) for participant in world.participants
    ]
    return [
        *talkers,
        Clicker(world, pause=HOUR),
        Fetcher(world, pause=1.5 * DAY),
        Repeater(world, repeats=rng.randint(5, 20), pause=DAY),
        Mishaps(world, number=rng.randint(2, 6), pause=3 * DAY, slowness=30.0),
        ClockSetter(world, jumps=rng.randint(1, 4), pause=3 * DAY),
    ]
