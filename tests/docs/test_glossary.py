"""The glossary of docs/concepts.md and the names in the code: its words are used, the others are not."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/fairlead"
GLOSSARY = (ROOT / "docs/concepts.md").read_text().partition("## Glossary")[2]
ROWS = [[cell.strip() for cell in row.strip("|").split("|")] for row in re.findall(r"(?m)^\| \*\*.*$", GLOSSARY)]
MODULES = {path.relative_to(SOURCE).with_suffix("").as_posix() for path in SOURCE.rglob("*.py")}
PACKAGES = {path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*") if path.is_dir()}


def names_in_the_code() -> set[str]:
    """Every public class, function and type alias."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.AnnAssign | ast.Assign):
                targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
                found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


NAMES = names_in_the_code()


def words_of(name: str) -> set[str]:
    """`OutboxEntry` and `outbox_entry` are both made of outbox and entry."""
    return {word.lower() for part in re.split(r"[/_]", name) for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", part)}


def test_the_glossary_has_about_twenty_five_words():
    assert 20 <= len(ROWS) <= 36
    assert len({row[0] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("*"))
def test_the_names_of_a_word_are_in_the_code(row: list[str]):
    names = re.findall(r"`([^`]+)`", row[2])
    assert names
    for name in names:
        assert name in NAMES or name in MODULES or name in PACKAGES, name


@pytest.mark.parametrize("row", [row for row in ROWS if row[3]], ids=lambda row: row[0].strip("*"))
def test_no_module_and_no_public_class_uses_another_word_for_it(row: list[str]):
    others = {word.strip() for word in row[3].split(",")}
    classes = {name for name in NAMES if name[:1].isupper() and not name.isupper()}
    assert [name for name in sorted(classes | MODULES | PACKAGES) if words_of(name) & others] == []
