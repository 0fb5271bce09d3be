"""The other machines as people see them: what the journal knows of them, and whether they are there now."""

from collections import Counter

from fairlead.core.job_places import machine_of_job
from fairlead.core.machines.machine import Machine
from fairlead.core.machines.places import machine_of
from fairlead.core.read_models import queued_jobs
from fairlead.core.replies import MachineRow
from fairlead.core.state import State
from fairlead.machine_ports import OtherMachines


def machine_rows(state: State, machines: OtherMachines) -> tuple[MachineRow, ...]:
    if not state.machines:
        return ()
    running = Counter(machine_of(state.jobs[job_id].project_path) for job_id in (*state.running, *state.waiting))
    waiting = Counter(machine_of_job(state, job) for job in queued_jobs(state))
    return tuple(
        _row(state, machine, machines, running=running[machine.name], waiting=waiting[machine.name])
        for machine in state.machines.values()
    )


def _row(state: State, machine: Machine, machines: OtherMachines, *, running: int, waiting: int) -> MachineRow:
    presence = machines.presence(machine.name)
    return MachineRow(
        name=machine.name,
        is_there=presence.is_there,
        has_joined=bool(machine.runner_id),
        since=presence.since if machine.runner_id else "",
        clock=presence.clock,
        running=running,
        waiting=waiting,
        slots=machine.slots if machine.runner_id else 0,
        version=machine.version,
        agents=tuple(offer.name for offer in machine.agents),
        projects=tuple(p.name for p in state.listed_projects() if machine_of(p.path) == machine.name),
        problem=presence.problem,
    )
