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
from fairlead.core.rules import RuleOffer
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


def with_rules(*offers: RuleOffer) -> QuestionPrompt:
    question = msgspec.structs.replace(a_question("permission"), offers=offers, project="api")
    return QuestionPrompt(question, "en")


@pytest.mark.req("B4")
def test_a_paste_is_words_and_decides_nothing():
    question = asking("permission")
    assert not question.takes("yes, say 1")
    assert press(question, "b") is None
    assert question.takes("yes,\nsay 1")
    assert press(question, "yes,\nsay 1", "enter") == PromptResult("deny", message="yes, say 1")


def test_a_refusal_takes_words():
    question = asking("permission")
    assert press(question, "b", *"no ", "backspace") is None
    assert (question.typed, question.hint) == ("no", "Why not? Type the reason, then press Enter (empty: back)")
    assert press(question, *", y and 1", "enter") == PromptResult("deny", message="no, y and 1")


@pytest.mark.parametrize("back", [("enter",), ("backspace",), ("x", "backspace", "backspace"), (" ", "enter")])
def test_without_words_the_keys_are_back(back: tuple[str, ...]):
    assert press(asking("permission"), "b", *back, "n") == PromptResult("deny")


def test_a_rule_is_shown_in_full_with_its_key():
    question = with_rules(RuleOffer("Edit", "path", "src/a.py"), RuleOffer("Edit", "directory", "src"))
    assert question.hint == (
        "[y] Allow once   [s] Allow for this session   [n] Deny   [b] No, because …\n"
        "[1] Always: `Edit src/a.py` in api\n"
        "[2] Always: `Edit src/…` in api, every file below it"
    )
    assert press(question, "0", "3", "2") == PromptResult("allow", always=2)
    assert press(asking("permission"), "1") is None


def test_a_plan_takes_no_reason_key():
    assert press(asking("plan"), "b", "1", "n") == PromptResult("deny")


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
    assert describe_response(decided, a_question("question"), "en") == "red; S, L"


@pytest.mark.parametrize("lang", CATALOGUES)
def test_the_keys_say_what_the_buttons_of_other_channels_say(lang: str):
    hint = QuestionPrompt(a_question("permission"), lang).hint
    assert hint == "   ".join(
        f"[{key}] {say(lang, f'question.{word}')}"
        for key, word in {"y": "allow_once", "s": "allow_session", "n": "deny", "b": "because"}.items()
    )
    assert describe_response(PromptResult("allow", for_session=True), a_question("permission"), lang) in hint
    assert (
        describe_response(PromptResult("deny"), a_question("plan"), lang)
        in QuestionPrompt(a_question("plan"), lang).hint
    )


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
