"""What an error says beside its code is said in the reader's language, where it is Fairlead's own sentence."""

import ast
import re
from collections.abc import Iterator
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
def trees() -> list[tuple[str, ast.Module]]:
    paths = [path for path in ROOT.rglob("*.py") if "words" not in path.relative_to(ROOT).parts]
    return [(str(path.relative_to(ROOT)), ast.parse(path.read_text())) for path in sorted(paths)]


@cache
def literals() -> str:
    """Every text that stands in the code, each on a line of its own, without punctuation."""
    nodes = (node for _, tree in trees() for node in ast.walk(tree))
    texts = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return "\n".join(f" {' '.join(words_of(text))} " for text in texts)


def words_of(text: str) -> list[str]:
    return re.sub(r"[.:,]+(?=\s|$)", "", text).split()


def stands_in_the_code(words: list[str]) -> bool:
    """As one text, or as several behind one another: a sentence may be made of parts."""
    longest = next((n for n in range(len(words), 0, -1) if f" {' '.join(words[:n])} " in literals()), 0)
    return not words or (longest > 0 and stands_in_the_code(words[longest:]))


# What a person meets only where English is spoken anyway: at the start, on the command line, over HTTP, in the log; and
# what only an agent is told.
ENGLISH_ONLY = (
    "api/", "app.py", "real_machine.py", "state_directory.py", "channels/http/",
    "cli/", "core/agents.py", "core/decide/agent_calls.py",
    "core/decide/agents.py", "core/decide/scheduling.py", "core/hook_deliveries.py", "core/pages.py", "flow/hooks/",
    "ports.py", "runtimes/install/", "runtimes/separation.py", "settings", "store/config", "store/history.py",
    "store/journal", "store/project_files.py", "store/reader.py", "store/restoration.py", "testing/",
)  # fmt: skip
# Sentences that are made of parts, as people may read them.
PARTS = {
    "Project x existsx.": (
        "Project x exists.",
        "Project x exists: it was an earlier name of x, whose workspace still uses it.",
    ),
    "`always` is x, and this question x.": (
        "`always` is x, and this question offers x.",
        "`always` is x, and this question offers no standing rule.",
    ),
    "x allows no edits, so edits cannot be accepted without asking.": (
        "The tier x allows no edits, so edits cannot be accepted without asking.",
        "RUNTIME_TOOLS allows no edits, so edits cannot be accepted without asking.",
    ),
    "The echo agent x.": ("The echo agent was asked to stop.", "The echo agent was killed."),
    "The agent's process x: x": (
        "The agent's process ended with exit code x: x",
        "The agent's process was ended by signal x: x",
        "The agent's process would not end: x",
    ),
}
FAULTS = {"error", "refuse", "TurnFailed", "Failure", "AttachmentRefused", "unavailable", "merge_blocked"}


def own_sentences() -> Iterator[tuple[str, str]]:
    """Every sentence that a fault is made with, with a word in each gap. Sentences without words of ours are not
    ours, and settings are read by those who wrote them."""
    for name, tree in trees():
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and not name.startswith(ENGLISH_ONLY))
        for call in calls:
            given = [*call.args, *(word.value for word in call.keywords if word.arg != "name")]
            is_fault = getattr(call.func, "id", "") in FAULTS
            if is_fault and not any(getattr(each, "attr", "") == "E_CONFIG" for each in given):
                yield from ((f"{name}:{call.lineno}", text) for each in given if (text := sample(each)))


def sample(node: ast.expr) -> str:
    match node:
        case ast.Constant(str(text)):
            shown = own = text
        case ast.JoinedStr():
            own = "".join(str(v.value) if isinstance(v, ast.Constant) else " " for v in node.values)
            shown = "".join(str(v.value) if isinstance(v, ast.Constant) else "x" for v in node.values)
        case _:
            return ""
    return shown if len(re.findall(r"[A-Za-z]{2,}", own)) > 1 else ""


@pytest.mark.parametrize("lang", BY_LANGUAGE)
def test_every_sentence_of_a_fault_that_a_chat_shows_is_in_the_catalogue(lang: str):
    sentences = [(where, whole) for where, words in own_sentences() for whole in PARTS.get(words, (words,))]
    assert len(sentences) > 90
    assert [(where, words) for where, words in sentences if translate_detail(words, lang) == words] == []


def test_a_sentence_in_the_gap_of_another_is_translated_too():
    said = translate_detail("Project 'api' is disabled: /srv/api does not exist.", "ja")
    assert said == "プロジェクト 'api' は無効です: /srv/api は存在しません。"


def test_every_language_has_the_same_sentences_with_the_same_gaps():
    english = [list(catalogue) for catalogue in BY_LANGUAGE.values()]
    assert english[0] == english[1] == english[2]
    for catalogue in BY_LANGUAGE.values():
        assert [e for e, said in catalogue.items() if set(GAPS.findall(e)) != set(GAPS.findall(said))] == []


@pytest.mark.parametrize("english", BY_LANGUAGE["ja"])
def test_every_sentence_is_one_that_the_code_says(english: str):
    parts = [part for part in GAPS.split(english) if re.search(r"\w", part)]
    assert [part for part in parts if not stands_in_the_code(words_of(part))] == []


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
