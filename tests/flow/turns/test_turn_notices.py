"""What a person must hear of beside the answer reaches every channel, and the log."""

import pytest

from fairlead.core.engine import Noticed, TurnEnded, TurnFailed
from fairlead.core.live import AgentActed
from fairlead.errors import Code
from tests.flow.harness import conversation_ref, run_flow, virtually
from tests.flow.turns.harness import playing

pytestmark = pytest.mark.req("E3", "E6")

NOTICE = Noticed("PERMISSIONS.json cannot be used, so the tier is readonly. Correct the file.")


@virtually
async def test_a_notice_stands_at_the_foot_of_the_answer_on_a_channel_and_in_the_journal():
    async with run_flow(runtimes=[playing(NOTICE, NOTICE, TurnEnded("Done."))]) as flow:
        job = await flow.answered("hello", at=conversation_ref())
        await flow.quiet()
        assert flow.texts(conversation_ref()) == [f"Done.\n\n⚠ {NOTICE.text}"]
        assert (await flow.view.job(job.job_id)).answer == f"Done.\n\n⚠ {NOTICE.text}"


@virtually
async def test_a_notice_of_a_turn_that_fails_comes_with_its_error():
    async with run_flow(runtimes=[playing(NOTICE, TurnFailed(Code.E_AGENT_ERROR, "It broke."))]) as flow:
        await flow.answered("hello", at=conversation_ref())
        await flow.quiet()
        told = "\n".join(flow.texts(conversation_ref()))
        assert told.startswith(f"⚠ {NOTICE.text}\n")
        assert "E_AGENT_ERROR" in told


@virtually
async def test_a_second_attempt_does_not_say_it_twice():
    failing = playing(
        NOTICE, TurnFailed(Code.E_AGENT_ERROR, "overloaded", transient=True), can={"second_attempt": True}
    )
    async with run_flow(runtimes=[failing]) as flow:
        job = await flow.answered("hello")
        assert job.tried_again
        assert (await flow.view.job(job.job_id)).answer.count("⚠") == 1


@virtually
async def test_watchers_see_it_as_it_comes():
    async with run_flow(runtimes=[playing(NOTICE, 60, TurnEnded("Done."))]) as flow:
        watch = flow.view.watch()
        await flow.say("hello")
        async for event in watch:
            if isinstance(event, AgentActed):
                break
        assert event.event == NOTICE
        await watch.aclose()
