"""The sign of a text for the turn that runs."""

import pytest

from fairlead.core.conversation import ConversationRef
from fairlead.core.ids import MessageId
from fairlead.core.inbound import Attachment, Cause, Inbound
from fairlead.core.keys import user_key
from fairlead.core.steering import read_sign, split_sign, without_sign

pytestmark = pytest.mark.req("F6")


def inbound(text: str, *, steers: bool | None = None, cause: Cause = "message", files: int = 0) -> Inbound:
    return Inbound(
        conversation=ConversationRef("toy", "fairlead", "den"),
        session_key=user_key(agent_id="fairlead", user_id="42"),
        message_id=MessageId("1"),
        person="42",
        text=text,
        steers=steers,
        cause=cause,
        attachments=(Attachment(name="a"),) * files,
    )


@pytest.mark.parametrize(
    ("text", "read", "is_meant"),
    [
        ("!use make", "use make", True),
        ("  ! use make ", "use make", True),
        ("!!use make", "!use make", False),
        ("!!!", "!!", False),
        ("![a](b.png) look", "![a](b.png) look", False),
        ("use make!", "use make!", False),
        (" indented", " indented", False),
        ("", "", False),
    ],
)
def test_one_mark_is_for_the_turn_and_two_are_one_that_is_meant(text: str, read: str, is_meant: bool):
    assert split_sign(text) == (read, is_meant)
    found = read_sign(inbound(text))
    assert (found.text, found.steers) == (read, is_meant)


def test_a_mark_alone_is_a_message_and_with_a_file_it_is_a_text():
    assert (read_sign(inbound("!")).text, read_sign(inbound("!")).steers) == ("!", False)
    assert (read_sign(inbound("!", files=1)).text, read_sign(inbound("!", files=1)).steers) == ("", True)
    assert without_sign("!") == "!"


def test_a_channel_that_says_what_is_meant_keeps_its_text():
    assert read_sign(inbound("!x", steers=False)) == inbound("!x", steers=False)
    assert read_sign(inbound("!x", steers=True)) == inbound("!x", steers=True)


def test_only_what_a_person_writes_has_signs():
    assert read_sign(inbound("!x", cause="schedule")) == inbound("!x", cause="schedule")
