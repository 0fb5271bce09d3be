"""The command `start`: the reply says that the thread is there, cannot be, or takes longer. The outbox makes it."""

import asyncio
from typing import Final

from fairlead.core.decide.thread_start import StartThread, thread_of
from fairlead.core.events import DeliveryAbandoned
from fairlead.core.ids import SessionKeyText
from fairlead.core.replies import SessionStarted
from fairlead.core.requests import Caller, Start
from fairlead.core.state import OutboxEntry
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.commands.agent_start import AgentStart
from fairlead.flow.commands.parts import CommandParts, HandlerTable

PATIENCE_SEC: Final = 60.0
"""How long the command waits for its thread. After that the outbox goes on without it."""


def thread_start_handlers(parts: CommandParts) -> HandlerTable:
    return {Start: ThreadStart(parts).start}


class ThreadStart:
    def __init__(self, parts: CommandParts) -> None:
        self._ledger = parts.ledger
        self._history = parts.history
        self._channels = parts.channels
        self._agent_start = AgentStart(parts)

    async def start(self, request: Start, caller: Caller) -> SessionStarted:
        """Returns when the thread is there. Raises the error that forbids it, or one that says it takes longer."""
        if not request.agent_first:
            return await self._start_thread(request, caller, request.tool or None)
        if caller.session_key.kind == "user":
            return await self._agent_start.start_here(request, caller)
        chosen = self._agent_start.choose(request, caller)
        async with self._agent_start.prepare(chosen, request.asked_by) as prepared:
            started = await self._start_thread(request, caller, chosen.name)
            if prepared is not None:
                prepared.serve(self._ledger.state.sessions[SessionKeyText(started.session_key)])
        return started

    async def _start_thread(self, request: Start, caller: Caller, runtime: str | None) -> SessionStarted:
        decision = self._ledger.apply_now(
            StartThread(
                asked_by=request.asked_by,
                conversation=caller.conversation,
                session_key=caller.session_key,
                person=caller.person,
                project=request.project or None,
                runtime=runtime,
            )
        )
        if decision.refusal is not None:
            raise decision.refusal
        entry = self._ledger.state.outbox[decision.entry_id]
        try:
            async with asyncio.timeout(PATIENCE_SEC):
                while entry.entry_id in self._ledger.state.outbox:
                    await self._ledger.until_changed(self._ledger.state.seq)
        except TimeoutError:
            busy = self._channels[caller.conversation.channel].capabilities.busy_code
            raise error(busy, "The thread will be created as soon as possible.") from None
        return await self._outcome(entry)

    async def _outcome(self, entry: OutboxEntry) -> SessionStarted:
        """An entry that has left the outbox no longer changes, so it can still be read."""
        assert entry.plan is not None
        if len(entry.paid) < len(entry.plan.pieces):
            raise await self._why_not(entry.entry_id)
        key = thread_of(entry, entry.paid["0"])
        assert key is not None, "the entry opens a thread"
        session = self._ledger.state.sessions[key.text]
        return SessionStarted(session.session_key, session.session_id, session.project, session.runtime)

    async def _why_not(self, entry_id: str) -> FairleadError:
        await self._ledger.until_all_durable()
        facts = [r.event for r in await self._history.lines_about([entry_id])]
        given_up = next(f for f in facts if isinstance(f, DeliveryAbandoned))
        return error(Code(given_up.error_code), given_up.reason)
