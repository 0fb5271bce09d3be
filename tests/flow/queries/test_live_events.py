"""What a watcher sees of a job while it runs."""

import asyncio

import pytest

from fairlead.core.live import JobMoved, QuestionOpened, QuestionSettled
from tests.flow.harness import flow_house, place, virtually

pytestmark = pytest.mark.req("A12")


@virtually
async def test_a_watcher_sees_what_it_asked_for_and_questions_too():
    async with flow_house() as flow:
        mine = flow.view.watch(session_key="agent:fairlead:user:42")
        seen = []

        async def look() -> None:
            async for event in mine:
                match event:
                    case JobMoved():
                        seen.append(event.state)
                    case QuestionOpened():
                        seen.append(event.question.title)
                    case QuestionSettled():
                        seen.append(f"{event.question.outcome} by {event.question.answered_by}")
                    case _:
                        pass

        looking = asyncio.ensure_future(look())
        await flow.answered("not mine", user="other")
        receipt = await flow.say("/ask ls")
        await flow.click(await flow.question())
        await flow.ended(receipt.job_id)
        await asyncio.sleep(1)
        looking.cancel()
        await mine.aclose()
        assert seen == ["queued", "running", "waiting", "Run ls", "allow by 42", "running", "success"]
        await flow.answered("unwatched")
        assert place().channel == "chat"
