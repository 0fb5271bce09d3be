"""Commands about other machines: add, list, remove, forget. What a runner is told and tells is `machines`' business."""

from fairlead.core import requests as ask
from fairlead.core.decide.machines import AddMachine, RemoveMachine
from fairlead.core.machines.machine import Machine
from fairlead.core.machines.places import machine_of
from fairlead.core.replies import MachineCatalogue, MachineMayJoin, MachineRow, MachineWasRemoved
from fairlead.core.requests import Caller
from fairlead.flow.commands.parts import CommandParts, HandlerTable


def machine_handlers(parts: CommandParts) -> HandlerTable:
    commands = MachineCommands(parts)
    return {
        ask.MachineAdd: commands.add,
        ask.MachineList: commands.list,
        ask.MachineRemove: commands.remove,
        ask.MachineForget: commands.forget,
    }


class MachineCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts

    async def add(self, request: ask.MachineAdd, caller: Caller) -> MachineMayJoin:
        """First the fact, then the key: a machine without a key gets one by the same command."""
        await self._parts.ledger.record_durably(AddMachine(request.name, caller.person))
        line = await self._parts.machines.let_join(request.name)
        return MachineMayJoin(request.name, line, self._parts.machines.accounts_file)

    async def list(self, _request: ask.MachineList, _caller: Caller) -> MachineCatalogue:
        return MachineCatalogue(tuple(self._describe(machine) for machine in self._parts.state.machines.values()))

    def _describe(self, machine: Machine) -> MachineRow:
        presence = self._parts.machines.presence(machine.name)
        return MachineRow(
            name=machine.name,
            is_there=presence.is_there,
            since=presence.since,
            clock=presence.clock,
            running=presence.running,
            slots=machine.slots,
            version=machine.version,
            agents=tuple(offer.name for offer in machine.agents),
            projects=tuple(p.name for p in self._parts.state.listed_projects() if machine_of(p.path) == machine.name),
            problem=presence.problem,
        )

    async def remove(self, request: ask.MachineRemove, caller: Caller) -> MachineWasRemoved:
        return await self._remove(request.name, caller, forget=False)

    async def forget(self, request: ask.MachineForget, caller: Caller) -> MachineWasRemoved:
        return await self._remove(request.name, caller, forget=True)

    async def _remove(self, name: str, caller: Caller, *, forget: bool) -> MachineWasRemoved:
        await self._parts.ledger.record_durably(RemoveMachine(name=name, person=caller.person, forget=forget))
        await self._parts.agent_runtimes.follow()
        return MachineWasRemoved(name)
