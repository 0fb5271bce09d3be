"""Whether an agent can be chosen in a project: the project allows it, and the project's machine has it."""

from fairlead.core.agents import BUILT_IN_AGENTS
from fairlead.core.machines.machine import Machine
from fairlead.core.machines.places import machine_of, own_name
from fairlead.core.state import Project, State
from fairlead.errors import Code, FairleadError, error


def find_agent_problem(state: State, runtime: str, project: Project) -> FairleadError | None:
    """Why `runtime` cannot be used in this project; None if it can. An agent that was added where the daemon runs is
    not on the other machines."""
    machine = state.machines.get(machine_of(project.path))
    if machine is not None and machine.agents and own_name(runtime) not in {offer.name for offer in machine.agents}:
        return _missing_there(own_name(runtime)[:40], machine)
    if runtime not in project.enabled_runtimes:
        enabled = ", ".join(project.enabled_runtimes)
        return error(Code.E_TOOL_NOT_ENABLED, f"{runtime[:40]!r} is not enabled in {project.name}: it has {enabled}.")
    return None


def _missing_there(name: str, machine: Machine) -> FairleadError:
    there = ", ".join(offer.name for offer in machine.agents)
    if name in BUILT_IN_AGENTS:
        next_step = f"Install {name} on {machine.name} and start its runner again, or choose an agent that it has."
    else:
        next_step = f"Run `fairlead runner agent add {name}` on {machine.name}, or choose an agent that it has."
    return error(
        Code.E_TOOL_NOT_ENABLED, f"The machine {machine.name} has no agent {name}: it has {there}.", next_step=next_step
    )
