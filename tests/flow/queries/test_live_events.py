"""What a watcher sees of a job while it runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.core.engine import EngineEvent, Invocation, PermissionRequested, TextDelta, ToolStarted, TurnEnded
from fairlead.core.live import AgentActed, JobMoved, LiveEvent, QuestionOpened, QuestionSettled
from fairlead.store.journal import JOURNAL_NAME
from fairlead.testing.clock import run_virtually
from tests.flow.harness import STATE, Agent, FlowHarness, conversation_ref, run_flow, virtually

pytestmark = pytest.mark.req("A12")


@virtually
async def test_a_watcher_sees_what_it_asked_for_and_questions_too():
    async with run_flow() as flow:
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
        assert conversation_ref().channel == "chat"


def _words_for(event: LiveEvent) -> list[str]:
    match event:
        case JobMoved():
            return [event.state]
        case QuestionOpened():
            return [event.question.title]
        case AgentActed(event=TextDelta(text=text)):
            return text.split()
        case AgentActed(event=ToolStarted() as started):
            return [started.tool_id]
        case _:
            return []


@asynccontextmanager
async def _listening(flow: FlowHarness, **to: str) -> AsyncIterator[list[str]]:
    """What a watcher hears, and that it hears of no question before the question is on disk."""
    heard: list[str] = []
    watch = flow.view.watch(**to)

    async def listen() -> None:
        async for event in watch:
            if isinstance(event, QuestionOpened):
                assert event.question.question_id.encode() in flow.disk.read(STATE / JOURNAL_NAME)
                assert event.question.status == "open", "what became of it is not told before its own time"
            heard.extend(_words_for(event))

    listening = asyncio.ensure_future(listen())
    try:
        yield heard
    finally:
        listening.cancel()
        await watch.aclose()
        await asyncio.gather(listening, return_exceptions=True)
        assert listening.cancelled(), listening.exception()


STEPS = st.lists(st.sampled_from(["word", "tool", "ask", "hold", "release", "pause"]), max_size=25)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_whatever_an_agent_does_and_however_slow_the_disk_is_watchers_hear_it_in_its_order(steps: list[str]):
    async def story() -> None:
        happened: list[str] = []

        async def play(_invocation: Invocation) -> AsyncIterator[EngineEvent]:
            for number, step in enumerate(steps):
                name = f"{step}{number}"
                match step:
                    case "hold":
                        flow.writer.held = True
                    case "release":
                        flow.writer.release()
                    case "pause":
                        await asyncio.sleep(0.01)
                    case _:
                        happened.extend(["waiting", name] if step == "ask" else [name])
                        yield {
                            "word": TextDelta(f"{name} "),
                            "tool": ToolStarted(tool_id=name, name="Bash"),
                            "ask": PermissionRequested(request_id=name, tool="Bash", title=name),
                        }[step]
            flow.writer.release()
            yield TurnEnded("done")

        async with run_flow(runtimes=[Agent(play)]) as flow, _listening(flow) as heard:
            await flow.answered("hello")
            await asyncio.sleep(1)
            assert heard == ["queued", "running", *happened, "success"]

    run_virtually(story())


@virtually
async def test_the_first_words_wait_for_no_fact_of_another_job():
    """Only a fact about the same job goes before them: another session's message must not hold up what is shown."""
    speak = asyncio.Event()

    async def play(_invocation: Invocation) -> AsyncIterator[EngineEvent]:
        await speak.wait()
        yield TextDelta("here ")
        await asyncio.sleep(60)
        yield TurnEnded("done")

    async with run_flow(runtimes=[Agent(play)]) as flow:
        async with _listening(flow, session_key="agent:fairlead:user:42") as heard:
            receipt = await flow.say("hello")
            await asyncio.sleep(1)
            flow.writer.held = True
            other = asyncio.ensure_future(flow.say("hello", user="other"))
            await asyncio.sleep(1)
            speak.set()
            await asyncio.sleep(1)
            assert heard == ["queued", "running", "here"]
            assert not other.done()
            flow.writer.release()
            await other
            await flow.ended(receipt.job_id)


@virtually
async def test_a_watcher_that_comes_late_is_given_what_was_told_and_nothing_that_is_not_durable():
    async with run_flow() as flow:
        receipt = await flow.say("/ask ls")
        question = await flow.question()
        await asyncio.sleep(1)
        flow.writer.held = True
        clicking = asyncio.ensure_future(flow.click(question))
        await asyncio.sleep(1)
        assert flow.state.questions[question].status == "answered"
        told = flow.view.told_so_far()
        assert [word for event in told for word in _words_for(event)] == ["waiting", "Run ls"]
        assert [e.question.status for e in told if isinstance(e, QuestionOpened)] == ["open"]
        flow.writer.release()
        await clicking
        await flow.ended(receipt.job_id)
        await asyncio.sleep(1)
        assert flow.view.told_so_far() == []
