"""How much of what strangers send is read: the size of a body, and how many bodies at once. Knows no request."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from fairlead.errors import Code, error

MAX_EVENT_BYTES: Final = 1024 * 1024
MOST_AT_ONCE: Final = 16


class EventLimits:
    """`seconds` is how long the whole body of an event may take to come in."""

    def __init__(self, *, seconds: float, most_at_once: int = MOST_AT_ONCE) -> None:
        self.seconds = seconds
        self._most_at_once = most_at_once
        self._reading = 0

    @contextmanager
    def one_more(self) -> Generator[None]:
        """Raises E_TOO_MANY_EVENTS while as many as are allowed are being read."""
        if self._reading >= self._most_at_once:
            raise error(Code.E_TOO_MANY_EVENTS, f"{self._reading} events are being read.")
        self._reading += 1
        try:
            yield
        finally:
            self._reading -= 1
