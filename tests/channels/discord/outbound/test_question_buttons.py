"""Buttons and forms of a question: they name their question, and every kind can be asked in every language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.channels.discord.outbound.question_buttons import build_buttons, custom_id, parse_custom_id, response_form
from fairlead.core.views import QuestionView
from fairlead.render.words import CATALOGUES

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("lang", CATALOGUES)
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
    assert build_buttons(question, "abcd", lang).children
    assert response_form(question, "abcd", lang).title


@given(st.text(alphabet="abcdef0123456789", min_size=4, max_size=8), st.integers(1), st.sampled_from(["allow", "opt3"]))
def test_a_button_says_which_question_it_answers(state_id: str, number: int, verb: str) -> None:
    name = custom_id(state_id, f"q_{number}", verb)
    found = parse_custom_id(name)
    assert found is not None
    assert (found.state_id, found.question_id, found.verb) == (state_id, f"q_{number}", verb)
    assert parse_custom_id(f"other|{name}") is None
