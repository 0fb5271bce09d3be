"""Every way in which an agent's program cannot start: its own session is told, and no other is disturbed."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.engine import INTERRUPTED, TurnEnded, TurnFailed
from fairlead.errors import Code
from fairlead.runtimes.acp import program
from fairlead.runtimes.acp.runtime import AcpRuntime
from tests.runtimes.acp.harness import AcpStage, Talk, beside_another, until
from tests.support.runtime_contract import PATIENCE, closing

pytestmark = [pytest.mark.anyio, pytest.mark.req("B4", "B5", "E8")]


@pytest.fixture
def stage(tmp_path: Path) -> AcpStage:
    return AcpStage(tmp_path)


async def test_an_agent_that_is_not_found(stage: AcpStage):
    async with beside_another(stage) as runtime:
        talk = Talk(stage, runtime)
        stage.command.unlink()
        failure = await talk.failure("hello")
        assert failure == TurnFailed(
            Code.E_CLI_NOT_FOUND, f"{stage.command} was not found; searched: {stage.root / 'project'}."
        )
        assert talk.state == "Closed"
        stage.write()
        assert await talk.answer("hello") == "You said: hello"


async def test_an_agent_that_is_no_program(stage: AcpStage):
    async with beside_another(stage) as runtime:
        talk = Talk(stage, runtime)
        stage.command.chmod(0o644)
        assert (await talk.failure("hello")).code is Code.E_CLI_NOT_FOUND
        stage.write()
        assert await talk.answer("hello") == "You said: hello"


async def test_a_project_that_is_gone(stage: AcpStage):
    async with beside_another(stage) as runtime:
        talk = Talk(stage, runtime)
        failure = await talk.failure("hello", project_path=str(stage.root / "gone"))
        assert failure.code is Code.E_INVALID_PATH
        assert await talk.answer("hello") == "You said: hello"


START_FAULTS: dict[str, tuple[dict[str, Any], Code, str]] = {
    "exits at once": ({"on": {"start": "exits"}, "exit_code": 3}, Code.E_ACP_CONNECTION, "ended with exit code 3"),
    "exits at once and says why": (
        {"on": {"start": "exits"}, "stderr": "This licence has expired."},
        Code.E_ACP_CONNECTION,
        "This licence has expired.",
    ),
    "exits at once for want of a login": (
        {"on": {"start": "exits"}, "stderr": "Error: not logged in"},
        Code.E_CLI_NOT_LOGGED_IN,
        "not logged in",
    ),
    "exits instead of an answer": ({"initialize": "exits"}, Code.E_ACP_CONNECTION, "ended with exit code 1"),
    "refuses initialize": (
        {"initialize": "error -32603 no key"},
        Code.E_ACP_CONNECTION,
        "refused `initialize`: no key",
    ),
    "speaks another version": (
        {"protocol": 2},
        Code.E_ACP_CONNECTION,
        "speaks version 2 of the Agent Client Protocol; Fairlead speaks version 1.",
    ),
    "exits instead of a session": ({"new": "exits"}, Code.E_CLI_EXIT_NONZERO, "ended with exit code 1"),
    "refuses a session": ({"new": "error -32603 no room"}, Code.E_ACP_CONNECTION, "no room"),
}


@pytest.mark.parametrize("fault", START_FAULTS)
async def test_an_agent_that_cannot_begin_says_why_and_the_next_message_tries_again(stage: AcpStage, fault: str):
    switches, code, words = START_FAULTS[fault]
    async with beside_another(stage) as runtime:
        talk = Talk(stage, runtime)
        stage.write(**switches)
        failure = await talk.failure("hello")
        assert (failure.code, failure.transient) == (code, False)
        assert words in failure.message
        assert (talk.state, talk.processes()) == ("Closed", [])
        stage.write()
        assert await talk.answer("hello") == "You said: hello"


async def test_an_agent_that_never_answers_initialize(stage: AcpStage, monkeypatch: pytest.MonkeyPatch):
    async with beside_another(stage) as runtime:
        talk = Talk(stage, runtime)
        stage.write(initialize="hangs")
        monkeypatch.setattr(program, "INITIALIZE_SEC", 0.05)
        failure = await talk.failure("hello")
        monkeypatch.undo()
        assert failure.code is Code.E_ACP_CONNECTION
        assert "did not answer `initialize`" in failure.message
        assert talk.processes() == []
        stage.write()
        assert await talk.answer("hello") == "You said: hello"


@pytest.mark.parametrize("times", [1, program.INTRODUCTIONS - 1])
async def test_an_agent_that_says_it_can_be_started_again_is_asked_again(tmp_path: Path, times: int):
    stage = AcpStage(tmp_path, initialize=f"restarts {times}")
    async with closing(stage.runtime()) as runtime:
        assert isinstance(runtime, AcpRuntime)
        assert await Talk(stage, runtime).answer("say: here") == "here"
    assert len(stage.noted("request", "initialize")) == times + 1


async def test_an_agent_that_never_starts_is_not_asked_for_ever(tmp_path: Path):
    stage = AcpStage(tmp_path, initialize="restarts 99")
    async with closing(stage.runtime()) as runtime:
        assert isinstance(runtime, AcpRuntime)
        failed = await Talk(stage, runtime).failure("say: never")
    assert (failed.code, "Codex process has exited" in failed.message) == (Code.E_ACP_CONNECTION, True)
    assert len(stage.noted("request", "initialize")) == program.INTRODUCTIONS


# --- several at once -------------------------------------------------------------------------------------------------


def guard_program(stage: AcpStage, condition: str) -> Path:
    """A program that is the agent if the condition holds, and else what `fails` in it has printed."""
    guarded = stage.root / "bin" / "guarded"
    lines = ["#!/bin/sh", f"cd {stage.root}", 'fails() { echo "$1" >&2; exit 1; }', condition]
    guarded.write_text("\n".join([*lines, f'exec {stage.command} "$@"', ""]))
    guarded.chmod(0o755)
    return guarded


async def test_programs_that_start_at_once_disturb_each_other_so_the_first_one_starts_alone(stage: AcpStage):
    """As in a new home, which the first one sets up: any other one that starts meanwhile would fail."""
    guarded = guard_program(stage, "grep -qs initialize notes.ndjson || mkdir set-up || fails 'not alone'")
    async with closing(stage.runtime_with(str(guarded))) as runtime:
        one, two = Talk(stage, runtime, "one"), Talk(stage, runtime, "two")
        health, *answers = await asyncio.gather(runtime.check(), one.answer("say: one"), two.answer("say: two"))
    assert (health.ok, answers) == (True, ["one", "two"]), health.notes


@pytest.mark.parametrize("words", ["database is locked", "Error: table `session` already exists"])
async def test_a_program_that_another_one_has_disturbed_is_started_again(stage: AcpStage, words: str):
    """Another one may be a program that a person has started."""
    guarded = guard_program(
        stage, f"mkdir first 2>/dev/null && fails '{words}'\nmkdir second 2>/dev/null && fails '{words}'"
    )
    async with closing(stage.runtime_with(str(guarded))) as runtime:
        talk = Talk(stage, runtime)
        assert await talk.answer("say: here") == "here"
    assert len(stage.noted("start")) == 1


async def test_a_program_that_is_always_disturbed_is_not_started_for_ever(stage: AcpStage):
    guarded = guard_program(stage, "echo >>starts\nfails 'database is locked'")
    async with closing(stage.runtime_with(str(guarded))) as runtime:
        talk = Talk(stage, runtime)
        failure = await talk.failure("say: never")
        assert (talk.state, talk.processes()) == ("Closed", [])
    assert (failure.code, "database is locked" in failure.message) == (Code.E_ACP_CONNECTION, True)
    assert len((stage.root / "starts").read_text()) == len(program.START_PAUSES)


async def test_a_program_that_waits_for_its_start_is_ended_at_once(stage: AcpStage):
    stage.write(initialize="hangs")
    async with closing(stage.runtime()) as runtime:
        assert isinstance(runtime, AcpRuntime)
        first, second = Talk(stage, runtime, "first"), Talk(stage, runtime, "second")
        starting = first.begin("say: never")
        await stage.until_noted("request", "initialize")
        waiting = second.begin("say: never")
        await until(lambda: second.state == "Created")
        await runtime.end_session("second", "kill")
        assert (await waiting)[-1] == TurnEnded("", INTERRUPTED)
        await runtime.end_session("first", "kill")
        assert (await starting)[-1] == TurnEnded("", INTERRUPTED)
    assert len(stage.noted("start")) == 1


async def test_a_program_that_is_given_up_while_it_starts_is_ended_although_nobody_waits_for_that(stage: AcpStage):
    async with closing(stage.runtime()) as runtime:
        assert isinstance(runtime, AcpRuntime)
        talk = Talk(stage, runtime)
        turn = talk.begin("say: never")
        async with asyncio.timeout(PATIENCE):
            while not talk.processes():
                await asyncio.sleep(0)  # a step of the loop: the process is there before its start is over
        turn.cancel()
        await asyncio.sleep(0)
        turn.cancel("the one who waits for the end of the process is cancelled too")
        await asyncio.wait({turn})
        await talk.until_gone()
        assert await talk.answer("hello") == "You said: hello"
