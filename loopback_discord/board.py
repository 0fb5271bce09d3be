"""Lets tests wait until something is true of the server, woken by changes and never by polling."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")
PATIENCE_SEC = 60.0
"""Only bounds a hang: a machine that is busy with other things may take long."""


class WaitedInVain(AssertionError):  # noqa: N818 - reads as what happened to the test
    """A test waited for something that did not come; the message says what the server saw meanwhile."""


class Board:
    """Every change of the server is announced here; who waits looks again at each one."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[object], Callable[[], object]] = {}
        self.describe: Callable[[], str] = str

    def changed(self) -> None:
        for future, look in list(self._waiting.items()):
            if future.done():
                continue
            try:
                found = look()
            except Exception as error:  # a broken predicate is the waiting test's fault, not the announcer's
                future.set_exception(error)
                continue
            if found:
                future.set_result(found)

    async def wait_for(
        self, look: Callable[[], Found | None], *, timeout: float = PATIENCE_SEC, what: str = "something"
    ) -> Found:
        """The first truthy thing that `look` returns, now or after some later change."""
        found = look()
        if found:
            return found
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._waiting[future] = look
        try:
            async with asyncio.timeout(timeout):
                return await future  # type: ignore[return-value]
        except TimeoutError:
            raise WaitedInVain(f"{what} did not come within {timeout} s. {self.describe()}") from None
        finally:
            del self._waiting[future]
