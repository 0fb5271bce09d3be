"""The answer goes first: a turn ends with the agent's last word, and its process leaves behind it, with an owner."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import pytest

from fairlead.core.engine import EngineEvent, HandingOver, Interrupt, Invocation, TurnEnded
from fairlead.ports import Runtime
from fairlead.runtimes.clean_ups import CleanUps
from tests.runtimes.harness import SCENES, ReplayStage
from tests.runtimes.recordings import lines_of
from tests.support.runtime_contract import PATIENCE, closing, invocation, processes_of, until_it_runs

pytestmark = [pytest.mark.anyio, pytest.mark.req("B5", "E1")]


class StayingStage(ReplayStage):
    """A program that has said everything and does not leave by itself."""

    def staying_runtime(self) -> Runtime:
        answer = SCENES[self.cast.split()[0]]["answers"]
        return self.runtime_of(answer, hang=len(lines_of(answer)))

    def turn(self, session: str, number: int = 1) -> Invocation:
        job = f"job_{session}_{number}"
        return invocation(
            self.root, "hello", session_key=session, job_id=job, mark=f"{self.root.name}-{os.getpid()}:{job}"
        )


@pytest.fixture(params=["codex", "claude per turn"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> StayingStage:
    return StayingStage(request.param, tmp_path)


async def end_of(runtime: Runtime, turn: Invocation) -> EngineEvent:
    """The end of the turn, at the moment it comes; the rest of the stream is closed, as a turn does it."""
    async with asyncio.timeout(PATIENCE), aclosing(runtime.invoke(turn)) as stream:
        return [event async for event in stream][-1]


async def test_the_answer_comes_while_the_process_is_still_there(stage: StayingStage):
    turn = stage.turn("s")
    async with closing(stage.staying_runtime()) as runtime:
        assert isinstance(await end_of(runtime, turn), TurnEnded)
        assert processes_of(turn) != []
        assert runtime.describe("s").state == "Closed"
    assert processes_of(turn) == [], "the end of the runtime waits for every clean-up"
    assert stage.logs.of_job[turn.job_id].is_closed


@pytest.mark.req("A8")
async def test_a_session_whose_process_is_still_there_cannot_start_its_next_turn_at_once(tmp_path: Path):
    stage = StayingStage("claude per turn", tmp_path)
    async with closing(stage.staying_runtime()) as runtime:
        assert runtime.describe("s").takes_prompt_at_once
        await end_of(runtime, stage.turn("s"))
        assert not runtime.describe("s").takes_prompt_at_once
        assert runtime.describe("other").takes_prompt_at_once
        await runtime.end_session("s", "kill")
        assert runtime.describe("s").takes_prompt_at_once


async def test_the_next_turn_of_the_session_waits_until_the_process_is_gone_and_another_session_does_not(
    stage: StayingStage,
):
    first, other, second = stage.turn("s"), stage.turn("other"), stage.turn("s", 2)
    async with closing(stage.staying_runtime()) as runtime:
        await end_of(runtime, first)
        await end_of(runtime, other)
        assert processes_of(first) != [], "the other session did not wait for it"
        seen: list[list[str]] = []
        async with asyncio.timeout(PATIENCE), aclosing(runtime.invoke(second)) as stream:
            seen = [processes_of(first) async for event in stream if isinstance(event, HandingOver)]
        assert seen == [[]]


async def test_a_stop_of_the_session_returns_when_the_process_is_gone(stage: StayingStage):
    turn = stage.turn("s")
    async with closing(stage.staying_runtime()) as runtime:
        await end_of(runtime, turn)
        await runtime.end_session("s", "stop")
        assert processes_of(turn) == []


async def test_of_a_turn_that_a_person_stopped_nothing_is_left_when_its_end_comes(stage: StayingStage):
    turn = stage.turn("s")
    async with closing(stage.runtime("hangs")) as runtime:
        ending = asyncio.create_task(end_of(runtime, turn))
        await until_it_runs(turn)
        await runtime.instruct("s", Interrupt())
        assert await ending == TurnEnded("", "interrupted")
        assert processes_of(turn) == []


async def test_the_end_of_a_runtime_waits_for_turns_that_end_meanwhile():
    clean_ups, cleaned = CleanUps("x"), list[str]()
    second_may_end, first_may_leave = asyncio.Event(), asyncio.Event()

    async def turn(name: str, may_end: asyncio.Event | None, may_leave: asyncio.Event | None):
        if may_end is not None:
            await may_end.wait()
        yield TurnEnded("done")
        if may_leave is not None:
            await may_leave.wait()
        cleaned.append(name)

    async def consume(name: str, may_end: asyncio.Event | None = None, may_leave: asyncio.Event | None = None) -> None:
        async for _ in clean_ups.pass_on(turn(name, may_end, may_leave), name, AsyncExitStack()):
            pass

    await consume("first", may_leave=first_may_leave)
    second = asyncio.ensure_future(consume("second", may_end=second_may_end))
    joining = asyncio.ensure_future(clean_ups.join())
    await asyncio.sleep(0)  # it waits for the first one
    second_may_end.set()
    await second
    first_may_leave.set()
    async with asyncio.timeout(PATIENCE):
        await joining
    assert sorted(cleaned) == ["first", "second"]


async def test_a_clean_up_that_is_forgotten_is_noticed(stage: StayingStage, monkeypatch: pytest.MonkeyPatch):
    """The judge is judged: without the clean-up, the checks above see the process of the turn."""
    forgotten: list[tuple[AsyncGenerator[EngineEvent], AsyncExitStack]] = []

    def forget(_self: CleanUps, _session_key: str, events: AsyncGenerator[EngineEvent], stack: AsyncExitStack) -> None:
        forgotten.append((events, stack))

    monkeypatch.setattr(CleanUps, "_start", forget)
    turn = stage.turn("s")
    async with closing(stage.staying_runtime()) as runtime:
        await end_of(runtime, turn)
    assert processes_of(turn) != []
    [(events, stack)] = forgotten
    async with stack:
        await events.aclose()
    assert processes_of(turn) == []
