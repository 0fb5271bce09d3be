"""What an error says beside its code is said in the reader's language, where it is Fairlead's own sentence."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import fairlead
from fairlead.channels.discord.outbound.refusal_line import refusal_line
from fairlead.errors import Code, error
from fairlead.render.details import BY_LANGUAGE, translate_detail
from fairlead.render.errors import error_sentence

ROOT = Path(fairlead.__path__[0])
GAPS = re.compile(r"\{\w+\}")


@cache
def literals() -> str:
    """Every text that stands in the code, each on a line of its own."""
    texts: list[str] = []
    for path in ROOT.rglob("*.py"):
        if "words" not in path.relative_to(ROOT).parts:
            nodes = ast.walk(ast.parse(path.read_text()))
            texts += [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return "\n".join(texts)


def test_every_language_has_the_same_sentences_with_the_same_gaps():
    english = [list(catalogue) for catalogue in BY_LANGUAGE.values()]
    assert english[0] == english[1] == english[2]
    for catalogue in BY_LANGUAGE.values():
        assert [e for e, said in catalogue.items() if set(GAPS.findall(e)) != set(GAPS.findall(said))] == []


@pytest.mark.parametrize("english", BY_LANGUAGE["ja"])
def test_every_sentence_is_one_that_the_code_says(english: str):
    parts = [part.strip() for part in GAPS.split(english) if len(part.strip()) > 1]
    assert [part for part in parts if part not in literals()] == []


def test_names_stay_and_the_words_around_them_are_translated():
    said = translate_detail("job_1 has already been tried again, as job_2.", "ja")
    assert said == "job_1 は既に job_2 として再試行されています。"
    assert translate_detail("ENOENT: no such file", "ja") == "ENOENT: no such file"
    assert translate_detail("No agent is running for this session.", "en") == "No agent is running for this session."


@pytest.mark.parametrize("lang", BY_LANGUAGE)
def test_no_english_stands_in_a_refusal(lang: str):
    problem = error(Code.E_NO_ACTIVE_SESSION, "No agent is running for this session.")
    for line in (refusal_line(problem, lang), error_sentence(problem, lang)):
        assert "No agent" not in line
        assert line.startswith("E_NO_ACTIVE_SESSION: ")
