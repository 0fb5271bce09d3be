"""Strangers (people who are not served), noted in the log at a limited rate. Tells them nothing."""

import asyncio
from typing import Final

from fairlead.observe import log

QUIET_SEC: Final = 60.0
_REMEMBERED: Final = 1000


class StrangerLog:
    def __init__(self) -> None:
        self._noted: dict[int, float] = {}

    def note(self, user_id: int, what: str) -> None:
        """One line per stranger and minute, however much they send."""
        now = asyncio.get_running_loop().time()
        if now - self._noted.get(user_id, -QUIET_SEC) < QUIET_SEC:
            return
        if len(self._noted) >= _REMEMBERED:
            self._noted.clear()
        self._noted[user_id] = now
        log.warning("stranger ignored", error_code="E_OWNER_ONLY", user_id=str(user_id), message=what)
