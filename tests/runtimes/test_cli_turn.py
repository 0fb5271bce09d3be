"""What can go wrong with a CLI, and what the person is told. A replaying CLI has each fault on demand."""

import asyncio
import json
import os
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.engine import (
    Diagnostic,
    EngineEvent,
    HandingOver,
    Ready,
    ToolEnded,
    ToolStarted,
    TurnEnded,
)
from fairlead.errors import Code
from fairlead.kit.processes import Grace, living_with
from fairlead.runtimes.claude.translate import ClaudeTranslator
from fairlead.runtimes.cli_turn import CANCEL_GRACE, CliCommand, CliTurn
from fairlead.runtimes.codex.translate import CodexTranslator
from fairlead.runtimes.codex.wire import Usage
from tests.runtimes.harness import CASTS, PER_TURN, Cast, ReplayStage
from tests.runtimes.outcomes import failure_in, outcome
from tests.support.runtime_contract import PATIENCE, closing, invocation, only, processes_of, run, until_it_runs

pytestmark = [pytest.mark.anyio, pytest.mark.req("A18", "A10")]


@pytest.fixture(params=CASTS)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> ReplayStage:
    return ReplayStage(request.param, tmp_path)


@pytest.fixture(params=PER_TURN)
def one_turn(request: pytest.FixtureRequest, tmp_path: Path) -> ReplayStage:
    return ReplayStage(request.param, tmp_path)


async def test_a_program_that_is_not_there(stage: ReplayStage):
    async with closing(stage.runtime_with("no-such-program")) as runtime:
        failure = failure_in(await run(runtime, invocation(stage.root, "hello")))
        health = await runtime.check()

    assert failure.code is Code.E_CLI_NOT_FOUND
    assert "no-such-program was not found; searched: /usr/bin:/bin" in failure.message
    assert not health.ok
    assert "not found" in health.notes[0]


async def test_a_program_that_may_not_be_run(stage: ReplayStage):
    plain = stage.root / "plain-file"
    plain.write_text("#!/bin/sh\n")
    async with closing(stage.runtime_with(str(plain))) as runtime:
        failure = failure_in(await run(runtime, invocation(stage.root, "hello")))

    assert failure.code is Code.E_CLI_NOT_FOUND
    assert "cannot be executed" in failure.message


async def test_a_project_directory_that_is_gone(stage: ReplayStage):
    turn = invocation(stage.root, "hello", project_path=str(stage.root / "gone"))
    failure = failure_in(await outcome(stage, turn))
    assert failure.code is Code.E_INVALID_PATH
    assert str(stage.root / "gone") in failure.message


@pytest.mark.parametrize("how", ["line", "utf8"])
async def test_output_that_stops_in_the_middle_has_no_result(stage: ReplayStage, how: str):
    failure = failure_in(await outcome(stage, cut=how))
    assert failure.code in {Code.E_ADAPTER_MISSING_RESULT, Code.E_CLI_EXIT_NONZERO}


async def test_garbage_between_the_lines_changes_nothing(stage: ReplayStage):
    plain = await outcome(stage)
    events = await outcome(stage, invocation(stage.root, "hello", job_id="job_2"), garbage=1)
    assert isinstance(events[-1], TurnEnded)
    assert events[-1] == plain[-1]
    assert Diagnostic("not json") in events


async def test_a_line_over_the_limit_fails_the_job_and_nothing_else(stage: ReplayStage):
    failure = failure_in(await outcome(stage, oversized=65 * 1024 * 1024))
    assert failure.code is Code.E_OUTPUT_TOO_LONG


async def test_a_line_of_25_megabytes_is_fine(one_turn: ReplayStage):
    assert isinstance((await outcome(one_turn, oversized=25 * 1024 * 1024))[-1], TurnEnded)


async def test_ten_thousand_tool_calls(stage: ReplayStage):
    events = await outcome(stage, tool_calls=10_000)
    assert len(only(ToolStarted, events)) == len(only(ToolEnded, events)) == 10_000
    assert isinstance(events[-1], TurnEnded)


async def test_an_agent_that_closes_its_output_and_stays(one_turn: ReplayStage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fairlead.runtimes.cli_turn.EXIT_PATIENCE", 0.2)
    failure = failure_in(await outcome(one_turn, close_stdout=1))
    assert failure.code in {Code.E_CLI_EXIT_NONZERO, Code.E_ADAPTER_MISSING_RESULT}


async def test_an_agent_that_never_reads_its_input_but_answers(one_turn: ReplayStage):
    turn = invocation(one_turn.root, "x" * 1_000_000)
    if one_turn.program == "claude":
        turn = invocation(one_turn.root, "hello")
    assert isinstance((await outcome(one_turn, turn, deaf="answers"))[-1], TurnEnded)


@pytest.mark.req("E7")
@pytest.mark.parametrize("switches", [{"deaf": "hang"}, {"close_stdout": 1}])
async def test_a_long_lived_agent_that_hears_or_says_nothing_any_more_ends_with_the_hang_limit(
    tmp_path: Path, switches: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("fairlead.runtimes.cli_turn.EXIT_PATIENCE", 0.2)
    stage = ReplayStage("claude in a pool", tmp_path)
    failure = failure_in(await outcome(stage, settings={"hang_timeout_sec": 1.0}, **switches))
    assert failure.code in {Code.E_RUNTIME_HUNG, Code.E_CLI_EXIT_NONZERO}


@pytest.mark.req("E7")
async def test_a_one_shot_that_falls_silent_is_ended_by_the_hang_limit(tmp_path: Path):
    stage = ReplayStage("claude per turn", tmp_path)
    turn = invocation(tmp_path, "hello")
    async with closing(stage.runtime("hangs", settings={"hang_timeout_sec": 1.0})) as runtime:
        failure = failure_in(await run(runtime, turn))
        assert processes_of(turn) == []

    assert failure.code is Code.E_RUNTIME_HUNG
    assert "printed no output for 1 s" in failure.message


@pytest.mark.req("B5")
async def test_a_child_that_ignores_signals_and_daemonises_is_gone_within_two_seconds(stage: ReplayStage):
    turn = invocation(stage.root, "hello")
    async with closing(stage.runtime("hangs", ignore="INT,TERM", grandchild="holds-stdout")) as runtime:
        async with aclosing(runtime.invoke(turn)) as stream:
            reading = asyncio.create_task(_drain(stream))
            await until_it_runs(turn)
            await _until(lambda: len(processes_of(turn)) >= 2)
            reading.cancel()
            await asyncio.wait({reading})
        assert processes_of(turn) == []
    # What is waited for on purpose. The rest is work, and a machine whose cores are all taken needs longer for it.
    assert CANCEL_GRACE.interrupt is not None
    assert CANCEL_GRACE.terminate is not None
    assert CANCEL_GRACE.interrupt + CANCEL_GRACE.terminate <= 1.5


async def _until(holds: Any) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.01)


async def _drain(stream: Any) -> list[EngineEvent]:
    return [event async for event in stream]


async def test_an_empty_prompt_is_refused_before_anything_runs(stage: ReplayStage):
    assert failure_in(await outcome(stage, invocation(stage.root, " \n"))).code is Code.E_EMPTY_MESSAGE
    assert not stage.notes.exists()


@pytest.mark.parametrize("prompt", ["-x", "--help", "resume", "review", "--", "@notes.txt look", "a\nb"])
async def test_a_prompt_is_never_read_as_an_option_or_a_command(one_turn: ReplayStage, prompt: str):
    await outcome(one_turn, invocation(one_turn.root, prompt))
    [seen] = one_turn.runs()
    if one_turn.program == "claude":
        assert seen["argv"][-2:] == ["--", prompt]
    else:
        assert seen["stdin"] == prompt
        argv = seen["argv"]
        options = argv[:-2] if argv[-2:] == ["--", "-"] else argv  # how codex is told to read its standard input
        assert prompt not in options


async def test_a_slash_command_is_only_words(tmp_path: Path):
    stage = ReplayStage("claude per turn", tmp_path)
    await outcome(stage, invocation(tmp_path, "/clear"))
    assert stage.runs()[0]["argv"][-1] == " /clear"


@pytest.mark.parametrize("cast", ["claude per turn", "gemini"])
async def test_a_mention_of_a_file_outside_of_the_project_does_not_read_it(cast: Cast, tmp_path: Path):
    stage = ReplayStage(cast, tmp_path)
    await outcome(stage, invocation(tmp_path, "see @/etc/passwd and @../x and @src/a.py"))
    [seen] = stage.runs()
    said = seen["stdin"] or seen["argv"][-1]
    assert said == "see @\u2060/etc/passwd and @\u2060../x and @src/a.py"


@pytest.mark.parametrize("cast", ["claude in a pool", "gemini"])
async def test_two_megabytes_of_prompt(cast: Cast, tmp_path: Path):
    stage = ReplayStage(cast, tmp_path)
    assert isinstance((await outcome(stage, invocation(tmp_path, "x" * 2_000_000)))[-1], TurnEnded)


async def test_a_prompt_too_long_for_an_argument_goes_over_the_pipe(tmp_path: Path):
    stage = ReplayStage("claude per turn", tmp_path)
    async with closing(stage.runtime_of("claude/04a-two-turns-one-process")) as runtime:
        events = await run(runtime, invocation(tmp_path, "x" * 2_000_000))
    assert isinstance(events[-1], TurnEnded)
    assert "--input-format" in stage.runs()[0]["argv"]


async def test_two_megabytes_are_more_than_codex_takes(tmp_path: Path):
    stage = ReplayStage("codex", tmp_path)
    failure = failure_in(await outcome(stage, invocation(tmp_path, "x" * 2_000_000)))
    assert failure.code is Code.E_MESSAGE_TOO_LARGE
    assert "2000000" in failure.message


async def test_a_prompt_beyond_what_claude_reads_is_refused_with_its_size(tmp_path: Path):
    stage = ReplayStage("claude in a pool", tmp_path)
    failure = failure_in(await outcome(stage, invocation(tmp_path, "x" * 10_000_000)))
    assert failure.code is Code.E_MESSAGE_TOO_LARGE
    assert "10000000" in failure.message


@pytest.mark.req("B14")
async def test_no_token_of_ours_is_in_the_environment_of_an_agent(stage: ReplayStage):
    await outcome(stage)
    [seen] = stage.runs()
    assert "not for agents" not in seen["environment"].values()
    assert seen["environment"]["FAIRLEAD_RUN"].endswith(":job_1")
    assert seen["cwd"] == str(stage.root / "project")


async def test_an_argument_of_the_project_comes_before_the_prompt(stage: ReplayStage):
    await outcome(stage, invocation(stage.root, "hello", args=("--verbose-of-mine",)))
    [seen] = stage.runs()
    assert "--verbose-of-mine" in seen["argv"]


async def test_a_runtime_that_offers_models_asks_for_the_one_that_was_chosen(stage: ReplayStage):
    async with closing(stage.runtime("answers")) as runtime:
        await run(runtime, invocation(stage.root, "hello", model="some-model"))
        [seen] = stage.runs()
        assert ("some-model" in seen["argv"]) is runtime.capabilities.models


@pytest.mark.req("A4")
async def test_no_shell_reads_what_a_person_wrote(stage: ReplayStage):
    evil = "$(touch made); `touch made` | tee made > made && touch made"
    await outcome(stage, invocation(stage.root, evil, args=(f"--note={evil}",)))
    [seen] = stage.runs()
    assert f"--note={evil}" in seen["argv"]
    assert [path.name for path in stage.root.rglob("made")] == []


class _NoLog:
    def write(self, stream: str, data: bytes) -> None:
        raise AssertionError(f"{stream}: {data!r}")

    def close(self) -> None:
        pass


class _AnyLog(_NoLog):
    def write(self, stream: str, data: bytes) -> None:
        pass


async def test_a_turn_that_is_interrupted_while_its_start_is_written_starts_no_process(tmp_path: Path):
    """The directory is gone by then: only a start would notice."""
    project = tmp_path / "project"
    project.mkdir()
    command = CliCommand(argv=("sh", "-c", "echo here"), cwd=str(project), env=dict(os.environ), mark="abcd:job_1")
    turn = CliTurn(command, CodexTranslator(None, Usage()), _NoLog())
    async with aclosing(turn.events()) as events:
        assert await anext(events) == Ready()
        project.rmdir()
        turn.interrupt()
        assert [event async for event in events] == [TurnEnded("", "interrupted")]


async def test_a_process_that_is_interrupted_before_the_hand_over_gets_no_prompt(tmp_path: Path):
    """It is there already, and waits for the prompt: what it reads stands in a file."""
    got = tmp_path / "got"
    command = CliCommand(
        argv=("sh", "-c", 'cat >"$0"', str(got)),
        cwd=str(tmp_path),
        env=dict(os.environ),
        mark="abcd:job_1",
        stdin=b"do it",
    )
    for is_interrupted, read in ((False, "do it"), (True, "")):
        turn = CliTurn(command, CodexTranslator(None, Usage()), _NoLog())
        async with aclosing(turn.events()) as events:
            assert [await anext(events), await anext(events)] == [Ready(), HandingOver()]
            if is_interrupted:
                got.write_text("")
                turn.interrupt()
            ends = [event async for event in events]
        assert (len(ends), got.read_text()) == (1, read)


async def test_an_agent_that_has_answered_is_not_waited_for_by_who_stops_it(tmp_path: Path):
    """A hook of the person's own may run at the end of a session, and may never end."""
    said = {"type": "result", "subtype": "success", "result": "done"}
    command = CliCommand(
        argv=("sh", "-c", f"echo '{json.dumps(said)}'; exec sleep 3600"),
        cwd=str(tmp_path),
        env=dict(os.environ),
        mark=f"{tmp_path.name}:job_1",
    )
    turn = CliTurn(command, ClaudeTranslator("key"), _AnyLog(), leave=Grace(end_of_input=3600.0))
    async with asyncio.timeout(PATIENCE), aclosing(turn.events()) as events:
        async for event in events:
            if isinstance(event, TurnEnded):
                break
        leaving = asyncio.ensure_future(anext(events, None))
        await asyncio.sleep(0)  # the process is asked to leave, and does not
        turn.interrupt()
        assert await leaving is None
    assert living_with(command.mark) == frozenset()
