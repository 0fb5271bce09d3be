"""Which conversation and session a channel, thread or DM of Discord is; whether a message is for us. Sends nothing."""

import re
from functools import lru_cache
from typing import Final, Literal

import discord
import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.identity import Identities
from fairlead.core.keys import SessionKey, channel_key, thread_key, user_key

CHANNEL: Final = "discord"
_THREADS: Final = frozenset(
    {discord.ChannelType.public_thread, discord.ChannelType.private_thread, discord.ChannelType.news_thread}
)

_PEOPLE_KEPT: Final = 256

Kind = Literal["dm", "channel", "thread"]


class DiscordConversation(msgspec.Struct, frozen=True):
    kind: Kind
    ref: ConversationRef
    session_key: SessionKey
    guild_id: int | None = None


class DiscordConversations:
    """Names conversations after the agent that is talked to. With a guild id, no other guild is known."""

    def __init__(self, agent_id: str, identities: Identities, guild_id: str = "") -> None:
        self._agent_id = agent_id
        self._identities = identities
        self._guild_id = int(guild_id) if guild_id else None
        self.person = lru_cache(maxsize=_PEOPLE_KEPT)(self._find_person)
        """Who a Discord account is. Asked several times for every message."""

    def _find_person(self, user_id: int) -> str:
        return self._identities.person_of(CHANNEL, str(user_id))

    def serves(self, guild_id: int | None) -> bool:
        return guild_id is None or self._guild_id is None or guild_id == self._guild_id

    def ref(self, channel_id: int, parent_id: int | None = None) -> ConversationRef:
        parent = None if parent_id is None else str(parent_id)
        return ConversationRef(CHANNEL, self._agent_id, str(channel_id), parent)

    def dm(self, channel_id: int, user_id: int) -> DiscordConversation:
        key = user_key(agent_id=self._agent_id, user_id=self.person(user_id))
        return DiscordConversation("dm", self.ref(channel_id), key)

    def thread(self, guild_id: int, thread_id: int, parent_id: int | None) -> DiscordConversation:
        key = thread_key(agent_id=self._agent_id, space_id=str(guild_id), thread_id=str(thread_id))
        return DiscordConversation("thread", self.ref(thread_id, parent_id), key, guild_id)

    def channel(self, guild_id: int, channel_id: int) -> DiscordConversation:
        key = channel_key(agent_id=self._agent_id, space_id=str(guild_id), channel_id=str(channel_id))
        return DiscordConversation("channel", self.ref(channel_id), key, guild_id)

    def of(self, channel: object, *, guild_id: int | None, channel_id: int, user_id: int) -> DiscordConversation | None:
        """The conversation that discord.py's `channel` is; None where it only knows the id."""
        if guild_id is None:
            return self.dm(channel_id, user_id)
        kind = getattr(channel, "type", None)
        if kind is None:
            return None
        if kind in _THREADS:
            return self.thread(guild_id, channel_id, getattr(channel, "parent_id", None))
        return self.channel(guild_id, channel_id)


def without_mention(text: str, mention: re.Pattern[str]) -> str:
    """The text for the agent: at the ends the mention is an address and goes, in the middle it is a word and stays."""
    return _mention_at_the_ends(mention.pattern).sub("", text)


@lru_cache(maxsize=64)
def _mention_at_the_ends(mention: str) -> re.Pattern[str]:
    ours = f"(?:{mention})"
    return re.compile(rf"^\s*(?:{ours}\s*)+|(?:\s*{ours})+\s*$")


def names_us(message: discord.Message, bot_id: int, mention: re.Pattern[str]) -> bool:
    """A mention in the text; the silent one of a reply to us counts too."""
    return bool(mention.search(message.content)) or any(user.id == bot_id for user in message.mentions)


def guild_id_of(message: discord.Message) -> int | None:
    """None for a direct message. A server that discord.py does not know yet leaves its id in the channel: a message
    from there is no direct message."""
    if message.guild is not None:
        return message.guild.id
    return getattr(message.channel, "guild_id", None)


def guild_of(key: SessionKey | None) -> int | None:
    """The server in a session's key; None for a direct message, and for a session that was spawned without a thread."""
    space = None if key is None else key.space_id
    return int(space) if space is not None and space.isdecimal() else None


def link_to(guild_id: int | None, channel_id: str | int, message_id: str | int | None = None) -> str:
    base = f"https://discord.com/channels/{guild_id or '@me'}/{channel_id}"
    return base if message_id is None else f"{base}/{message_id}"


_LINK: Final = re.compile(r"(?:discord(?:app)?\.com/channels/(?:\d+|@me)/(\d+)/)?(\d{15,25})\s*>?\s*$")


def message_named(text: str) -> str | None:
    """The message's id in a link, or given bare; None for anything else."""
    found = _LINK.search(text.strip())
    return found[2] if found else None
