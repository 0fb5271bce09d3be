"""What the doctors say of the files of agents that Fairlead installed."""

from pathlib import Path

from fairlead.core.agents import ConfiguredAgent
from fairlead.runtimes.install.agent_files import AgentFiles


def describe_files(directory: Path, agent: ConfiguredAgent, typed: str) -> tuple[bool, str]:
    """Whether an agent that Fairlead installed below `directory` is still what was installed, and the sentence about
    it, which is empty for an agent that a person installed. `typed` is what stands before `update` in a command."""
    files = AgentFiles(directory)
    if files.place_of(agent) is None:
        return True, ""
    what, damage = f"{agent.name} {agent.version} ({agent.source})", files.find_damage(agent)
    if damage:
        return False, f"{what}: {damage}. `{typed} update {agent.name}` installs it again."
    return True, f"{what}, unchanged."
