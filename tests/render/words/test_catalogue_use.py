"""The catalogues and the code that speaks fit: no key is missing, none is left over, and every gap is filled."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import fairlead
from fairlead.core.commands import COMMANDS
from fairlead.core.state import JobState
from fairlead.render.words import ENGLISH as WORDS

ROOT = Path(fairlead.__path__[0])
SOURCES = sorted(path for path in ROOT.rglob("*.py") if "words" not in path.relative_to(ROOT).parts[:-1])


@cache
def trees() -> list[tuple[str, ast.Module]]:
    return [(str(path.relative_to(ROOT)), ast.parse(path.read_text())) for path in SOURCES]


def said() -> Iterator[tuple[str, str, set[str]]]:
    """Every call of `say` with a key that stands there: where, the key, and the gaps it fills."""
    for name, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say":
                given = {word.arg for word in node.keywords if word.arg}
                for key in keys_in(node.args[1]):
                    yield f"{name}:{node.lineno}", key, given


def keys_in(argument: ast.expr) -> list[str]:
    if isinstance(argument, ast.IfExp):
        return [*keys_in(argument.body), *keys_in(argument.orelse)]
    return [str(argument.value)] if isinstance(argument, ast.Constant) else []


def gaps_that_must_be_filled(key: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", re.sub(r"\[\[.*?\]\]", "", WORDS[key])))


def literals() -> set[str]:
    nodes = (node for _, tree in trees() for node in ast.walk(tree))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_every_key_that_is_said_exists_and_every_gap_is_filled():
    calls = list(said())
    assert len(calls) > 60
    assert [(where, key) for where, key, _ in calls if key not in WORDS] == []
    assert [(where, key) for where, key, given in calls if gaps_that_must_be_filled(key) - given] == []


def test_every_key_is_used():
    """Keys are said whole, or made of their group and a word of the code: a state, a tool, a reply's type. The keys
    of commands and of errors are made of the commands and the codes, and have tests of their own."""
    words = {*literals(), *get_args(JobState), *(spec.reply.__name__ for spec in COMMANDS.specs)}
    elsewhere = ("command.", "error.")
    left_over = [
        key
        for key in WORDS
        if not key.startswith(elsewhere) and key not in words and key.partition(".")[2] not in words
    ]
    assert left_over == []
