"""Agents of the simulator that send and ask by themselves, and send the same call again where they heard nothing."""

import asyncio
from random import Random
from typing import Any

import msgspec

from fairlead.core.agent_tools import ToolHolder
from fairlead.testing.people import everybody
from fairlead.testing.world import Actor, Life, MadeCall, World


class _Planned(msgspec.Struct, frozen=True):
    call_id: str
    holder: ToolHolder
    tool: str
    arguments: dict[str, Any]


class AgentCaller:
    """The agents of all sessions: each call is for a session that has had a job."""

    has_plans = True

    def __init__(self, world: World, *, calls: int) -> None:
        self._random = Random(f"{world.seed}/caller")
        self._left = calls
        self._made = 0
        self._unanswered: _Planned | None = None

    async def act(self, world: World, life: Life) -> None:
        while self._left > 0:
            await asyncio.sleep(self._random.expovariate(1 / 25))
            # A call that a crash swallowed is sent again: the journal may have it or not.
            planned = self._unanswered or self._plan(life)
            if planned is None:
                self._left -= 1
                continue
            self._unanswered = planned
            copies = self._random.choice((1, 1, 2))
            answered = await asyncio.gather(*(self._call(world, life, planned) for _ in range(copies)))
            if all(answered):
                self._unanswered = None
                self._left -= 1

    def _plan(self, life: Life) -> _Planned | None:
        sessions = [s for s in life.state.sessions.values() if s.running_job_id or s.last_job_id]
        if not sessions:
            return None
        session = self._random.choice(sessions)
        self._made += 1
        generation = session.generation - (1 if session.generation and self._random.random() < 0.2 else 0)
        holder = ToolHolder(mark="", project_path="/srv/api", session_key=session.session_key, generation=generation)
        if self._random.random() < 0.5:
            arguments = {"text": f"call {self._made} of {session.session_key}"}
            return _Planned(f"call-{self._made}", holder, "send_message", arguments)
        asked = {"question": "Which?", "choices": ["red", "blue"]}
        return _Planned(f"call-{self._made}", holder, "ask_user", asked)

    async def _call(self, world: World, life: Life, planned: _Planned) -> bool:
        """False where the call must be sent again."""
        reply = await life.agent_calls.call(
            planned.holder, call_id=planned.call_id, tool=planned.tool, arguments=planned.arguments
        )
        world.tell(f"{planned.call_id} {planned.tool} for {planned.holder.session_key}: {reply.text[:40]}")
        if reply.ok:
            world.note_call(MadeCall(planned.call_id, planned.holder.session_key, planned.tool))
            return True
        return "E_DISK_FULL" not in reply.text


def everybody_and_callers(world: World) -> list[Actor]:
    """The usual company, and agents that reach back."""
    calls = Random(f"{world.seed}/calls").randint(2, 12)
    return [*everybody(world), AgentCaller(world, calls=calls)]
