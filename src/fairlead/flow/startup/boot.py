"""What a start does before the state is read. The daemon brings the real one, the simulator a simulated one.

Little code is needed here: the rest of Fairlead is loaded while the channels connect, so nothing of it is imported."""

from contextlib import AbstractContextManager, AsyncExitStack
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fairlead.flow.startup.machine import HostMachine


class Boot(Protocol):
    def lock(self) -> AbstractContextManager[object]:
        """Raises E_STATE_LOCKED with the holder's name."""
        ...

    def connect(self, stack: AsyncExitStack) -> None:
        """Channels begin to connect; `stack` gets what disconnects them. What arrives waits, unread, until the channel
        runs: nobody could take it yet. Faults are the channel's, which meets them when it runs."""
        ...

    async def load(self) -> "HostMachine":
        """The machine, with the code that the other steps need."""
        ...
