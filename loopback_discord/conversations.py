"""A channel, thread or DM as a test sees it: what stands there, and what an administrator does to it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import threads
from .board import PATIENCE_SEC
from .model import THREAD_STARTER, Channel, Message, ThreadState
from .world import GUILDS, Event

if TYPE_CHECKING:
    from .server import LoopbackDiscord

Test = Callable[[Message], object]


def anything(_message: Message) -> bool:
    return True


class Conversation:
    def __init__(self, server: "LoopbackDiscord", channel: Channel) -> None:
        self.server = server
        self.channel = channel

    def __repr__(self) -> str:
        return f"<Conversation {self.channel.name or 'DM'} {self.id}>"

    @property
    def id(self) -> int:
        return self.channel.id

    @property
    def thread(self) -> ThreadState:
        assert self.channel.thread is not None, f"{self} is no thread"
        return self.channel.thread

    @property
    def messages(self) -> list[Message]:
        """Oldest first, ephemeral ones included, without the notice that opens a thread."""
        found = sorted(self.channel.messages.values(), key=lambda each: each.id)
        return [each for each in found if each.type != THREAD_STARTER]

    @property
    def from_bot(self) -> list[Message]:
        """What the bot said, by itself or through a webhook."""
        return [each for each in self.messages if each.author.bot]

    @property
    def texts(self) -> list[str]:
        return [each.content for each in self.messages]

    def threads(self) -> list["Conversation"]:
        found = [each for each in self.server.world.channels.values() if each.parent_id == self.id]
        return [Conversation(self.server, each) for each in found]

    # waiting

    async def wait_for_message(self, test: Test = anything, *, timeout: float = PATIENCE_SEC) -> Message:
        """The oldest message by anybody, there already or to come, that passes the test."""
        return await self._wait(lambda: self.messages, test, timeout)

    async def wait_for_answer(
        self, test: Test = anything, *, after: Message | None = None, timeout: float = PATIENCE_SEC
    ) -> Message:
        """The same for messages of the bot, later than `after`."""
        since = after.id if after else 0
        return await self._wait(lambda: [each for each in self.from_bot if each.id > since], test, timeout)

    async def wait_for_thread(self, *, timeout: float = PATIENCE_SEC) -> "Conversation":
        found = await self.server.wait_for(self.threads, timeout=timeout, what=f"a thread in {self}")
        return found[-1]

    async def wait_for_typing(self, *, timeout: float = PATIENCE_SEC) -> None:
        await self.server.wait_for(
            lambda: any(channel_id == self.id for _, channel_id in self.server.typings),
            timeout=timeout, what=f"typing in {self}",
        )  # fmt: skip

    async def _wait(self, among: Callable[[], list[Message]], test: Test, timeout: float) -> Message:
        def look() -> Message | None:
            return next((each for each in among() if test(each)), None)

        try:
            return await self.server.wait_for(look, timeout=timeout, what=f"a message in {self}")
        except AssertionError as late:
            raise AssertionError(f"{late} It holds: {self.texts}") from None

    # an administrator's doings

    def archive(self) -> None:
        threads.change(self.server.world, self.channel, {"archived": True})

    def unarchive(self) -> None:
        threads.change(self.server.world, self.channel, {"archived": False})

    def lock(self) -> None:
        threads.change(self.server.world, self.channel, {"locked": True})

    def unlock(self) -> None:
        threads.change(self.server.world, self.channel, {"locked": False})

    def delete(self) -> None:
        threads.remove(self.server.world, self.channel)

    def deny(self, bits: int) -> None:
        """Takes permissions (see `Allow`) from the bot here and in the threads of this channel, which have none of
        their own; `deny(0)` gives them all back."""
        world = self.server.world
        for each in (self, *self.threads()):
            each.channel.denied = bits
        if self.channel.guild and not self.channel.thread:
            world.publish(Event("CHANNEL_UPDATE", world.channel_body(self.channel), GUILDS))
        world.board.changed()
