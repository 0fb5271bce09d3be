"""What a runner's parts share: its journal with its state, and the way to the daemon. Interfaces only."""

from collections.abc import Callable
from typing import Protocol

from fairlead.core.engine import Invocation
from fairlead.core.machines.messages import BlobSent, Fact, Live, RunTurn
from fairlead.core.machines.runner_state import RunnerFact, RunnerState


class Book(Protocol):
    """The runner's journal and its state."""

    @property
    def state(self) -> RunnerState: ...

    def apply_now(self, *facts: RunnerFact) -> int:
        """Applied at once; returns the number that `until_durable` takes."""
        ...

    @property
    def last(self) -> int:
        """The number of the last fact."""
        ...

    async def until_durable(self, number: int) -> None: ...

    def when_durable(self, number: int, then: Callable[[], None]) -> None:
        """Calls `then` as soon as it is, behind those of earlier calls."""
        ...

    def call_after_sync(self, then: Callable[[], None]) -> None:
        """From now on `then` is called when all have heard what a sync made durable."""
        ...

    def now(self) -> str: ...


class ToDaemon(Protocol):
    @property
    def is_up(self) -> bool: ...

    def tell(self, fact: Fact) -> None:
        """Only while it is up."""
        ...

    def show(self, live: Live) -> None: ...


class TurnInputs(Protocol):
    """Makes of an order what a runtime takes: files on disk, directories of this machine."""

    async def prepare(self, order: RunTurn) -> Invocation:
        """Raises the FairleadError that forbids the turn."""
        ...

    def on_blob(self, sent: BlobSent) -> None:
        """A blob that was asked for is on the wire, or gone."""
        ...
