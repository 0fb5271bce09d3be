"""Everybody and everything on the loopback Discord, and the announcement of what changes.

No HTTP, no sockets.
"""

import secrets
from collections.abc import Callable
from typing import Any

import msgspec

from . import errors, wire
from .board import Board
from .clock import Clock, Snowflakes
from .model import (
    DM,
    TEXT,
    Allow,
    Application,
    Attachment,
    Channel,
    Guild,
    Interaction,
    Member,
    Message,
    User,
    Webhook,
)

GUILDS, GUILD_MESSAGES, GUILD_REACTIONS, GUILD_TYPING = 1 << 0, 1 << 9, 1 << 10, 1 << 11
DM_MESSAGES, DM_REACTIONS, DM_TYPING, MESSAGE_CONTENT = 1 << 12, 1 << 13, 1 << 14, 1 << 15
NONCE_LIFE_S = 180.0
ALWAYS = 0


class Event(msgspec.Struct, eq=False):
    """Something for the gateway. `intent` decides who gets it, `message` whether its text is blanked."""

    name: str
    data: dict[str, Any]
    intent: int = ALWAYS
    message: Message | None = None


class World:
    def __init__(self, clock: Clock, board: Board) -> None:
        self.clock = clock
        self.board = board
        self.snowflakes = Snowflakes(clock)
        self.users: dict[int, User] = {}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}
        self.webhooks: dict[int, Webhook] = {}
        self.attachments: dict[int, Attachment] = {}
        self.interactions: dict[int, Interaction] = {}
        self.commands: dict[int | None, list[dict[str, Any]]] = {None: []}
        self.nonces: dict[tuple[int, str], tuple[float, Message]] = {}
        self.cdn = ""
        self.acknowledge_within_sec = 3.0
        self.publish: Callable[[Event], None] = lambda _event: None
        owner = self.add_user("owner")
        bot = self.add_user("fairlead", bot=True)
        self.application = Application(id=bot.id, name="fairlead", bot=bot, owner=owner)
        self.token = f"loopback.{secrets.token_hex(12)}"

    @property
    def bot(self) -> User:
        return self.application.bot

    # people and conversations

    def add_user(self, username: str, *, bot: bool = False, locale: str = "en-US") -> User:
        user = User(self.snowflakes.next(), username, global_name=username.title(), bot=bot, locale=locale)
        self.users[user.id] = user
        return user

    def add_guild(self, name: str, *, locale: str = "en-US") -> Guild:
        guild = Guild(self.snowflakes.next(), name, self.application.owner.id, locale)
        guild.bot_role_id = self.snowflakes.next()
        self.guilds[guild.id] = guild
        for user in (self.application.owner, self.bot):
            self.join(guild, user)
        self.publish(Event("GUILD_CREATE", self.guild_event(guild), GUILDS))
        return guild

    def join(self, guild: Guild, user: User) -> Member:
        return guild.members.setdefault(user.id, Member(user, self.clock.iso()))

    def add_text_channel(self, guild: Guild, name: str) -> Channel:
        position = sum(channel.guild is guild for channel in self.channels.values())
        channel = Channel(self.snowflakes.next(), TEXT, name, guild=guild, position=position)
        self.channels[channel.id] = channel
        self.publish(Event("CHANNEL_CREATE", self.channel_body(channel), GUILDS))
        self.board.changed()
        return channel

    def open_dm(self, user: User) -> Channel:
        for channel in self.channels.values():
            if channel.recipient is user:
                return channel
        channel = Channel(self.snowflakes.next(), DM, recipient=user)
        self.channels[channel.id] = channel
        self.publish(Event("CHANNEL_CREATE", self.channel_body(channel), DM_MESSAGES))
        self.board.changed()
        return channel

    # lookups that refuse as the API does

    def channel(self, channel_id: str | int) -> Channel:
        channel = self.channels.get(number(channel_id))
        if channel is None or channel.deleted:
            raise errors.unknown_channel()
        if not self.visible(channel):
            raise errors.missing_access()
        return channel

    def visible(self, channel: Channel) -> bool:
        parent = self.channels.get(channel.parent_id) if channel.parent_id else None
        return channel.bot_may(Allow.VIEW_CHANNEL) and (parent is None or self.visible(parent))

    def message(self, channel: Channel, message_id: str | int) -> Message:
        message = channel.messages.get(number(message_id))
        if message is None or message.ephemeral:
            raise errors.unknown_message()
        return message

    def guild(self, guild_id: str | int) -> Guild:
        guild = self.guilds.get(number(guild_id))
        if guild is None:
            raise errors.unknown_guild()
        return guild

    def user(self, user_id: str | int) -> User:
        user = self.users.get(number(user_id))
        if user is None:
            raise errors.unknown_user()
        return user

    # bodies

    def channel_body(self, channel: Channel) -> dict[str, Any]:
        return wire.channel_json(channel, self.bot)

    def threads_of(self, guild: Guild) -> list[Channel]:
        return [each for each in self.channels.values() if each.guild is guild and each.thread]

    def active_threads(self, guild: Guild) -> list[Channel]:
        return [each for each in self.threads_of(guild) if each.thread and not each.thread.archived]

    def guild_event(self, guild: Guild) -> dict[str, Any]:
        plain = [each for each in self.channels.values() if each.guild is guild and not each.thread]
        bodies = [self.channel_body(each) for each in plain if self.visible(each)]
        threads = [self.channel_body(each) for each in self.active_threads(guild) if self.visible(each)]
        members = [wire.member_json(member, guild) for member in guild.members.values()]
        return wire.guild_json(guild) | {
            "joined_at": self.clock.iso(), "large": False, "unavailable": False, "member_count": len(members),
            "members": members, "channels": bodies, "threads": threads, "presences": [], "voice_states": [],
            "stage_instances": [], "guild_scheduled_events": [], "soundboard_sounds": [],
        }  # fmt: skip

    def message_body(self, message: Message, *, with_nonce: bool = False, depth: int = 1) -> dict[str, Any]:
        body = wire.message_json(message, bot=self.bot, cdn=self.cdn, clock=self.clock)
        if with_nonce and message.nonce is not None:
            body["nonce"] = message.nonce
        thread = self.channels.get(message.id)
        if thread is not None and thread.parent_id == message.channel_id:
            body["thread"] = self.channel_body(thread)
        if message.reference:
            body |= self._reference_body(message, depth)
        return body

    def _reference_body(self, message: Message, depth: int) -> dict[str, Any]:
        assert message.reference is not None
        channel_id, message_id = message.reference
        source = self.channels[channel_id]
        reference = {"type": 0, "channel_id": str(channel_id), "message_id": str(message_id)}
        if source.guild:
            reference["guild_id"] = str(source.guild.id)
        body: dict[str, Any] = {"message_reference": reference}
        if depth:
            quoted = source.messages.get(message_id)
            body["referenced_message"] = self.message_body(quoted, depth=depth - 1) if quoted else None
        return body

    def publish_message(self, name: str, message: Message, *, with_nonce: bool = False) -> None:
        channel = self.channels[message.channel_id]
        if message.ephemeral or not self.visible(channel):
            return
        data = self.message_body(message, with_nonce=with_nonce)
        if channel.guild:
            data["guild_id"] = str(channel.guild.id)
            member = channel.guild.members.get(message.author.id)
            if member:
                data["member"] = {
                    key: value for key, value in wire.member_json(member, channel.guild).items() if key != "user"
                }
        self.publish(Event(name, data, GUILD_MESSAGES if channel.guild else DM_MESSAGES, message))

    def publish_in(self, channel: Channel, name: str, data: dict[str, Any], intents: tuple[int, int]) -> None:
        """An event of a channel: the first intent in guilds, the second in direct messages."""
        if channel.guild:
            data = {"guild_id": str(channel.guild.id), **data}
        if self.visible(channel):
            self.publish(Event(name, data, intents[0] if channel.guild else intents[1]))

    # nonces

    def remembered(self, author: User, nonce: object) -> Message | None:
        """The message this author sent with that nonce in the last three minutes."""
        seen = self.nonces.get((author.id, str(nonce)))
        if seen is None or self.clock.now() - seen[0] > NONCE_LIFE_S:
            return None
        return seen[1]


def number(text: str | int) -> int:
    try:
        return int(text)
    except ValueError:
        raise errors.invalid_form("id", "NUMBER_TYPE_COERCE", f"Value {text!r} is not snowflake.") from None
