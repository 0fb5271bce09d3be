"""How a job's end is told: the answer, or what became of it and what to do next, said once."""

import pytest

from fairlead.core.conversation import ConversationRef
from fairlead.core.state import Job, JobState
from fairlead.errors import Code
from fairlead.render.job_end import ending_text, short_number, small_line
from fairlead.render.words import CATALOGUES, say

HERE = ConversationRef("chat", "acc", "42")


def ended(state: JobState) -> Job:
    return Job(
        job_id="job_1",
        session_key="agent:fairlead:user:42",
        session_id="s_1",
        conversation=HERE,
        message_id="m1",
        person="42",
        state=state,
        prompt="",
        enqueued_at="2026-01-05T08:00:00.000Z",
    )


@pytest.mark.req("A11", "A18")
@pytest.mark.parametrize("lang", CATALOGUES)
@pytest.mark.parametrize("code", [Code.E_AGENT_ERROR, Code.E_CLI_TIMEOUT, Code.E_INTERNAL])
def test_how_to_try_again_is_said_once(lang: str, code: Code):
    job = ended("failed")
    job.error_code, job.error_message = code, "It went wrong."
    text = ending_text(job, "half an answer", lang)
    assert text.startswith(f"half an answer\n{code}: ")
    assert text.count("/retry job_1") == 1
    assert "It went wrong." in text


def test_an_answer_without_words_says_at_least_that_it_is_done():
    assert ending_text(ended("success"), " ", "en") == say("en", "status.done")
    assert ending_text(ended("success"), "the answer", "en") == "the answer"
    assert ending_text(ended("cancelled"), "", "en") == "Cancelled #1"


@pytest.mark.parametrize("lang", CATALOGUES)
def test_where_a_button_tries_again_no_command_says_so_too(lang: str):
    job = ended("failed")
    job.error_code, job.error_message = Code.E_CLI_EXIT_NONZERO, "exit code 1"
    text = ending_text(job, "", lang, has_retry_button=True)
    assert "/retry" not in text
    assert text.startswith("E_CLI_EXIT_NONZERO: ")
    assert text.endswith("(exit code 1)")


def test_what_a_program_printed_stands_as_a_block_without_colours_and_cut():
    job = ended("failed")
    printed = [f"line {number}" for number in range(20)]
    job.error_code, job.error_message = (
        Code.E_CLI_EXIT_NONZERO,
        "\n".join([*printed, "\x1b[31mred\x1b[0m " + "x" * 5000]),
    )
    text = ending_text(job, "", "en", has_retry_button=True)
    block = text.split("```")[1].strip().splitlines()
    assert block[:-1] == printed[-7:]
    assert block[-1].startswith("red xxx")
    assert len(text) < 1200


@pytest.mark.parametrize(("number", "words"), [(950, "950"), (12_345, "12.3k"), (999_999, "1.0M"), (1_234_567, "1.2M")])
def test_large_numbers_are_short(number: int, words: str):
    assert short_number(number) == words


def test_the_small_line_tells_time_tokens_and_cost_and_nothing_where_there_is_nothing_to_tell():
    job = ended("success")
    job.started_at, job.finished_at = "2026-01-05T08:00:00.000Z", "2026-01-05T08:00:04.000Z"
    assert small_line(job, "", "en") == ""
    job.input_tokens, job.output_tokens, job.cost_usd = 11_000, 1_345, 0.119
    assert small_line(job, "@ann", "en") == "@ann · 4s · 12.3k tokens · $0.12"


def test_after_a_crash_the_advice_to_look_first_stays_although_there_is_a_button():
    job = ended("unknown_after_crash")
    job.error_code = Code.E_UNKNOWN_AFTER_CRASH
    assert "Check the project, then /retry job_1." in ending_text(job, "", "en", has_retry_button=True)
