"""The agents that a person added on a runner's machine, as runtimes: those of `agents.json`, followed while it runs."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from fairlead.core.agents import ConfiguredAgent
from fairlead.errors import FairleadError
from fairlead.observe import log
from fairlead.ports import Runtime
from fairlead.store.agents_file import AgentsFile


class RuntimeMaker(Protocol):
    """runtimes.catalogue.Catalogue."""

    def follow(self, configured: Mapping[str, ConfiguredAgent]) -> Sequence[Runtime]: ...


class AddedAgents:
    """runner.runtimes.AgentSource."""

    def __init__(self, file: AgentsFile, maker: RuntimeMaker) -> None:
        self._file = file
        self._maker = maker
        self._stamp = file.stamp()
        self.agents: Mapping[str, ConfiguredAgent] = {}

    def begin(self) -> None:
        """At the start. Raises E_CONFIG for a file that cannot be understood."""
        self.agents = self._file.read()
        self._maker.follow(self.agents)

    def follow(self) -> Sequence[Runtime] | None:
        """A file with a mistake changes nothing: the agents stay as they were until it is corrected."""
        stamp = self._file.stamp()
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        try:
            self.agents = self._file.read()
        except FairleadError as mistake:
            log.warning("the agents stay as they were", error_code=mistake.code, message=mistake.message)
            return None
        return self._maker.follow(self.agents)

    def find_added(self, name: str) -> ConfiguredAgent | None:
        return self.agents.get(name)
