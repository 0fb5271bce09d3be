"""Waiting for a thread that the outbox makes: until it is there, cannot be, or takes too long. Makes none itself."""

import asyncio
from collections.abc import Mapping
from typing import Final

from fairlead.core.decide.thread_start import thread_of
from fairlead.core.events import DeliveryAbandoned
from fairlead.core.ids import EntryId
from fairlead.core.state import OutboxEntry, Session
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.ledger import Ledger
from fairlead.ports import Channel, History

PATIENCE_SEC: Final = 60.0
"""How long a command waits for its thread. After that the outbox goes on without it."""


class ThreadOpenings:
    def __init__(self, ledger: Ledger, history: History, channels: Mapping[str, Channel]) -> None:
        self._ledger = ledger
        self._history = history
        self._channels = channels

    async def wait_for(self, entry_id: EntryId) -> Session:
        """The session of the thread. Raises the error that forbids the thread, or one that says it takes longer."""
        entry = self._ledger.state.outbox[entry_id]
        try:
            async with asyncio.timeout(PATIENCE_SEC):
                while entry.entry_id in self._ledger.state.outbox:
                    await self._ledger.until_changed(self._ledger.state.seq)
        except TimeoutError:
            busy = self._channels[entry.requester.channel].capabilities.busy_code
            raise error(busy, "The thread will be created as soon as possible.") from None
        return await self._outcome(entry)

    async def _outcome(self, entry: OutboxEntry) -> Session:
        """An entry that has left the outbox no longer changes, so it can still be read."""
        if entry.plan is None or len(entry.paid) < len(entry.plan.pieces):
            raise await self._why_not(entry.entry_id)
        key = thread_of(entry, entry.paid["0"])
        assert key is not None, "the entry opens a thread"
        return self._ledger.state.sessions[key.text]

    async def _why_not(self, entry_id: EntryId) -> FairleadError:
        await self._ledger.until_all_durable()
        facts = [r.event for r in await self._history.lines_about([entry_id])]
        given_up = next(f for f in facts if isinstance(f, DeliveryAbandoned))
        return error(Code(given_up.error_code), given_up.reason)
