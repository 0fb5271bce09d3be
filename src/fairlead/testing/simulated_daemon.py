"""One life of the daemon on the fakes: the real start, the real flow and the real store, from a start to a crash."""

from collections.abc import Callable
from contextlib import AsyncExitStack

from fairlead.core.agents import ConfiguredAgent
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.agents import ConfigureAgent
from fairlead.core.ids import MessageId
from fairlead.core.replies import Spawned
from fairlead.core.state import State
from fairlead.errors import FairleadError
from fairlead.flow.assembly import Flow
from fairlead.flow.spawns.spawning import AgentAsks
from fairlead.flow.startup import sequence
from fairlead.ports import Gate, ToolHandler, View
from fairlead.testing.simulated_machine import SimulatedMachine
from fairlead.testing.world import World


class SimulatedDaemon:
    """Runs from `start` until its stack is left. `unplug` cuts off what is outside and must not outlive a crash."""

    def __init__(self, world: World, *, on_broken: Callable[[FairleadError], None]) -> None:
        self.number = world.lives
        self._world = world
        self._machine = SimulatedMachine(world, on_broken=on_broken)
        self._flow: Flow | None = None

    async def start(self, stack: AsyncExitStack) -> None:
        started = await sequence.start(self._machine, stack)
        for note in started.notes:
            self._world.tell(note)
        self._flow = started.flow

    @property
    def flow(self) -> Flow:
        assert self._flow is not None, "the daemon has not started"
        return self._flow

    @property
    def gate(self) -> Gate:
        return self.flow.gate

    @property
    def view(self) -> View:
        return self.flow.view

    @property
    def state(self) -> State:
        return self.flow.ledger.state

    @property
    def agent_calls(self) -> ToolHandler:
        return self.flow.agent_calls

    @property
    def is_chat_busy(self) -> bool:
        return self._machine.chat.is_busy

    def mark_refused(self, conversation: ConversationRef, message_id: MessageId) -> None:
        self._machine.chat.refuse(conversation, message_id)

    async def configure_agent(self, agent: ConfiguredAgent) -> None:
        await self.flow.ledger.record_durably(ConfigureAgent(agent))
        await self.flow.agent_runtimes.follow()

    async def spawn(self, asker: AgentAsks, *, task: str, asked_by: str) -> Spawned:
        return await self.flow.spawning.spawn_session(asker, task=task, asked_by=asked_by)

    def unplug(self) -> None:
        self._machine.unplug()
