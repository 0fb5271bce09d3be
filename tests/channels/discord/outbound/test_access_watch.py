"""A right that may be back is tried soon, and not more often than Discord bears."""

import asyncio
import itertools

from fairlead.channels.discord.outbound.access_watch import LOOK_GAP_SEC, AccessWatch
from fairlead.testing.clock import run_virtually


def test_changes_matter_only_after_a_refusal_and_a_storm_of_them_costs_one_look_in_a_while() -> None:
    async def story() -> None:
        looks: list[float] = []
        loop = asyncio.get_running_loop()

        def look() -> None:
            looks.append(loop.time())
            watch.note_refusal()  # the right is still missing

        watch = AccessWatch(look)
        watch.note_change()
        await asyncio.sleep(1)
        assert looks == []
        watch.note_refusal()
        for _ in range(100):
            watch.note_change()
            await asyncio.sleep(0.1)
        assert 2 <= len(looks) <= 3
        assert all(later - earlier >= LOOK_GAP_SEC for earlier, later in itertools.pairwise(looks))

    run_virtually(story())
