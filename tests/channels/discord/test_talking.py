"""A person talks, the agent answers: in direct messages, in a channel, in a thread."""

import pytest

from channels.discord.daemon import Stage

pytestmark = pytest.mark.anyio


@pytest.mark.req("C7", "C8")
async def test_a_direct_message_is_answered_by_the_persons_own_session(stage: Stage) -> None:
    said = stage.owner.say(stage.owner.dm, "hello")
    answer = await stage.owner.dm.wait_for_answer(after=said)
    assert answer.content == f"echo agent:fairlead:user:{stage.owner.id}: hello"
