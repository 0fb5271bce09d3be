"""What a text says of places: mentions, links and ids of messages."""

import pytest

from fairlead.channels.discord.inbound.places import message_named, without_mention

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<@7> hello", "hello"), ("<@!7>   hello <@7>", "hello"), ("tell <@7> that", "tell <@7> that"),
        ("<@8> hello", "<@8> hello"), ("<@7>", ""), ("  two\nlines", "  two\nlines"),
    ],
)  # fmt: skip
def test_a_mention_at_the_ends_is_an_address(text: str, left: str) -> None:
    assert without_mention(text, 7) == left


def test_a_message_is_named_by_its_link_or_its_id() -> None:
    assert message_named("https://discord.com/channels/1/2/123456789012345678") == "123456789012345678"
    assert message_named("<https://discord.com/channels/@me/2/123456789012345678>") == "123456789012345678"
    assert message_named("123456789012345678") == "123456789012345678"
    assert message_named("hello") is None
