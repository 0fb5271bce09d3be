"""Why the next job of a session waits although nothing runs before it, and since when a machine is away. Asks who is
there, and decides nothing."""

from fairlead.core.decide.budget_state import project_of_next
from fairlead.core.job_states import Held
from fairlead.core.machines.places import machine_of
from fairlead.core.state import Session, State
from fairlead.machine_ports import OtherMachines


def find_awaited_machine(state: State, session: Session, machines: OtherMachines) -> str:
    """The machine that the session's next job waits for; empty if it waits for none."""
    if not state.machines or not session.queue:
        return ""
    project = state.projects.get(project_of_next(state, session))
    machine = "" if project is None else machine_of(project.path)
    return machine if machine and not machines.is_usable(machine) else ""


def find_away_since(machine: str, machines: OtherMachines) -> str:
    """Since when this machine is not connected; empty if it is, and for this machine itself."""
    if not machine:
        return ""
    presence = machines.presence(machine)
    return "" if presence.is_there else presence.since


def why_held(state: State, session: Session, machines: OtherMachines) -> Held:
    if session.hand_off is not None:
        return "handed_off"
    return "machine_away" if find_awaited_machine(state, session, machines) else ""
