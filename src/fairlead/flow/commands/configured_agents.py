"""Commands about the agents that a person configured: list, add, remove. Installs nothing: the caller has done that."""

from fairlead.core import requests as ask
from fairlead.core.agents import ConfiguredAgent
from fairlead.core.decide.agents import ConfigureAgent, RemoveAgent, users_of
from fairlead.core.replies import AgentAdded, AgentCatalogue, AgentsChecked, AgentWasRemoved
from fairlead.core.requests import Caller
from fairlead.flow.commands.parts import CommandParts, HandlerTable


def configured_agent_handlers(parts: CommandParts) -> HandlerTable:
    commands = ConfiguredAgentCommands(parts)
    return {
        ask.AgentList: commands.list,
        ask.AgentCheck: commands.check,
        ask.AgentAdd: commands.add,
        ask.AgentRemove: commands.remove,
    }


class ConfiguredAgentCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts

    async def list(self, _request: ask.AgentList, _caller: Caller) -> AgentCatalogue:
        return AgentCatalogue(tuple(self._parts.state.agents.values()))

    async def check(self, _request: ask.AgentCheck, _caller: Caller) -> AgentsChecked:
        return await self._parts.agent_checks.check_all()

    async def add(self, request: ask.AgentAdd, _caller: Caller) -> AgentAdded:
        parts = self._parts
        agent = ConfiguredAgent(
            name=request.name,
            command=request.command,
            env=request.env,
            version=request.version,
            digest=request.digest,
            source=request.source,
        )
        await parts.ledger.record_durably(ConfigureAgent(agent, request.projects))
        running = await parts.agent_runtimes.follow()
        allowing = [p.name for p in parts.state.projects.values() if agent.name in p.enabled_runtimes]
        return AgentAdded(agent.name, tuple(allowing), running)

    async def remove(self, request: ask.AgentRemove, _caller: Caller) -> AgentWasRemoved:
        parts = self._parts
        users = users_of(parts.state, request.name)
        await parts.ledger.record_durably(RemoveAgent(name=request.name, even_if_used=request.even_if_used))
        running = await parts.agent_runtimes.follow()
        return AgentWasRemoved(request.name, tuple(users), running)
