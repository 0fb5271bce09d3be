"""A machine that the daemon knows, as the journal has it. Whether it is there now is nobody's fact."""

import msgspec

from fairlead.core.ids import JobId
from fairlead.core.machines.offers import AgentOffer


class Presence(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Whether a machine is there: for people, and for the question whether a job may begin. `since` is when it came or
    went, by this machine's clock; of one that was there before this process began, when that began; empty if it has
    never joined. `clock` is what its own clock
    said when it was last heard. `problem` says why it cannot be used though it is there."""

    is_there: bool = False
    since: str = ""
    clock: str = ""
    running: int = 0
    problem: str = ""


class Machine(msgspec.Struct, omit_defaults=True, gc=False, kw_only=True):
    """`machine_id` never changes, and is by which the wire knows it. `runner_id` is that of the runner's journal, and
    `runner_epoch` the highest of its processes that was met. `lost_jobs` were with a runner whose journal nobody has
    any more: what became of them, nobody knows. `slots` is how many turns it runs at a time."""

    name: str
    machine_id: str = ""
    added_at: str = ""
    runner_id: str = ""
    runner_epoch: int = 0
    version: str = ""
    agents: tuple[AgentOffer, ...] = ()
    slots: int = 1
    lost_jobs: list[JobId] = []
