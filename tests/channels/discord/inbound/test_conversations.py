"""What a text names: mentions, links and ids of messages."""

from typing import Any

import discord
import pytest

from fairlead.channels.discord.inbound.bot_identity import mention_of
from fairlead.channels.discord.inbound.conversations import guild_id_of, message_named, without_mention

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<@7> hello", "hello"), ("<@!7>   hello <@7>", "hello"), ("tell <@7> that", "tell <@7> that"),
        ("<@8> hello", "<@8> hello"), ("<@7>", ""), ("  two\nlines", "  two\nlines"),
    ],
)  # fmt: skip
def test_a_mention_at_the_ends_is_an_address(text: str, left: str) -> None:
    assert without_mention(text, mention_of(7)) == left


def test_a_message_is_named_by_its_link_or_its_id() -> None:
    assert message_named("https://discord.com/channels/1/2/123456789012345678") == "123456789012345678"
    assert message_named("<https://discord.com/channels/@me/2/123456789012345678>") == "123456789012345678"
    assert message_named("123456789012345678") == "123456789012345678"
    assert message_named("hello") is None


def received(**more: str) -> discord.Message:
    """A message as discord.py makes it of a gateway event, with no server in its cache."""
    state: Any = discord.Client(intents=discord.Intents.none())._connection
    author = {"id": "5", "username": "eve", "discriminator": "0", "avatar": None, "global_name": None}
    data = {
        "id": "9",
        "channel_id": "7",
        "author": author,
        "content": "hello",
        "type": 0,
        "tts": False,
        "pinned": False,
        "timestamp": "2026-01-05T08:00:00+00:00",
        "edited_timestamp": None,
        "mention_everyone": False,
        **{name: [] for name in ("mentions", "mention_roles", "attachments", "embeds")},
        **more,
    }
    channel, _ = state._get_guild_channel(data)
    return discord.Message(state=state, channel=channel, data=data)


@pytest.mark.req("A13")
def test_a_message_from_a_server_that_discord_py_does_not_know_yet_is_no_direct_message() -> None:
    unknown = received(guild_id="4711")
    assert unknown.guild is None
    assert guild_id_of(unknown) == 4711
    assert guild_id_of(received()) is None
