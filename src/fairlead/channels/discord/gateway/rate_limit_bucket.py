"""Discord's buckets, as discord.py counts them: without its refusal of requests that Discord would take."""

from typing import Any

import discord.http


class RateLimitBucket(discord.http.Ratelimit):
    """discord.py refuses every request in a window that ends later than the longest wait which we allow, even while
    Discord takes more requests in it. Threads have such a window, of five minutes: without this class the second
    `/start` in a channel waits until it is over."""

    __slots__ = ()

    async def acquire(self) -> None:
        if self.is_expired() or self.remaining <= 0:
            await super().acquire()
            return
        # Without an end of the window, discord.py takes one of the requests that remain, and awaits nothing.
        expires, self.expires = self.expires, None
        await super().acquire()
        self.expires = expires

    def _wake(self, count: int = 1, *, exception: Any = None) -> None:
        """Requests that waited for the first response of a bucket go on if it says that some remain. When discord.py
        wakes them because none remains, it has forgotten the window before."""
        super()._wake(count, exception=exception if self.expires is None else None)


def use_in_every_client() -> None:
    """discord.py has no setting for it."""
    discord.http.Ratelimit = RateLimitBucket
