"""How a job's end is told: the answer, or what became of it and what to do next, said once."""

import pytest

from fairlead.core.conversation import ConversationRef
from fairlead.core.state import Job, JobState
from fairlead.errors import Code
from fairlead.render.job_end import ending_text
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
    assert "job_1" in ending_text(ended("cancelled"), "", "en")
