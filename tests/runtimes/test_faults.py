"""The last words of a program that failed, as an error with a code."""

from pathlib import Path

import pytest

from fairlead.errors import Code
from fairlead.render.words import error_next_step
from fairlead.runtimes.faults import classify
from tests.runtimes.harness import CASTS, PER_TURN, ReplayStage
from tests.runtimes.outcomes import failure_in, outcome
from tests.support.runtime_contract import closing, invocation, run

pytestmark = [pytest.mark.anyio, pytest.mark.req("A18", "A10")]


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
        ("Missing environment variable: `OPENAI_API_KEY`.", Code.E_CLI_NOT_LOGGED_IN),
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


@pytest.mark.req("A11")
@pytest.mark.parametrize(
    ("words", "transient"),
    [
        ("We\u2019re currently experiencing high demand, which may cause temporary errors.", True),
        ("[API Error: terminated]", True),
        ("The session was terminated by an administrator.", False),
        ("There is no demand for that.", False),
    ],
)
def test_only_what_passes_by_itself_is_worth_a_second_attempt(words: str, transient: bool):
    assert (classify(words).code, classify(words).transient) == (Code.E_AGENT_ERROR, transient)


@pytest.mark.parametrize(
    "words",
    [
        "Prompt is too long",
        "Codex ran out of room in the model's context window. Start a new thread or clear earlier history.",
        '{"error": {"message": "Your input exceeds the context window of this model.", "code": null}}',
        "[API Error: The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).]",
    ],
)
def test_a_conversation_that_has_grown_too_long_leads_to_a_reset(words: str):
    assert (classify(words, status=400).code, classify(words).code) == (Code.E_CONTEXT_FULL, Code.E_CONTEXT_FULL)
    assert not classify(words).transient
    assert "/reset" in error_next_step("en", Code.E_CONTEXT_FULL)


def test_a_budget_that_is_spent_says_how_to_go_on():
    assert classify("Reached maximum budget ($0.001)").code is Code.E_BUDGET_SPENT
    assert "later messages" in error_next_step("en", Code.E_BUDGET_SPENT)
    assert "RUNTIME_MAX_BUDGET_USD" in error_next_step("en", Code.E_BUDGET_SPENT)
