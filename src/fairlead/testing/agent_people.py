"""People of the simulator who configure agents while others work, and start sessions with the agent first."""

import asyncio
from random import Random
from typing import Final

from fairlead.core.agents import ConfiguredAgent
from fairlead.core.conversation import ConversationRef
from fairlead.core.keys import channel_key, thread_key
from fairlead.core.replies import SessionStarted
from fairlead.core.requests import Caller, Start
from fairlead.errors import FairleadError
from fairlead.testing.people import Talker, everybody
from fairlead.testing.world import OWNER, Actor, Life, Participant, World

AGENT: Final = "goose"
_TOWN: Final = ConversationRef("chat", "home", "7")


class Configurer:
    """Gives the agent another command again and again, also while its turns run."""

    has_plans = True

    def __init__(self, world: World, *, changes: int) -> None:
        self._random = Random(f"{world.seed}/configurer")
        self._left = list(range(changes))

    async def act(self, world: World, life: Life) -> None:
        while self._left:
            number = self._left[0]
            try:
                await life.configure_agent(ConfiguredAgent(name=AGENT, command=(AGENT, str(number))))
            except FairleadError as refusal:
                world.tell(f"{AGENT} {number} was not configured: {refusal.code}")
            else:
                world.tell(f"{AGENT} {number} is configured")
                self._left.pop(0)
            await asyncio.sleep(self._random.expovariate(1 / 40))


class Starter:
    """Asks for a thread with the agent started first, and talks there."""

    has_plans = True

    def __init__(self, world: World, *, starts: int) -> None:
        self._random = Random(f"{world.seed}/starter")
        self._left = [world.history.new_message_id() for _ in range(starts)]
        self._talkers: list[Talker] = []

    async def act(self, world: World, life: Life) -> None:
        while self._left:
            await asyncio.sleep(self._random.expovariate(1 / 30))
            asked_by = self._left.pop(0)
            await self._start(world, life, asked_by)
        for talker in self._talkers:
            await talker.act(world, life)

    async def _start(self, world: World, life: Life, asked_by: str) -> None:
        key = channel_key(agent_id="fairlead", space_id="home", channel_id="7")
        caller = Caller(person=OWNER, conversation=_TOWN, session_key=key)
        try:
            started = await life.gate.command(Start(asked_by, "api", AGENT, agent_first=True), caller)
        except FairleadError as refusal:
            world.tell(f"the start {asked_by} was refused: {refusal.code}")
            return
        assert isinstance(started, SessionStarted)
        world.tell(f"the start {asked_by} has the thread {started.session_id}")
        thread = ConversationRef("chat", "home", started.session_id, "7")
        session = thread_key(agent_id="fairlead", space_id="home", thread_id=started.session_id)
        self._talkers.append(Talker(world, Participant(OWNER, thread, session), messages=self._random.randint(1, 3)))


def everybody_and_agents(world: World) -> list[Actor]:
    """The usual company, and agents that come and change."""
    rng = Random(f"{world.seed}/agents")
    return [*everybody(world), Configurer(world, changes=rng.randint(1, 4)), Starter(world, starts=rng.randint(1, 4))]
