"""Every state of a job and every kind of question can be told in every language."""

from typing import get_args

import pytest

from fairlead.channels.discord.live.status_text import status_text
from fairlead.channels.discord.outbound.question_buttons import question_view, response_form
from fairlead.channels.push.job_status import StatusContent
from fairlead.core.job_states import JobState
from fairlead.core.views import QuestionView
from fairlead.render.words import LANGUAGES, MISSING

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_state_of_a_job_can_be_told(lang: str) -> None:
    told = [status_text(StatusContent("job_20260105_0001", state), 3.0, lang) for state in get_args(JobState)]
    assert len(set(told)) == len(told)
    assert not any(MISSING in text for text in told)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("kind", ["permission", "plan", "question"])
async def test_every_kind_of_question_can_be_asked(lang: str, kind: str) -> None:
    question = QuestionView(
        question_id="q_1",
        job_id="job_20260105_0001",
        session_key="agent:fairlead:user:1",
        kind=kind,  # type: ignore[arg-type]
        title="May I?",
        deadline="2026-01-05T08:00:00.000Z",
    )
    assert question_view(question, "abcd", lang).children
    assert response_form(question, "abcd", lang).title
