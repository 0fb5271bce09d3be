"""The rules for configured agents."""

import msgspec

from fairlead.core import events as e
from fairlead.core.agents import ConfiguredAgent
from fairlead.core.state import State


def agent_configured(state: State, _ts: str, event: e.AgentConfigured) -> None:
    agent = ConfiguredAgent(**msgspec.structs.asdict(event))
    state.agents[agent.name] = agent
    if agent.digest:
        state.first_digests.setdefault(agent.release, agent.digest)


def agent_removed(state: State, _ts: str, event: e.AgentRemoved) -> None:
    """The digests stay: the same release must be the same files when somebody installs it again."""
    state.agents.pop(event.name, None)
