"""Deciding about other machines: which there are, which runner speaks for each, and the daemon's own epoch."""

from typing import Final

import msgspec

from fairlead.core.decide.decision import NOTHING, Decision, refuse
from fairlead.core.decide.job_ends import answer_delivery
from fairlead.core.events import (
    JobCancelled,
    JobMarkedUnknownAfterCrash,
    JournalEvent,
    MachineAdded,
    MachineRemoved,
    MachineRenamed,
    MachinesEpochBegun,
    ProjectRemoved,
    RunnerMet,
)
from fairlead.core.job_places import machine_of_job
from fairlead.core.limits import Limits
from fairlead.core.machines.machine import Machine
from fairlead.core.machines.offers import AgentOffer
from fairlead.core.machines.places import is_machine_name, machine_of
from fairlead.core.state import Job, State
from fairlead.core.worktrees import UNSETTLED
from fairlead.errors import Code

TAKE_OVER_STEPS: Final = 1 << 20
"""More than any other copy of this journal can have taken: runners that hear of it later do not object."""


class AddMachine(msgspec.Struct, frozen=True):
    """`machine_id` is what a new machine is known by for ever; one that is there keeps its own."""

    name: str
    person: str
    machine_id: str = ""


class RenameMachine(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    new_name: str
    person: str


class RemoveMachine(msgspec.Struct, frozen=True, kw_only=True):
    """With `forget`, also what runs or waits there: the machine never comes back."""

    name: str
    person: str
    forget: bool = False


class MeetRunner(msgspec.Struct, frozen=True, kw_only=True):
    """A runner said who it is."""

    machine: str
    runner_id: str
    epoch: int
    version: str = ""
    agents: tuple[AgentOffer, ...] = ()
    slots: int = 1


class BeginMachinesEpoch(msgspec.Struct, frozen=True, kw_only=True):
    """This process is about to claim the right to give orders, or to write its claim again."""

    epoch: int
    token: str
    took_over: bool = False


def add_machine(state: State, command: AddMachine, _now: str, _limits: Limits) -> Decision:
    if not is_machine_name(command.name):
        return refuse(Code.E_INVALID_NAME, f"{command.name[:60]!r} cannot be a machine's name.")
    if command.name in state.machines:
        return Decision(duplicate=True)
    return Decision((MachineAdded(command.name, command.person, command.machine_id),))


def rename_machine(state: State, command: RenameMachine, _now: str, _limits: Limits) -> Decision:
    """Not while a turn runs there, or git works there: those who wait for it know it by the name that it had."""
    if command.name not in state.machines:
        return refuse(Code.E_MACHINE_NOT_FOUND, f"There is no machine {command.name[:60]!r}.")
    if command.new_name == command.name:
        return NOTHING
    if not is_machine_name(command.new_name):
        return refuse(Code.E_INVALID_NAME, f"{command.new_name[:60]!r} cannot be a machine's name.")
    if command.new_name in state.machines:
        return refuse(Code.E_INVALID_NAME, f"There is a machine {command.new_name!r} already.")
    if any(machine_of(project.path) == command.new_name for project in state.projects.values()):
        # A machine of this name was removed; its projects come back when it is added again.
        return refuse(Code.E_INVALID_NAME, f"{command.new_name!r} is the name of a machine that was removed.")
    busy = _busy_on(state, command.name)
    if busy:
        return refuse(Code.E_MACHINE_IN_USE, f"Still active on {command.name}: {', '.join(busy[:5])}.")
    return Decision((MachineRenamed(command.name, command.new_name, command.person),))


def _busy_on(state: State, machine: str) -> list[str]:
    """What goes on there and must end under the name that it began with. Jobs that wait have not begun."""
    at_work = dict.fromkeys((*state.running, *state.waiting, *state.steering, *state.open_trees))
    jobs = [job_id for job_id in at_work if job_id in state.jobs]
    undos = (
        undo.undo_id for undo in state.undos.values() if not undo.is_over and machine_of(undo.project_path) == machine
    )
    trees = (
        worktree.branch
        for worktree in state.worktrees.values()
        if worktree.status in UNSETTLED and machine_of(worktree.path) == machine
    )
    return [*(job_id for job_id in jobs if machine_of(state.jobs[job_id].project_path) == machine), *undos, *trees]


def remove_machine(state: State, command: RemoveMachine, _now: str, _limits: Limits) -> Decision:
    if command.name not in state.machines:
        return refuse(Code.E_MACHINE_NOT_FOUND, f"There is no machine {command.name[:60]!r}.")
    live = [job for job in state.jobs.values() if job.is_live and machine_of_job(state, job) == command.name]
    if live and not command.forget:
        what = ", ".join(job.job_id for job in live[:5])
        return refuse(Code.E_MACHINE_IN_USE, f"Still active on {command.name}: {what}.")
    ends = [event for job in live for event in _give_up(state, job, command)]
    projects = [
        ProjectRemoved(project.name, command.person)
        for project in state.listed_projects()
        if machine_of(project.path) == command.name
    ]
    return Decision((*ends, *projects, MachineRemoved(command.name, command.person)))


def _give_up(state: State, job: Job, command: RemoveMachine) -> tuple[JournalEvent, ...]:
    """What waits is cancelled; of what began there, nobody will know the outcome."""
    if job.state == "queued":
        cancelled = JobCancelled(job.job_id, job.session_key, command.person, f"{command.name} was removed.")
        return (cancelled, *answer_delivery(state, job, cancelled))
    return _mark_unknown(state, job)


def _mark_unknown(state: State, job: Job) -> tuple[JournalEvent, ...]:
    unknown = JobMarkedUnknownAfterCrash(job.job_id, job.session_key)
    return (unknown, *answer_delivery(state, job, unknown))


def meet_runner(state: State, command: MeetRunner, _now: str, _limits: Limits) -> Decision:
    machine = state.machines.get(command.machine)
    if machine is None:
        return refuse(Code.E_MACHINE_NOT_FOUND, f"There is no machine {command.machine[:60]!r}.")
    known = (machine.runner_id, machine.runner_epoch, machine.version, machine.agents, machine.slots)
    if known == (command.runner_id, command.epoch, command.version, command.agents, command.slots):
        return NOTHING
    if command.epoch < machine.runner_epoch:
        return refuse(Code.E_RUNNER_SUPERSEDED, f"A later runner of {command.machine} was met before.")
    lost = _agent_turns_on(state, machine) if machine.runner_id and machine.runner_id != command.runner_id else ()
    unknown = [event for job in lost for event in _mark_unknown(state, job)]
    return Decision(
        (
            *unknown,
            RunnerMet(**{name: getattr(command, name) for name in command.__struct_fields__}),
        )
    )


def _agent_turns_on(state: State, machine: Machine) -> list[Job]:
    """Turns that agents began by themselves: no order asks for them again, so nobody would say that they are lost."""
    had = (state.jobs[job_id] for job_id in (*state.running, *state.waiting))
    return [job for job in had if job.cause == "agent" and machine_of(job.project_path) == machine.name]


def begin_epoch(state: State, command: BeginMachinesEpoch, _now: str, _limits: Limits) -> Decision:
    step = state.machines_step + (TAKE_OVER_STEPS if command.took_over else 1)
    return Decision((MachinesEpochBegun(command.epoch, command.token, step, command.took_over),))


def is_set_back(state: State, step: int, token: str) -> bool:
    """Whether a daemon had come to `step`, under `token`, that this journal does not know: it is an older copy, or one
    that went on beside another. What is longer ago than the tokens that are kept is not questioned."""
    ago = state.machines_step - step
    return ago < 0 or (ago < len(state.machines_tokens) and state.machines_tokens[-1 - ago] != token)
