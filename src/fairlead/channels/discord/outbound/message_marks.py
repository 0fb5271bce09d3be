"""Marks on Discord messages: each is a reaction of the bot's. Which mark belongs to a job is decided elsewhere."""

import msgspec

from fairlead.channels.discord.outbound.rest import RestCalls
from fairlead.channels.push.marks import WantedMarks
from fairlead.channels.push.rate_limit import Urgency
from fairlead.kit.tasks import TaskOwner


class MessageAddress(msgspec.Struct, frozen=True):
    """Where a message stands: Discord's REST API finds no message by its own id alone."""

    channel_id: int
    message_id: int

    def __str__(self) -> str:
        return f"{self.channel_id}/{self.message_id}"


class MessageMarks:
    def __init__(self, rest: RestCalls, owner: TaskOwner) -> None:
        self._rest = rest
        self._wanted = WantedMarks(self._add_reaction, owner)

    def want(self, message: MessageAddress, mark: str) -> None:
        self._wanted.want(message, mark)

    async def _add_reaction(self, message: MessageAddress, mark: str) -> None:
        await self._rest.until_done(
            Urgency.MARK,
            lambda client: (
                client.get_partial_messageable(message.channel_id)
                .get_partial_message(message.message_id)
                .add_reaction(mark)
            ),
        )
