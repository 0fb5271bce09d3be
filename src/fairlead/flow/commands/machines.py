"""Commands about other machines: add, list, rename, remove, forget. What a runner is told and tells is the business of
`machines`."""

from fairlead.core import requests as ask
from fairlead.core.decide.machines import AddMachine, RemoveMachine, RenameMachine
from fairlead.core.machines.places import machine_of
from fairlead.core.replies import MachineCatalogue, MachineMayJoin, MachineWasRemoved, RenamedMachine
from fairlead.core.requests import Caller
from fairlead.flow.commands.parts import CommandParts, HandlerTable
from fairlead.flow.queries.machines import machine_rows


def machine_handlers(parts: CommandParts) -> HandlerTable:
    commands = MachineCommands(parts)
    return {
        ask.MachineAdd: commands.add,
        ask.MachineList: commands.list,
        ask.MachineRename: commands.rename,
        ask.MachineRemove: commands.remove,
        ask.MachineForget: commands.forget,
    }


class MachineCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts

    async def add(self, request: ask.MachineAdd, caller: Caller) -> MachineMayJoin:
        """First the fact, then the key: a machine without a key gets one by the same command."""
        machine_id = self._parts.machines.new_id()  # refuses where there can be no other machines
        await self._parts.ledger.record_durably(AddMachine(request.name, caller.person, machine_id))
        line = await self._parts.machines.let_join(request.name)
        return MachineMayJoin(request.name, line, self._parts.machines.accounts_file)

    async def list(self, _request: ask.MachineList, _caller: Caller) -> MachineCatalogue:
        return MachineCatalogue(machine_rows(self._parts.state, self._parts.machines))

    async def rename(self, request: ask.MachineRename, caller: Caller) -> RenamedMachine:
        """First the fact, then its agents, then its link: a job that waits for it starts when all three have the new
        name."""
        parts, new_name = self._parts, request.new_name.strip()
        await parts.ledger.record_durably(RenameMachine(name=request.name, new_name=new_name, person=caller.person))
        await parts.agent_runtimes.follow()
        parts.machines.follow()
        projects = (p.name for p in parts.state.listed_projects() if machine_of(p.path) == new_name)
        return RenamedMachine(request.name, new_name, tuple(projects))

    async def remove(self, request: ask.MachineRemove, caller: Caller) -> MachineWasRemoved:
        return await self._remove(request.name, caller, forget=False)

    async def forget(self, request: ask.MachineForget, caller: Caller) -> MachineWasRemoved:
        return await self._remove(request.name, caller, forget=True)

    async def _remove(self, name: str, caller: Caller, *, forget: bool) -> MachineWasRemoved:
        await self._parts.ledger.record_durably(RemoveMachine(name=name, person=caller.person, forget=forget))
        await self._parts.agent_runtimes.follow()
        return MachineWasRemoved(name)
