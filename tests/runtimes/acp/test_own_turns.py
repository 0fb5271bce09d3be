"""What an agent says when nobody prompted it: a turn of its own, which silence, a prompt or a person ends."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Self

import pytest

from fairlead.core.engine import (
    INTERRUPTED,
    AgentInitiated,
    EngineEvent,
    PermissionRequested,
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnFailed,
)
from fairlead.errors import Code
from fairlead.runtimes.acp import own_turns, wire
from fairlead.runtimes.acp.own_turns import SILENCE_SEC, OwnTurns
from fairlead.runtimes.acp.runtime import AcpRuntime
from fairlead.runtimes.acp.translate import SessionFacts
from fairlead.testing.clock import run_virtually
from tests.runtimes.acp.harness import AcpStage, Talk, allow, until
from tests.support.runtime_contract import PATIENCE, closing

pytestmark = pytest.mark.req("B4", "B6")

WATCHDOG_SEC = 1800.0
TOOL = wire.ToolCall(tool_call_id="t", title="sleep", kind="execute")
TOOL_ENDED = wire.ToolCallUpdate(tool_call_id="t", status="completed")
TOOL_EVENTS = [ToolStarted("t", "Bash", {"title": "sleep"}), ToolEnded("t")]
QUESTION = PermissionRequested(request_id="1", tool="Bash", title="Use Bash?", detail="rm a")


def text(words: str) -> wire.AgentText:
    return wire.AgentText(content=wire.Content(type="text", text=words))


class Scene:
    """An agent that may speak by itself, on a clock that the test moves."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, EngineEvent]] = []
        self.is_asking = False
        self.hung = 0
        self.facts = SessionFacts()
        self.turns = OwnTurns(
            "m",
            self.facts,
            lambda turn_id, event: self.heard.append((turn_id, event)),
            is_asking=lambda: self.is_asking,
            watchdog_sec=WATCHDOG_SEC,
            on_hung=self._hang,
        )
        self.turns.may_begin = True

    def _hang(self) -> None:
        self.hung += 1

    @property
    def events(self) -> list[EngineEvent]:
        return [event for _, event in self.heard]


def played(story: Callable[[Scene], Coroutine[Any, Any, None]]) -> Scene:
    async def play() -> Scene:
        scene = Scene()
        await story(scene)
        return scene

    return run_virtually(play())


def test_silence_is_the_end_of_a_turn_and_every_turn_has_its_own_id():
    async def story(scene: Scene) -> None:
        scene.turns.hear(text("one "))
        await asyncio.sleep(SILENCE_SEC - 0.1)
        scene.turns.hear(text("two"))
        assert scene.turns.is_open
        await asyncio.sleep(SILENCE_SEC - 0.1)
        assert scene.turns.is_open
        await asyncio.sleep(0.2)
        assert not scene.turns.is_open
        scene.turns.hear(text("three"))
        scene.turns.end()

    assert played(story).heard == [
        ("m/own-1", TextDelta("one ")),
        ("m/own-1", TextDelta("two")),
        ("m/own-1", TurnEnded("one two")),
        ("m/own-2", TextDelta("three")),
        ("m/own-2", TurnEnded("three")),
    ]


def test_offers_and_blanks_begin_no_turn_but_are_known():
    async def story(scene: Scene) -> None:
        scene.turns.hear(text(" \n"))
        scene.turns.hear(wire.CurrentMode(current_mode_id="plan"))
        scene.turns.hear(wire.ContextUsage(used=5, size=10))
        assert not scene.turns.is_open

    scene = played(story)
    assert (scene.heard, scene.facts.mode, scene.facts.context_used) == ([], "plan", 5)


def test_nothing_begins_before_it_may():
    async def story(scene: Scene) -> None:
        scene.turns.may_begin = False
        scene.turns.hear(text("the history, repeated"))
        scene.turns.may_begin = True
        scene.turns.hear(TOOL)
        scene.turns.hear(TOOL_ENDED)
        scene.turns.end()

    events = played(story).events
    assert events[:2] == TOOL_EVENTS
    assert isinstance(events[-1], TurnEnded)


def test_a_tool_of_an_agents_own_turn_may_take_longer_than_the_silence():
    async def story(scene: Scene) -> None:
        scene.turns.hear(TOOL)
        await asyncio.sleep(WATCHDOG_SEC - 1)
        assert scene.turns.is_open
        scene.turns.hear(TOOL_ENDED)
        await asyncio.sleep(SILENCE_SEC + 0.1)
        assert not scene.turns.is_open

    scene = played(story)
    assert (scene.events, scene.hung) == ([*TOOL_EVENTS, TurnEnded("")], 0)


def test_an_agent_that_is_silent_in_a_tool_of_its_own_turn_is_ended_by_the_watchdog():
    async def story(scene: Scene) -> None:
        scene.turns.hear(text("I look."))
        scene.turns.hear(TOOL)
        await asyncio.sleep(WATCHDOG_SEC + SILENCE_SEC + 0.1)
        assert not scene.turns.is_open

    scene = played(story)
    words = "The agent sent no update for 30 minutes, so its session was ended."
    assert (scene.events[-1], scene.hung) == (TurnFailed(Code.E_ACP_TIMEOUT, words, "I look."), 1)


def test_the_watchdog_of_an_own_turn_is_reset_by_every_update():
    async def story(scene: Scene) -> None:
        scene.turns.hear(TOOL)
        for _ in range(5):
            await asyncio.sleep(WATCHDOG_SEC - 10)
            scene.turns.hear(wire.ContextUsage(used=5, size=10))
        await asyncio.sleep(WATCHDOG_SEC - 10)
        assert scene.turns.is_open
        scene.turns.end()

    assert played(story).hung == 0


def test_neither_silence_nor_the_watchdog_counts_while_a_person_is_asked():
    async def story(scene: Scene) -> None:
        scene.is_asking = True
        scene.turns.emit(QUESTION)
        scene.turns.hear(TOOL)
        await asyncio.sleep(3 * WATCHDOG_SEC)
        assert scene.turns.is_open
        scene.is_asking = False
        scene.turns.note_life()
        await asyncio.sleep(WATCHDOG_SEC - 1)
        assert scene.turns.is_open
        scene.turns.end()

    scene = played(story)
    assert (scene.events[0], scene.hung) == (QUESTION, 0)


# --- a real process --------------------------------------------------------------------------------------------------


@pytest.fixture
def quick_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_turns, "SILENCE_SEC", 0.05)


class OwnTurnStory:
    """A session whose agent will speak by itself once the FIFO is opened; everything it then does is in `heard`."""

    def __init__(self, stage: AcpStage, runtime: AcpRuntime) -> None:
        self.fifo = stage.fifo("unasked")
        self.runtime = runtime
        self.talk = Talk(stage, runtime)
        self.heard: list[AgentInitiated] = []
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async for initiated in self.runtime.watch_agent_turns():
            self.heard.append(initiated)

    @property
    def events(self) -> list[EngineEvent]:
        return [one.event for one in self.heard]

    async def until_ended(self) -> EngineEvent:
        await until(lambda: any(isinstance(event, TurnEnded | TurnFailed) for event in self.events))
        return self.events[-1]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listening.cancel()
        await asyncio.wait({self._listening}, timeout=PATIENCE)


@pytest.mark.anyio
@pytest.mark.usefixtures("quick_silence")
async def test_what_an_agent_says_by_itself_is_a_turn_of_its_session(tmp_path: Path):
    stage = AcpStage(tmp_path)
    async with closing(stage.runtime()) as runtime, OwnTurnStory(stage, runtime) as story:
        await story.talk.answer(f"unasked: {story.fifo} The build is done.", generation=7)
        await story.fifo.open()
        assert await story.until_ended() == TurnEnded("The build is done.")
        assert {(one.session_key, one.generation) for one in story.heard} == {("s", 7)}
        assert story.talk.state == "Active"
        assert await story.talk.answer("hello") == "You said: hello"


@pytest.mark.anyio
@pytest.mark.usefixtures("quick_silence")
async def test_a_question_that_an_agent_asks_by_itself_is_asked_and_answered(tmp_path: Path):
    stage = AcpStage(tmp_path)
    async with closing(stage.runtime()) as runtime, OwnTurnStory(stage, runtime) as story:
        await story.talk.answer(f"unasked-ask: {story.fifo} execute rm a")
        await story.fifo.open()
        await until(lambda: story.events)
        [asked] = story.events
        assert isinstance(asked, PermissionRequested)
        assert asked.detail == "rm a"
        await runtime.instruct("s", allow(asked))
        assert await story.until_ended() == TurnEnded("Chose once")


@pytest.mark.anyio
async def test_a_person_interrupts_a_turn_that_the_agent_began(tmp_path: Path):
    stage = AcpStage(tmp_path)
    async with closing(stage.runtime()) as runtime, OwnTurnStory(stage, runtime) as story:
        await story.talk.answer(f"unasked: {story.fifo} I begin.")
        await story.fifo.open()
        await until(lambda: story.events)
        await story.talk.interrupt()
        assert await story.until_ended() == TurnEnded("I begin.", INTERRUPTED)
        await stage.until_noted("notification", "session/cancel")
        assert await story.talk.answer("hello") == "You said: hello"


@pytest.mark.anyio
async def test_the_next_prompt_ends_the_agents_own_turn_and_refuses_what_it_asked_there(tmp_path: Path):
    stage = AcpStage(tmp_path)
    async with closing(stage.runtime()) as runtime, OwnTurnStory(stage, runtime) as story:
        await story.talk.answer(f"unasked-ask: {story.fifo} execute rm a")
        await story.fifo.open()
        await until(lambda: story.events)
        await story.talk.answer("hello")  # the agent's word about the refusal may come in between
        assert await story.until_ended() == TurnEnded("")
        [response] = stage.noted("response")
        assert response["result"] == {"outcome": {"outcome": "cancelled"}}


@pytest.mark.anyio
async def test_a_question_in_a_turn_of_its_own_shows_the_diff_that_the_agent_showed_before(tmp_path: Path):
    stage = AcpStage(tmp_path)
    async with closing(stage.runtime()) as runtime, OwnTurnStory(stage, runtime) as story:
        await story.talk.answer(f"unasked-ask: {story.fifo} edit a.txt")
        await story.fifo.open()
        await until(lambda: any(isinstance(event, PermissionRequested) for event in story.events))
        [asked] = [event for event in story.events if isinstance(event, PermissionRequested)]
        assert ("-one" in asked.diff, "+two" in asked.diff) == (True, True)


@pytest.mark.anyio
async def test_an_agent_that_dies_in_a_turn_of_its_own_has_not_finished_it(tmp_path: Path):
    stage = AcpStage(tmp_path)
    async with closing(stage.runtime()) as runtime, OwnTurnStory(stage, runtime) as story:
        await story.talk.answer(f"unasked: {story.fifo} I begin.")
        pid = int((await story.talk.answer("which pid?")).removeprefix("pid="))
        await story.fifo.open()
        await until(lambda: story.events)
        os.kill(pid, signal.SIGKILL)
        last = await story.until_ended()
        assert isinstance(last, TurnFailed)
        assert (last.code, last.text) == (Code.E_CLI_EXIT_NONZERO, "I begin.")
        assert "signal 9" in last.message
        assert await story.talk.answer("hello") == "You said: hello"


@pytest.mark.anyio
async def test_an_agent_that_is_stopped_in_a_turn_of_its_own_is_interrupted(tmp_path: Path):
    stage = AcpStage(tmp_path)
    async with closing(stage.runtime()) as runtime, OwnTurnStory(stage, runtime) as story:
        await story.talk.answer(f"unasked: {story.fifo} I begin.")
        await story.fifo.open()
        await until(lambda: story.events)
        await runtime.end_session("s", "stop")
        assert await story.until_ended() == TurnEnded("I begin.", INTERRUPTED)
