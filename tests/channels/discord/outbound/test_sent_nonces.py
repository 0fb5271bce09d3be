"""Nonces tell our own messages from those of another daemon."""

import pytest

from fairlead.channels.discord.outbound.sent_nonces import SentNonces

pytestmark = pytest.mark.anyio


def test_our_own_echo_is_told_from_another_daemons() -> None:
    sent_nonces = SentNonces("abcdef")
    nonce = sent_nonces.nonce("status job_1")
    assert len(nonce) <= 25
    assert sent_nonces.take_echo(nonce, 5)
    assert sent_nonces.message_with(nonce) == "5"
    assert sent_nonces.is_of_another("5", "abcdother")
    assert sent_nonces.take_echo(None, 6)
    assert not sent_nonces.take_echo("wxyz0123", 7)
