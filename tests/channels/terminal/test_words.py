"""What the terminal says comes from the catalogues, in the language of the person at it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fairlead.channels.terminal

SPEAKING = [
    Path(fairlead.channels.terminal.__path__[0]) / f"{name}.py"
    for name in ("chat", "live_view", "screen", "questions", "piped", "project_choice", "away", "commands")
]
STYLES = {"bold ansigreen", "bold yellow", "bold red"}
_SENTENCE = re.compile(r"^(?!/).*[A-Za-z]{2,} [a-z]{2,}", re.DOTALL)  # a command is no sentence


def literals(source: Path) -> Iterator[tuple[str, str]]:
    """Every string in the code that is neither a docstring nor what an assertion says to us."""
    tree = ast.parse(source.read_text())
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        is_bare = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_assertion = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "AssertionError"
        if is_bare or is_assertion or isinstance(node, ast.Assert):
            skipped.update(ast.walk(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield f"{source.name}:{node.lineno}", node.value


@pytest.mark.parametrize("source", SPEAKING, ids=lambda source: source.name)
def test_no_sentence_stands_in_the_code(source: Path):
    found = [(where, text) for where, text in literals(source) if _SENTENCE.search(text) and text not in STYLES]
    assert found == []
