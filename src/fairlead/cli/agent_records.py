"""Where it is written down which agents were added: with the daemon of this state directory, or, in
`cli.runner_agents`, with the runner of this machine."""

from pathlib import Path
from typing import Protocol

import msgspec

from fairlead.cli.output import tell
from fairlead.cli.owner_commands import ask, check_can_ask
from fairlead.core import requests
from fairlead.core.agents import ConfiguredAgent
from fairlead.core.replies import AgentAdded, AgentCatalogue, AgentWasRemoved
from fairlead.settings import Settings
from fairlead.state_directory import JOINED_NAME


class AgentRecords(Protocol):
    """`command_words` is what a person types before `add`. The agents' files lie in `directory`, what they print in
    `log_dir`."""

    @property
    def command_words(self) -> str: ...

    @property
    def directory(self) -> Path: ...

    @property
    def log_dir(self) -> Path: ...

    def check(self) -> None:
        """Before work that takes minutes. Raises if its result could not be recorded."""
        ...

    async def list_all(self) -> tuple[ConfiguredAgent, ...]: ...

    async def record(self, agent: ConfiguredAgent, projects: tuple[str, ...]) -> AgentAdded:
        """Durable when this returns. Raises the refusal; E_CONFIG if nobody knows whether it was recorded."""
        ...

    async def remove(self, name: str, *, even_if_used: bool) -> AgentWasRemoved:
        """Durable when this returns. Raises the refusal."""
        ...

    def tell_added(self, agent: ConfiguredAgent, reply: AgentAdded) -> None: ...

    def why_files_stay(self, running: tuple[str, ...]) -> str:
        """Of a version that was replaced or removed; empty if its files can be removed now."""
        ...


class DaemonRecords:
    """AgentRecords: through the daemon, or, where none runs, in its journal."""

    command_words = "fairlead agent"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.directory = settings.state_dir
        self.log_dir = settings.log_dir

    def check(self) -> None:
        check_can_ask(self._settings)

    async def list_all(self) -> tuple[ConfiguredAgent, ...]:
        reply = await ask(self._settings, requests.AgentList())
        assert isinstance(reply, AgentCatalogue)
        return reply.agents

    async def record(self, agent: ConfiguredAgent, projects: tuple[str, ...]) -> AgentAdded:
        request = requests.AgentAdd(**msgspec.structs.asdict(agent), projects=projects)
        reply = await ask(self._settings, request)
        assert isinstance(reply, AgentAdded)
        return reply

    async def remove(self, name: str, *, even_if_used: bool) -> AgentWasRemoved:
        reply = await ask(self._settings, requests.AgentRemove(name=name, even_if_used=even_if_used))
        assert isinstance(reply, AgentWasRemoved)
        return reply

    def tell_added(self, agent: ConfiguredAgent, reply: AgentAdded) -> None:
        where = f", in {', '.join(reply.projects)}" if reply.projects else ""
        tell(f"{shown_name(agent)} was added. People choose it with /tool {agent.name}{where}.")
        if (self._settings.runner_dir / JOINED_NAME).exists():
            tell("This machine is also a runner for another Fairlead, which has agents of its own:")
            tell(f"`fairlead runner agent add {agent.name}` adds it there.")

    def why_files_stay(self, running: tuple[str, ...]) -> str:
        jobs = ", ".join(running)
        return f"{jobs} still use it; its files are removed at the next start of Fairlead." if running else ""


def shown_name(agent: ConfiguredAgent) -> str:
    return " ".join(part for part in (agent.name, agent.version) if part)
