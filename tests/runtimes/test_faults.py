"""The last words of a program that failed, as an error with a code."""

from pathlib import Path

import pytest

from fairlead.errors import Code
from fairlead.render.words import error_next_step
from tests.runtimes.harness import CASTS, Cast, ReplayStage
from tests.runtimes.outcomes import failure_in, outcome
from tests.support.runtime_contract import closing, invocation, run

pytestmark = [pytest.mark.anyio, pytest.mark.req("A18", "A10")]


PER_TURN: tuple[Cast, ...] = ("claude per turn", "codex", "gemini")


@pytest.fixture(params=CASTS)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> ReplayStage:
    return ReplayStage(request.param, tmp_path)


@pytest.fixture(params=PER_TURN)
def one_turn(request: pytest.FixtureRequest, tmp_path: Path) -> ReplayStage:
    return ReplayStage(request.param, tmp_path)


async def test_an_exit_code_without_a_word(one_turn: ReplayStage):
    failure = failure_in(await outcome(one_turn, exit=3, cut="line"))
    assert failure.code is Code.E_CLI_EXIT_NONZERO
    assert "3" in failure.message


@pytest.mark.parametrize(
    ("last_words", "code"),
    [
        ("ENOSPC: no space left on device, write", Code.E_AGENT_ERROR),
        ("Invalid API key. Please run /login", Code.E_CLI_NOT_LOGGED_IN),
        ("Not logged in. Please log in first.", Code.E_CLI_NOT_LOGGED_IN),
    ],
)
async def test_last_words_that_say_what_is_wrong_are_understood_and_passed_on(
    stage: ReplayStage, last_words: str, code: Code
):
    script = stage.root / "failing"
    script.write_text(f"#!/bin/sh\necho '{last_words}' >&2\nexit 1\n")
    script.chmod(0o755)
    async with closing(stage.runtime_with(str(script))) as runtime:
        failure = failure_in(await run(runtime, invocation(stage.root, "hello")))

    assert (failure.code, failure.transient) == (code, False)
    assert last_words in failure.message
    assert error_next_step("en", code)
