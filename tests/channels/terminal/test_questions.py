"""Questions answered with keys."""

import msgspec
import pytest

from fairlead.api.wire import QuestionInfo
from fairlead.channels.terminal.questions import (
    PromptResult,
    QuestionPrompt,
    describe_outcome,
    describe_response,
    question_heading,
)
from fairlead.core.engine import AskedItem, Option
from fairlead.core.questions import QuestionKind
from fairlead.render.words import CATALOGUES, say


def a_question(kind: QuestionKind, *items: AskedItem) -> QuestionInfo:
    return QuestionInfo(
        question_id="q_1",
        job_id="job_1",
        session_key="k",
        kind=kind,
        title="May I?",
        deadline="2026-01-01T00:00:00.000Z",
        status="open",
        items=items,
    )


def asking(kind: QuestionKind, *items: AskedItem) -> QuestionPrompt:
    return QuestionPrompt(a_question(kind, *items), "en")


def press(question: QuestionPrompt, *keys: str) -> PromptResult | None:
    decided = None
    for key in keys:
        assert decided is None, "no key is taken after the decision"
        decided = question.press(key)
    return decided


@pytest.mark.req("C6")
@pytest.mark.parametrize(
    ("key", "decided"),
    [
        ("y", PromptResult("allow")),
        ("s", PromptResult("allow", for_session=True)),
        ("N", PromptResult("deny")),
        ("x", None),
    ],
)
def test_a_permission_takes_one_key(key: str, decided: PromptResult | None):
    assert press(asking("permission"), key) == decided


def test_a_plan_cannot_be_allowed_for_the_session():
    assert press(asking("plan"), "s", "y") == PromptResult("allow")


COLOUR = AskedItem("Which colour?", (Option("red"), Option("blue")))
SIZES = AskedItem("Which sizes?", (Option("S"), Option("M"), Option("L")), several=True)


def test_a_choice_is_made_by_its_number():
    assert press(asking("question", COLOUR), "3", "backspace", "2") == PromptResult("allow", {"Which colour?": "blue"})


def test_own_words_are_an_answer_too():
    assert press(asking("question", COLOUR), *"mauve", "enter") == PromptResult("allow", {"Which colour?": "mauve"})
    assert press(asking("question", COLOUR), "enter") is None


def test_several_questions_are_answered_in_turn():
    question = asking("question", COLOUR, SIZES)
    assert question.press("1") is None
    assert question.item_number == 1
    decided = press(question, *"1, 3", "enter")
    assert decided == PromptResult("allow", {"Which colour?": "red", "Which sizes?": "S, L"})
    assert describe_response(decided, "question", "en") == "red; S, L"


@pytest.mark.parametrize("lang", CATALOGUES)
def test_the_keys_say_what_the_buttons_of_other_channels_say(lang: str):
    hint = QuestionPrompt(a_question("permission"), lang).hint
    assert hint == "   ".join(
        f"[{key}] {say(lang, f'question.{word}')}"
        for key, word in {"y": "allow_once", "s": "allow_session", "n": "deny"}.items()
    )
    assert describe_response(PromptResult("allow", for_session=True), "permission", lang) in hint
    assert describe_response(PromptResult("deny"), "plan", lang) in QuestionPrompt(a_question("plan"), lang).hint


def test_a_question_is_introduced_in_the_readers_language():
    assert question_heading(a_question("plan"), "ja") == "エージェントが計画の承認を求めています"
    assert question_heading(a_question("permission"), "ja") == "エージェントが許可を求めています: May I?"
    assert question_heading(a_question("question", COLOUR), "ja") == "May I?", "the agent's own words"


@pytest.mark.parametrize(
    ("outcome", "words"), [("allow", "Allow once"), ("deny", "Deny"), ("expired", "Nobody answered in time")]
)
def test_how_a_question_ended_elsewhere_is_told(outcome: str, words: str):
    question = msgspec.structs.replace(a_question("permission"), status="answered", outcome=outcome)
    assert describe_outcome(question, "en").startswith(words)
