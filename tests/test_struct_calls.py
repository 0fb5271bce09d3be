"""No call of a class passes more than four arguments by position: a field added in the middle would shift the rest."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")])
MOST = 4


def long_positional_calls(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = called_name(node.func)
            unpacks = any(isinstance(argument, ast.Starred) for argument in node.args)
            is_class = name.lstrip("_")[:1].isupper()
            if is_class and (len(node.args) > MOST or (unpacks and len(node.args) > MOST - 2)):
                yield node.lineno, name


def called_name(called: ast.expr) -> str:
    match called:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def test_the_check_finds_what_it_looks_for():
    assert list(long_positional_calls("Job(1, 2, 3, 4, 5)")) == [(1, "Job")]
    assert list(long_positional_calls("state.Job(*common, 4, 5)")) == [(1, "Job")]
    assert list(long_positional_calls("Job(1, 2, 3, 4)\nplus(1, 2, 3, 4, 5)\nJob(a=1, b=2, c=3, d=4, e=5)")) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_structs_with_many_fields_are_built_with_keywords(path: Path):
    found = list(long_positional_calls(path.read_text(encoding="utf-8")))
    assert found == []
