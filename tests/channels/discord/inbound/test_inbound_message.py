"""Which of Discord's messages a job is about."""

import pytest

from fairlead.channels.discord.inbound.inbound_message import discord_message_id, said_message_id
from fairlead.core.conversation import ConversationRef
from fairlead.core.views import JobView

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("message_id", "about", "said"),
    [("123456", 123456, 123456), ("reaction-123456", 123456, None), ("retry-job_1", None, None), ("", None, None)],
)
def test_the_message_that_a_job_is_about_is_known_by_its_id(message_id: str, about: int | None, said: int | None):
    job = JobView(
        job_id="job_20260105_0001",
        session_key="agent:fairlead:user:1",
        state="queued",
        attempt=1,
        enqueued_at="2026-01-05T08:00:00.000Z",
        conversation=ConversationRef("discord", "main", "7"),
        message_id=message_id,
        person="1",
    )
    assert (discord_message_id(job), said_message_id(job)) == (about, said)
