"""The command `start`: the reply says that the thread is there, cannot be, or takes longer. The outbox makes it."""

from fairlead.core.decide.thread_start import StartThread
from fairlead.core.ids import SessionKeyText
from fairlead.core.replies import SessionStarted
from fairlead.core.requests import Caller, Start
from fairlead.flow.commands.agent_start import AgentStart
from fairlead.flow.commands.parts import CommandParts, HandlerTable
from fairlead.flow.spawns.thread_openings import ThreadOpenings


def thread_start_handlers(parts: CommandParts) -> HandlerTable:
    return {Start: ThreadStart(parts).start}


class ThreadStart:
    def __init__(self, parts: CommandParts) -> None:
        self._ledger = parts.ledger
        self._openings = ThreadOpenings(parts.ledger, parts.history, parts.channels)
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
        session = await self._openings.wait_for(decision.entry_id)
        return SessionStarted(session.session_key, session.session_id, session.project, session.runtime)
