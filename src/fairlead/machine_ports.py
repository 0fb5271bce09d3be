"""The interface between the daemon and the runners on other machines: what carries their frames. Nothing is implemented
here. NATS implements it in production, `testing.memory_wire` in the simulator.

1. A wire is a carrier and no truth. It may lose, double, delay and reorder whatever it carries, blobs and claims of a
   server whose disk was wiped included. Numbers, receipts and epochs are the business of those who use it
   (`core/machines`); to the wire a frame is bytes.
2. A wire belongs to one end: to the daemon, which talks to every machine, or to the runner of one machine.
3. Nothing is ever raised because the other end, or the server, is not there: what cannot be carried is dropped.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

import msgspec

from fairlead.core.ids import SessionKeyText
from fairlead.core.machines.machine import Machine, Presence
from fairlead.errors import Code, error
from fairlead.runtime_ports import ToolHandler

if TYPE_CHECKING:
    from fairlead.core.machines.messages import AgentTurnBegun, RunnerHello

DAEMON: Final = "daemon"
"""The name under which the daemon claims its epoch; no machine can have it."""

Lane = Literal["orders", "facts", "live"]
"""`orders` go from the daemon to a machine, `facts` from a machine to the daemon; a wire may store both for an end that
is away. `live` goes from a machine to the daemon, is never stored, and is the first that a full wire drops."""


class Arrived(msgspec.Struct, frozen=True):
    """A frame from this machine, or, at a runner, for it."""

    machine: str
    lane: Lane
    data: bytes


class Connected(msgspec.Struct, frozen=True):
    """The wire is up, for the first time or again: both ends send again what they owe."""


class Disconnected(msgspec.Struct, frozen=True):
    """The wire is down; `reason` is for people. It connects again by itself."""

    reason: str = ""


class KeyRemoved(msgspec.Struct, frozen=True):
    """The server does not accept this end's key any more (removed, expired): nothing will be carried until a person
    does something."""

    reason: str = ""


WireEvent: TypeAlias = Arrived | Connected | Disconnected | KeyRemoved


class Claim(msgspec.Struct, frozen=True):
    """Who has a name. Of two processes with one name, that with the higher epoch counts, and the other ends itself.
    `token` says who wrote the claim. `revision` belongs to the wire: it changes with every writing."""

    epoch: int
    token: str
    revision: int = 0


class Wire(Protocol):
    @property
    def largest_frame(self) -> int:
        """In bytes. A sender with more to say puts it into a blob and sends its digest."""
        ...

    def send(self, machine: str, lane: Lane, data: bytes) -> None:
        """At once, without waiting; frames of one lane leave in the order of the calls, as long as nothing fails. At a
        runner `machine` is its own name."""
        ...

    def events(self) -> AsyncIterator[WireEvent]:
        """For ever, for one listener. The first is Connected as soon as the wire is up."""
        ...

    async def read_claim(self, name: str) -> Claim | None:
        """None where nobody has the name. Waits until the wire is up."""
        ...

    async def write_claim(self, name: str, claim: Claim, *, after: int) -> bool:
        """Only if the claim of this name still has the revision `after` (0: there is none); False if not. Waits until
        the wire is up."""
        ...

    async def put_blob(self, machine: str, digest: str, data: bytes) -> None:
        """For the other end, as long as it takes; the same digest again changes nothing. Waits until the wire is
        up."""
        ...

    async def get_blob(self, machine: str, digest: str) -> bytes | None:
        """None where there is none, or where its bytes have another SHA-256 (`digest` is its hex form)."""
        ...

    async def drop_blob(self, machine: str, digest: str) -> None:
        """The other end has it. Nothing happens where there is none."""
        ...

    async def aclose(self) -> None: ...


# --- the daemon's other machines -----------------------------------------------------------------------------------


class MachineRecords(Protocol):
    """What the journal knows of machines, and what it is told of them."""

    @property
    def machines(self) -> Mapping[str, Machine]: ...

    @property
    def last_epoch(self) -> int: ...

    @property
    def tokens(self) -> Sequence[str]: ...

    @property
    def step(self) -> int:
        """How many claims the journal has; the last of `tokens` belongs to it."""
        ...

    def now(self) -> str: ...

    async def begin_epoch(self, epoch: int, token: str, *, took_over: bool = False) -> None:
        """Durable when this returns."""
        ...

    def is_set_back(self, hello: "RunnerHello") -> bool:
        """Whether this runner has heard of a daemon whose journal had come farther than this one."""
        ...

    async def meet(self, machine: str, hello: "RunnerHello", epoch: int) -> None:
        """Durable when this returns. Raises FairleadError if this runner is not to be heard."""
        ...

    def is_wanted(self, turn_id: str) -> bool: ...

    def works_at(self, machine: str, session_key: SessionKeyText) -> bool:
        """Whether the project of this session, or of its last job, is on this machine: a runner speaks for no other."""
        ...

    def wants_agent_turn(self, begun: "AgentTurnBegun") -> bool:
        """Whether a turn that an agent began by itself is news, or belongs to a job that has not ended."""
        ...

    def may_have_begun(self, turn_id: str) -> bool:
        """Whether a runner that nobody can ask may have given this turn to its agent."""
        ...

    def on_presence(self, machine: str) -> None:
        """A machine came or went: jobs may start, or must wait."""
        ...


class OtherMachines(Protocol):
    """All other machines, as the flow meets them."""

    async def run(self, records: MachineRecords, tools: ToolHandler | None = None) -> None:
        """For ever."""
        ...

    def is_usable(self, name: str) -> bool:
        """Whether a job may begin there now."""
        ...

    def presence(self, name: str) -> Presence: ...

    def settle(self, name: str, turn_ids: Sequence[str]) -> None:
        """The ends of the jobs of these turns are durable."""
        ...

    def follow(self) -> None:
        """The machines are those that the journal has, from now on."""
        ...

    def new_id(self) -> str:
        """What a new machine is known by for ever, unlike any other. Raises E_MACHINE_NOT_FOUND where there can be
        no other machines."""
        ...

    async def let_join(self, name: str) -> str:
        """The line that is typed on this machine; its key works when this returns, and one that it had before does not.
        Raises E_MACHINE_NOT_FOUND where there can be no other machines."""
        ...

    @property
    def accounts_file(self) -> str:
        """What the operator of the server has to add to it; empty where the server is ours."""
        ...


class _NoMachines:
    async def run(self, records: MachineRecords, tools: ToolHandler | None = None) -> None:
        del records, tools

    def is_usable(self, name: str) -> bool:
        del name
        return False

    def presence(self, name: str) -> Presence:
        del name
        return Presence()

    def settle(self, name: str, turn_ids: Sequence[str]) -> None:
        del name, turn_ids

    def follow(self) -> None:
        """There is nobody to follow."""

    def new_id(self) -> str:
        raise error(
            Code.E_MACHINE_NOT_FOUND,
            "Other machines are turned off.",
            next_step="Set FAIRLEAD_MACHINES=1, and start Fairlead again.",
        )

    async def let_join(self, name: str) -> str:
        del name
        return self.new_id()

    @property
    def accounts_file(self) -> str:
        return ""


NO_MACHINES: Final[OtherMachines] = _NoMachines()
"""Where there is but one machine."""
