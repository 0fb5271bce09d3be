"""Scanning Claude's own log: only what is new, only tools, nothing twice, and never a failure."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.engine import EngineEvent, TextDelta, ToolEnded, ToolStarted, TurnEnded
from fairlead.runtimes.claude import session_log
from fairlead.runtimes.claude.session_log import SessionLogMerge, SessionLogTail, log_directory_name, log_path
from tests.runtimes.harness import ReplayStage
from tests.support.runtime_contract import closing, invocation, run

pytestmark = [pytest.mark.anyio, pytest.mark.req("E4")]


def use(tool_id: str) -> str:
    block = {"type": "tool_use", "id": tool_id, "name": "Read", "input": {"file_path": "/a"}}
    return json.dumps({"type": "assistant", "message": {"content": [block]}}) + "\n"


def done(tool_id: str) -> str:
    block = {"type": "tool_result", "tool_use_id": tool_id, "content": "text"}
    return json.dumps({"type": "user", "message": {"content": [block]}}) + "\n"


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


STARTED, ENDED = ToolStarted("new", "Read", {"file_path": "/a"}), ToolEnded("new", True, "text")


def test_what_was_there_before_is_skipped_and_half_a_line_waits(tmp_path: Path):
    path = tmp_path / "log.jsonl"
    path.write_text(use("old") + done("old"))
    tail = SessionLogTail(path)
    assert tail.look() == []
    append(path, use("new")[:20])
    assert tail.look() == []
    append(path, use("new")[20:] + '{"type":"summary"}\nnoise\n' + done("new"))
    assert tail.look() == [STARTED, ENDED]
    assert tail.look() == []


def test_a_log_that_never_appears_or_cannot_be_told_is_quiet(tmp_path: Path):
    assert SessionLogTail(tmp_path / "none").look() == []
    assert SessionLogTail(None).look() == []
    (tmp_path / "directory").mkdir()
    assert SessionLogTail(tmp_path / "directory").look() == []


@given(content=st.binary(max_size=200))
def test_whatever_is_in_it_is_no_failure(tmp_path_factory: pytest.TempPathFactory, content: bytes):
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    tail = SessionLogTail(path)
    path.write_bytes(content + b"\n")
    tail.look()


def test_the_directory_is_named_as_claude_names_it(tmp_path: Path):
    assert log_directory_name("/home/dev/my.project_1") == "-home-dev-my-project-1"
    assert log_path(tmp_path, "/p", "k") == tmp_path / "projects" / "-p" / "k.jsonl"
    long = Path("/" + "x" * 300)
    assert log_path(tmp_path, str(long), "k") is None
    cut = tmp_path / "projects" / ("-" + "x" * 199 + "-1a2b")
    cut.mkdir(parents=True)
    (cut / "k.jsonl").touch()
    assert log_path(tmp_path, str(long), "k") == cut / "k.jsonl"


def test_where_the_home_of_the_agents_user_is_closed_nothing_is_said_about_its_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    look = os.stat

    def refuse(path: str, **how: Any) -> os.stat_result:
        if str(path).startswith(str(tmp_path)):
            raise PermissionError
        return look(path, **how)

    monkeypatch.setattr(os, "stat", refuse)  # a closed directory is open to root, who may run this test
    assert log_path(tmp_path, "/p", "k") is None


async def stream(*events: EngineEvent) -> AsyncGenerator[EngineEvent]:
    for event in events:
        await asyncio.sleep(0)
        yield event


async def test_tools_of_the_log_are_told_among_the_others_and_never_twice(tmp_path: Path, monkeypatch: Any):
    monkeypatch.setattr(session_log, "LOOK_EVERY", 0.01)
    path = tmp_path / "log.jsonl"
    path.touch()
    merge = SessionLogMerge(path).merge
    append(path, use("new") + done("new") + use("shown"))
    shown = ToolStarted("shown", "Read", {"file_path": "/a"})
    told = [event async for event in merge(stream(shown, TextDelta("x"), TurnEnded("x")))]
    assert told == [STARTED, ENDED, shown, TextDelta("x"), TurnEnded("x")]


async def test_a_stream_that_breaks_has_its_tools_told_first_and_the_next_one_tells_them_not_again(tmp_path: Path):
    path = tmp_path / "log.jsonl"
    path.touch()
    merge = SessionLogMerge(path).merge

    async def breaking() -> AsyncGenerator[EngineEvent]:
        append(path, use("new"))
        raise RuntimeError("the process is gone")
        yield

    merged = merge(breaking())
    assert await anext(merged) == STARTED
    with pytest.raises(RuntimeError, match="is gone"):
        await anext(merged)
    append(path, use("new") + done("new"))
    assert [event async for event in merge(stream(TurnEnded("x")))] == [ENDED, TurnEnded("x")]


async def test_a_stream_that_just_stops_stops_the_merged_one():
    assert [event async for event in SessionLogMerge(None).merge(stream(TextDelta("x")))] == [TextDelta("x")]


async def test_closing_early_closes_the_stream_behind_it(tmp_path: Path):
    closed = asyncio.Event()

    async def endless() -> AsyncGenerator[EngineEvent]:
        try:
            yield TextDelta("first")
            await asyncio.Event().wait()
        finally:
            closed.set()

    scanned = SessionLogMerge(None).merge(endless())
    assert await anext(scanned) == TextDelta("first")
    await scanned.aclose()
    assert closed.is_set()


async def test_a_turn_with_scanning_on_is_the_same_turn(tmp_path: Path):
    stage = ReplayStage("claude in a pool", tmp_path)
    runtime = stage.runtime_of("claude/04a-two-turns-one-process", {"session_scanning": True})
    async with closing(runtime):
        events = await run(runtime, invocation(tmp_path, "hello"))
    assert isinstance(events[-1], TurnEnded)
