"""A refusal as one line: the catalogue's sentences with what was typed in their gaps, and the error's own words."""

import pytest

from fairlead.channels.discord.outbound.refusal_line import refusal_line
from fairlead.errors import Code, error
from fairlead.render.details import translate_detail
from fairlead.render.words import CATALOGUES, error_line

pytestmark = pytest.mark.req("A18", "B8")

TRIED_AGAIN = error(
    Code.E_JOB_NOT_RETRYABLE, "job_1 has already been tried again, as job_2.", next_step="Use /retry job_2."
)


def test_in_english_the_errors_own_next_step_takes_the_place_of_the_catalogues():
    assert refusal_line(TRIED_AGAIN, "en", job="job_1") == (
        "E_JOB_NOT_RETRYABLE: The job `job_1` cannot be tried again. "
        "Only jobs that failed, were interrupted or changed files can, each once. "
        "Use /retry job_2. (job_1 has already been tried again, as job_2.)"
    )


@pytest.mark.parametrize("lang", [lang for lang in CATALOGUES if lang != "en"])
def test_in_another_language_the_errors_own_words_stand_behind_the_catalogues(lang: str):
    catalogue = error_line(lang, Code.E_JOB_NOT_RETRYABLE, job="`job_1`")
    own_words = translate_detail("job_1 has already been tried again, as job_2.", lang)
    assert "already" not in own_words
    assert refusal_line(TRIED_AGAIN, lang, job="job_1") == f"{catalogue} ({own_words}Use /retry job_2.)"


@pytest.mark.parametrize("lang", CATALOGUES)
def test_an_error_without_words_of_its_own_is_the_catalogues_sentences(lang: str):
    assert refusal_line(error(Code.E_QUEUE_FULL), lang) == error_line(lang, Code.E_QUEUE_FULL)


@pytest.mark.parametrize("lang", CATALOGUES)
def test_words_that_only_repeat_what_was_typed_are_left_out(lang: str):
    problem = error(Code.E_JOB_NOT_FOUND, "There is no job 'job_9'.")
    assert refusal_line(problem, lang, job="job_9") == error_line(lang, Code.E_JOB_NOT_FOUND, job="`job_9`")


@pytest.mark.parametrize("lang", CATALOGUES)
@pytest.mark.parametrize("code", [Code.E_JOB_NOT_RETRYABLE, Code.E_QUESTION_CLOSED])
def test_the_command_that_goes_on_is_written_as_a_person_types_it(lang: str, code: Code):
    assert "/retry" in error_line(lang, code)
