"""How often each channel has come back after it was away, and the send loops that wait for the next time."""

import asyncio
from collections import Counter
from contextlib import suppress


class ChannelReconnects:
    def __init__(self) -> None:
        self._times: Counter[str] = Counter()
        self._sleepers: set[asyncio.Future[None]] = set()

    def count(self, channel: str) -> int:
        return self._times[channel]

    def report_return(self, channel: str) -> None:
        self._times[channel] += 1
        for sleeper in self._sleepers:
            if not sleeper.done():
                sleeper.set_result(None)

    async def wait_for(self, channel: str, seconds: float, *, since: int) -> None:
        """Returns as soon as the channel has come back more than `since` times, at the latest after `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._times[channel] <= since:
                    await self._next()

    async def _next(self) -> None:
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.add(sleeper)
        try:
            await sleeper
        finally:
            self._sleepers.discard(sleeper)
