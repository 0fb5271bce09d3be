"""Every sentence that Discord's part says is in the catalogues, and every gap of it is filled where it is said."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import fairlead.channels.discord
from fairlead.channels.discord.live.status_text import Picture, status_text
from fairlead.channels.discord.outbound.question_buttons import answer_form, question_view
from fairlead.core.conversation import ConversationRef
from fairlead.core.state import JobState, OpenQuestion
from fairlead.render.words import LANGUAGES, MISSING
from fairlead.render.words.en import WORDS

pytestmark = pytest.mark.anyio

SOURCES = sorted(Path(fairlead.channels.discord.__path__[0]).rglob("*.py"))


def spoken() -> Iterator[tuple[str, str, set[str]]]:
    """Every call of `say` with a key that stands there: where, the key, and the gaps it fills."""
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say":
                given = {word.arg for word in node.keywords if word.arg}
                for key in keys_in(node.args[1]):
                    yield f"{source.name}:{node.lineno}", key, given


def keys_in(argument: ast.expr) -> list[str]:
    if isinstance(argument, ast.IfExp):
        return [*keys_in(argument.body), *keys_in(argument.orelse)]
    return [argument.value] if isinstance(argument, ast.Constant) else []


def gaps_that_must_be_filled(key: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", re.sub(r"\[\[.*?\]\]", "", WORDS[key])))


def test_every_sentence_is_there_and_every_gap_is_filled() -> None:
    said = list(spoken())
    assert len(said) > 20
    assert [(where, key) for where, key, _ in said if key not in WORDS] == []
    assert [(where, key) for where, key, given in said if gaps_that_must_be_filled(key) - given] == []


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_state_of_a_job_can_be_told(lang: str) -> None:
    told = [status_text(Picture("job_20260105_0001", state), 3.0, lang) for state in get_args(JobState)]
    assert len(set(told)) == len(told)
    assert not any(MISSING in text for text in told)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("kind", ["permission", "plan", "question"])
async def test_every_kind_of_question_can_be_asked(lang: str, kind: str) -> None:
    question = OpenQuestion(
        question_id="q_1",
        job_id="job_20260105_0001",
        session_key="agent:fairlead:user:1",
        kind=kind,  # type: ignore[arg-type]
        request_id="r1",
        title="May I?",
        deadline="2026-01-05T08:00:00.000Z",
        asked_at="2026-01-05T08:00:00.000Z",
        conversation=ConversationRef("discord", "main", "7"),
    )
    assert question_view(question, "abcd", lang).children
    assert answer_form(question, "abcd", lang).title
