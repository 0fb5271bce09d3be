"""The items of a conversation's inbox: events of the gateway, and requests to catch up on those it did not send."""

from collections.abc import Sequence
from typing import TypeAlias

import discord
import msgspec


class ReceivedMessage(msgspec.Struct, frozen=True):
    message: discord.Message


class MessageEdit(msgspec.Struct, frozen=True):
    message: discord.Message


class MessageDeletion(msgspec.Struct, frozen=True):
    message_id: int


class MessageReaction(msgspec.Struct, frozen=True):
    message_id: int
    user_id: int
    guild_id: int | None


class CatchUpRequest(msgspec.Struct, frozen=True):
    """Read the messages after `since`. Those before `oldest` are too old to be answered. One that `goes_on` reads what
    an earlier request left because the session's queue was full."""

    since: int
    oldest: int
    goes_on: bool = False


InboundEvent: TypeAlias = ReceivedMessage | MessageEdit | MessageDeletion | MessageReaction | CatchUpRequest


def is_covered(event: InboundEvent, waiting: Sequence[InboundEvent]) -> bool:
    """During an outage gateway sessions come and go, and each asks to catch up: one request that still waits reads
    everything that a later one would."""
    if not isinstance(event, CatchUpRequest) or event.goes_on:
        return False
    return any(isinstance(each, CatchUpRequest) and each.since <= event.since for each in waiting)
