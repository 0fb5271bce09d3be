"""The runtimes of this machine and of the others, in the one mapping that the flow shares."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from fairlead.core.agents import ConfiguredAgent
from fairlead.core.machines.machine import Machine
from fairlead.core.machines.places import name_there
from fairlead.machines.hub import Machines
from fairlead.machines.remote_runtime import RemoteRuntime
from fairlead.ports import Runtime


class LocalCatalogue(Protocol):
    def follow(self, configured: Mapping[str, ConfiguredAgent]) -> Sequence[Runtime]: ...


class CatalogueWithMachines:
    """flow.agent_runtimes.RuntimeCatalogue. `runtimes` is the mapping that `local` changes in place; `known` gives the
    machines of the journal. A runtime stays, with what it knows of its sessions, while its agent can do the same."""

    def __init__(
        self,
        local: LocalCatalogue,
        runtimes: dict[str, Runtime],
        machines: Machines,
        known: Callable[[], Mapping[str, Machine]],
        *,
        limit_sec: float,
    ) -> None:
        self._local = local
        self._runtimes = runtimes
        self._machines = machines
        self._known = known
        self._limit_sec = limit_sec

    def follow(self, configured: Mapping[str, ConfiguredAgent]) -> Sequence[Runtime]:
        """The runtimes that went, for the caller to close: those of other machines need no closing."""
        before = {name: r for name, r in self._runtimes.items() if isinstance(r, RemoteRuntime)}
        gone = self._local.follow(configured)
        for name in before:
            self._runtimes.pop(name, None)
        for machine in self._known().values():
            for offer in machine.agents:
                name = name_there(machine.name, offer.name)
                had = before.get(name)
                same = had if had is not None and had.offer.capabilities == offer.capabilities else None
                made = RemoteRuntime(self._machines, machine.name, offer, limit_sec=self._limit_sec)
                self._runtimes[name] = same or made
        return gone
