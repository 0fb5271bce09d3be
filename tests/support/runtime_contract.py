"""What every runtime promises, whatever agent is behind it. A stage says how to get that agent to do something."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Literal, Protocol

import pytest

from fairlead.core.engine import (
    EngineEvent,
    HandingOver,
    Interrupt,
    Invocation,
    PermissionRequested,
    Ready,
    Response,
    ResumeKeyFound,
    TextDelta,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from fairlead.errors import Code
from fairlead.kit.process_table import system_table
from fairlead.ports import Runtime

PATIENCE = 180  # seconds: how long a test waits for an agent on a machine that is busy
Scene = Literal["answers", "resumes", "uses a tool", "is refused with 429", "knows no such talk", "hangs"]
NO_SUCH_TALK = "11111111-2222-3333-4444-555555555555"


class MemoryLog:
    def __init__(self) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.is_closed = False

    def write(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        assert not self.is_closed
        if stream == "stdout":
            self.stdout += data
        else:
            self.stderr += data

    def close(self) -> None:
        self.is_closed = True


class MemoryLogs:
    def __init__(self) -> None:
        self.of_job: dict[str, MemoryLog] = {}

    def __call__(self, job_id: str) -> MemoryLog:
        return self.of_job.setdefault(job_id, MemoryLog())


class Stage(Protocol):
    """One agent with a home and a project of its own."""

    root: Path
    logs: MemoryLogs

    def runtime(self, scene: Scene) -> Runtime: ...

    def prompt(self, scene: Scene) -> str: ...


def invocation(root: Path, prompt: str, **changes: Any) -> Invocation:
    project, workspace = root / "project", root / "workspace"
    project.mkdir(exist_ok=True)
    workspace.mkdir(exist_ok=True)
    plain: dict[str, Any] = {
        "job_id": "job_20261115_1",
        "session_key": "agent:fairlead:user:local",
        "generation": 1,
        "project_name": "project",
        "project_path": str(project),
        "workspace_path": str(workspace),
        "prompt": prompt,
        "mark": f"{root.name}-{os.getpid()}:job_1",
    }
    return Invocation(**plain | changes)


async def run(runtime: Runtime, turn: Invocation) -> list[EngineEvent]:
    """Every event of a turn. Whoever asks for permission gets it."""
    events: list[EngineEvent] = []
    async with asyncio.timeout(PATIENCE), aclosing(runtime.invoke(turn)) as stream:
        async for event in stream:
            events.append(event)
            if isinstance(event, PermissionRequested):
                await runtime.instruct(turn.session_key, Response(request_id=event.request_id, verdict="allow"))
    assert [event for event in events if isinstance(event, TurnEnded | TurnFailed)] == events[-1:]
    return events


def only(kind: type[Any], events: list[EngineEvent]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def key_in(events: list[EngineEvent]) -> str:
    return only(ResumeKeyFound, events)[-1].key


def processes_of(turn: Invocation) -> list[str]:
    return [process.command for process in system_table().scan() if process.mark == turn.mark]


@asynccontextmanager
async def closing(runtime: Runtime) -> AsyncIterator[Runtime]:
    try:
        yield runtime
    finally:
        await runtime.aclose()


async def until_it_runs(turn: Invocation) -> None:
    async with asyncio.timeout(PATIENCE):
        while not processes_of(turn):
            await asyncio.sleep(0.01)


@pytest.mark.anyio
@pytest.mark.req("E1", "A4", "A10")
class RuntimeContract:
    """Give it a `stage` fixture."""

    @pytest.mark.req("A9")
    async def test_a_new_turn_names_its_talk_before_it_answers(self, stage: Stage):
        turn = invocation(stage.root, stage.prompt("answers"))
        async with closing(stage.runtime("answers")) as runtime:
            events = await run(runtime, turn)

        assert isinstance(events[-1], TurnEnded), events[-1]
        assert events[-1].text
        assert key_in(events)
        assert processes_of(turn) == []

    @pytest.mark.req("A9", "E6")
    async def test_a_resumed_turn_goes_on_with_the_same_talk_and_reports_its_own_usage(self, stage: Stage):
        async with closing(stage.runtime("resumes")) as runtime:
            first = await run(runtime, invocation(stage.root, stage.prompt("answers")))
            turn = invocation(stage.root, stage.prompt("resumes"), resume_key=key_in(first), job_id="job_2")
            second = await run(runtime, turn)

        assert isinstance(second[-1], TurnEnded), second[-1]
        assert {found.key for found in only(ResumeKeyFound, second)} <= {key_in(first)}
        [once], [again] = only(UsageReported, first), only(UsageReported, second)
        assert 0 < again.input_tokens < 2 * once.input_tokens + 200

    @pytest.mark.req("E5")
    async def test_a_tool_is_seen_to_start_and_to_end(self, stage: Stage):
        turn = invocation(stage.root, stage.prompt("uses a tool"))
        async with closing(stage.runtime("uses a tool")) as runtime:
            events = await run(runtime, turn)

        [started], [ended] = only(ToolStarted, events), only(ToolEnded, events)
        assert started.name == "Bash"
        assert "echo" in _words_about(started, events)
        assert (ended.tool_id, ended.ok) == (started.tool_id, True)
        assert isinstance(events[-1], TurnEnded)

    @pytest.mark.req("A11", "A18")
    async def test_a_rate_limit_is_a_failure_that_may_pass(self, stage: Stage):
        turn = invocation(stage.root, stage.prompt("is refused with 429"))
        async with closing(stage.runtime("is refused with 429")) as runtime:
            events = await run(runtime, turn)

        assert isinstance(events[-1], TurnFailed)
        assert (events[-1].code, events[-1].transient) == (Code.E_AGENT_ERROR, True)
        assert "429" in events[-1].message

    @pytest.mark.req("A9")
    async def test_a_talk_that_is_gone_is_said_plainly_and_never_begun_again(self, stage: Stage):
        turn = invocation(stage.root, stage.prompt("knows no such talk"), resume_key=NO_SUCH_TALK)
        async with closing(stage.runtime("knows no such talk")) as runtime:
            events = await run(runtime, turn)

        assert isinstance(events[-1], TurnFailed)
        assert (events[-1].code, events[-1].transient) == (Code.E_RESUME_GONE, False)
        assert only(ResumeKeyFound, events) == []

    @pytest.mark.req("B5")
    async def test_closing_the_stream_leaves_no_process(self, stage: Stage):
        turn = invocation(stage.root, stage.prompt("hangs"))
        async with closing(stage.runtime("hangs")) as runtime:
            stream = runtime.invoke(turn)
            reading = asyncio.create_task(_drain(stream))
            await until_it_runs(turn)
            reading.cancel()
            await asyncio.wait({reading})
            await stream.aclose()
            assert processes_of(turn) == []

    async def test_what_only_got_ready_has_started_nothing(self, stage: Stage):
        turn = invocation(stage.root, stage.prompt("hangs"))
        async with closing(stage.runtime("hangs")) as runtime:
            if not runtime.capabilities.gets_ready:
                return
            stream = runtime.invoke(turn)
            assert await anext(stream) == Ready()
            assert processes_of(turn) == []
            await stream.aclose()
            assert processes_of(turn) == []
            assert runtime.describe(turn.session_key).state == "Closed"

    async def test_the_hand_over_comes_once_and_before_anything_that_the_agent_says(self, stage: Stage):
        """Without it, the job would run again after a crash although its agent had the prompt."""
        turn = invocation(stage.root, stage.prompt("answers"))
        async with closing(stage.runtime("answers")) as runtime:
            announced: list[type[Any]] = {"start": [], "told": [HandingOver]}[runtime.capabilities.hand_over]
            events = await run(runtime, turn)

        of_the_agent = (TextDelta, ToolStarted, UsageReported, TurnEnded)
        kinds = [type(event) for event in events if isinstance(event, (*announced, *of_the_agent))]
        assert [kind for kind in kinds if kind in announced] == announced
        assert kinds[: len(announced)] == announced

    async def test_a_timeout_around_the_stream_leaves_no_process(self, stage: Stage):
        turn = invocation(stage.root, stage.prompt("hangs"))
        async with closing(stage.runtime("hangs")) as runtime:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1), aclosing(runtime.invoke(turn)) as stream:
                    await _drain(stream)
            assert processes_of(turn) == []

    @pytest.mark.req("A19")
    async def test_what_it_printed_is_in_the_log_of_the_job(self, stage: Stage):
        turn = invocation(stage.root, stage.prompt("answers"))
        async with closing(stage.runtime("answers")) as runtime:
            events = await run(runtime, turn)

        log = stage.logs.of_job[turn.job_id]
        assert log.is_closed
        assert key_in(events).encode() in log.stdout


class InterruptContract:
    """For stages whose agent hears an interruption, as a replaying one does not over its pipes."""

    @pytest.mark.anyio
    async def test_an_interrupted_turn_ends_and_says_so(self, stage: Stage):
        turn = invocation(stage.root, stage.prompt("hangs"))
        async with closing(stage.runtime("hangs")) as runtime:
            stream = runtime.invoke(turn)
            reading = asyncio.create_task(_drain(stream))
            await self.until_it_hangs(stage, turn)
            await runtime.instruct(turn.session_key, Interrupt())
            async with asyncio.timeout(PATIENCE):
                events = await reading
            await stream.aclose()

        assert isinstance(events[-1], TurnEnded), events[-1]
        assert events[-1].stop_reason == "interrupted"
        assert processes_of(turn) == []

    async def until_it_hangs(self, stage: Any, turn: Invocation) -> None:
        await until_it_runs(turn)


def _words_about(started: ToolStarted, events: list[EngineEvent]) -> str:
    """An agent may name its tool first and tell only then what it does with it."""
    later = [change.title for change in only(ToolProgressed, events) if change.tool_id == started.tool_id]
    return " ".join([str(started.input), *later])


async def _drain(stream: Any) -> list[EngineEvent]:
    return [event async for event in stream]
