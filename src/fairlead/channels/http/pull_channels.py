"""The channels that are served over HTTP, as the flow knows them: nothing is sent to them, their clients fetch."""

from typing import Final, NoReturn

from fairlead.ports import ChannelCapabilities, OutgoingMessage

PULL_CHANNELS: Final = ("http", "terminal", "console")
"""The terminal speaks HTTP too, and is told apart by a header."""


class PullChannel:
    """A channel whose clients fetch for themselves: nothing is ever sent."""

    capabilities = ChannelCapabilities(files=True, push=False)

    def __init__(self, name: str) -> None:
        self.name = name

    async def send(self, outgoing: OutgoingMessage) -> str:
        self._refuse_push(outgoing)

    async def find(self, outgoing: OutgoingMessage) -> str | None:
        self._refuse_push(outgoing)

    def _refuse_push(self, outgoing: OutgoingMessage) -> NoReturn:
        raise AssertionError(f"{self.name} has no push; {outgoing.entry_id} waits to be fetched")
