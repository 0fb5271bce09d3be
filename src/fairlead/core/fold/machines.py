"""The rules for other machines."""

from typing import Final

from fairlead.core import events as e
from fairlead.core.ids import JobId
from fairlead.core.machines.machine import Machine
from fairlead.core.machines.places import machine_of
from fairlead.core.state import State

MOST_TOKENS: Final = 16


def machine_added(state: State, ts: str, event: e.MachineAdded) -> None:
    state.machines[event.name] = Machine(name=event.name, machine_id=event.machine_id or event.name, added_at=ts)


def machine_removed(state: State, _ts: str, event: e.MachineRemoved) -> None:
    state.machines.pop(event.name, None)


def runner_met(state: State, _ts: str, event: e.RunnerMet) -> None:
    machine = state.machines.get(event.machine)
    if machine is None:
        return
    if machine.runner_id and machine.runner_id != event.runner_id:
        machine.lost_jobs = _jobs_on(state, machine)
    else:
        had = (*state.running, *state.waiting)
        machine.lost_jobs = [job_id for job_id in machine.lost_jobs if job_id in had]
    machine.runner_id, machine.runner_epoch = event.runner_id, event.epoch
    machine.version, machine.agents, machine.slots = event.version, event.agents, event.slots


def epoch_begun(state: State, _ts: str, event: e.MachinesEpochBegun) -> None:
    state.machines_epoch = max(state.machines_epoch, event.epoch)
    state.machines_step = max(state.machines_step, event.step)
    state.machines_tokens = [*state.machines_tokens, event.token][-MOST_TOKENS:]
    if event.took_over:
        for machine in state.machines.values():
            machine.lost_jobs = _jobs_on(state, machine)


def _jobs_on(state: State, machine: Machine) -> list[JobId]:
    had = (*state.running, *state.waiting)
    return [job_id for job_id in had if machine_of(state.jobs[job_id].project_path) == machine.name]
