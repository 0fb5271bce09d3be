"""Words that readers stumbled over do not come back: not in messages, help texts, settings, docstrings or documents.

The list grows with every odd sentence that somebody reports. Docstrings are read too, because developers read them and
copy their words into messages.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from fairlead.render.words import CATALOGUES

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "src" / "fairlead"
DOCUMENTS: Final = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / ".env.example", ROOT / "docs/generate.py"]

ODD: Final[Mapping[str, str]] = {
    r"anew": "again",
    r"whoever|whomever": "anyone who, the person who, the code that",
    r"(?<!there )is no (?:command|json|id|journal line|version|file|project|directory|answer to)": "is not a …",
    r"st(?:and|ands|ood|anding) still": "paused",
    r"thrown away": "disposable, deleted",
    r"(?:the|a|our) house|the rooms": "the process, the layout",
    r"debts?": "pending delivery",
    r"couriers?|parcels?": "send loop, outgoing message",
    r"has the whole way": "has step-by-step instructions",
    r"nobody had listened|while nobody listened": "while Fairlead was offline",
    r"who is the same person": "accounts of the same person",
    r"after so many|for so long is|within so long": "every N …, after N seconds",
    r"what was asked for cannot be": "the request is not valid",
    r"the account (?:adds|does not add|must add)": "the totals match",
    r"goes? on where you left\b(?! off)": "continue where you left off",
    r"put (?:that|this|it) right|put right what": "fix",
    r"thence|whence|hereby|henceforth|nought|aught|lest": "a word of today",
}
"""An odd expression, and the plain words to say instead."""
PATTERN: Final = re.compile(rf"\b(?:{'|'.join(ODD)})\b", re.IGNORECASE)

ALLOWED: Final = {
    # A comment that quotes the name of the section in an old snapshot.
    ("src/fairlead/store/snapshot.py", "debts"),
    # The glossary of words that names in the code must not use.
    ("docs/concepts.md", "parcel"),
    # The history of the names, which quotes the old ones.
    ("docs/design-notes.md", "Debt"),
    ("docs/design-notes.md", "Parcel"),
    ("docs/design-notes.md", "courier"),
}
NOT_READ: Final = {"CHANGELOG.md", "requirements.md"}
"""What was published stays as it was, and the names of tests are not sentences."""


def strings_in(path: Path) -> Iterator[tuple[int, str]]:
    """Every string of a module, its docstrings included. The catalogues' codes and comments are left out."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def odd_words(name: str, number: int, text: str) -> list[str]:
    flat = " ".join(text.split())
    return [f"{name}:{number}: {found[0]!r}" for found in PATTERN.finditer(flat) if (name, found[0]) not in ALLOWED]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_no_message_of_the_code_uses_an_odd_word(path: Path):
    name = path.relative_to(ROOT).as_posix()
    assert [odd for number, text in strings_in(path) for odd in odd_words(name, number, text)] == []


@pytest.mark.parametrize("path", [p for p in DOCUMENTS if p.name not in NOT_READ], ids=lambda path: path.name)
def test_no_document_uses_an_odd_word(path: Path):
    name = path.relative_to(ROOT).as_posix()
    paragraphs = re.split(r"\n\s*\n", path.read_text())
    assert [odd for number, text in enumerate(paragraphs, 1) for odd in odd_words(name, number, text)] == []


def test_every_exception_is_still_needed():
    for name, word in ALLOWED:
        assert re.search(rf"\b{word}\b", (ROOT / name).read_text()), (name, word)


@pytest.mark.parametrize(
    "sentence",
    [
        "Send the message anew.",
        "/stauts is no command here.",
        "PROJECTS: is no JSON",
        "All clocks of the job stand still while it waits.",
        "Only for machines that can be thrown away.",
        "Answers are debts.",
        "A snapshot after so many events …",
        "The guide has the whole way.",
        "nobody had listened to Discord",
    ],
)
def test_the_sentences_that_were_reported_are_recognised(sentence: str):
    assert PATTERN.search(sentence)


def test_people_talk_to_agents_and_agents_use_tools():
    """`/tool` is the command; what it chooses is called an agent. Only what an agent uses is called a tool."""
    english = CATALOGUES["en"]
    about_agents = [key for key in english if key.startswith(("command.tool", "command.project.", "reply.tool."))]
    assert [key for key in about_agents if re.search(r"(?<!/)\btools?\b(?!\})", english[key], re.IGNORECASE)] == []
