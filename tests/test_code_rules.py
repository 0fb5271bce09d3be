"""Rules that no linter knows: broad excepts give their reason, every task has an owner, core imports one library."""

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "fairlead"
MODULES = sorted(SOURCE.rglob("*.py"))
BROAD = {"Exception", "BaseException"}
STARTS_A_TASK = {"create_task", "ensure_future"}
OWNERS = (SOURCE / "kit", SOURCE / "testing")  # owners themselves, and the loop with the virtual clock


def names_in(handler: ast.ExceptHandler) -> set[str]:
    if handler.type is None:
        return {"BaseException"}
    return {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}


def unexplained(source: str) -> Iterator[int]:
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler) and names_in(node) & BROAD:
            above, here = lines[node.lineno - 2], lines[node.lineno - 1]
            if "#" not in here and not above.lstrip().startswith("#"):
                yield node.lineno


def started_tasks(source: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STARTS_A_TASK:
            yield node.lineno


def test_the_rules_see_what_they_forbid():
    bare = "try:\n    f()\nexcept Exception as fault:\n    pass\n"
    assert list(unexplained(bare)) == [3]
    assert list(unexplained(bare.replace("fault:", "fault:  # because"))) == []
    assert list(unexplained("try:\n    f()\nexcept (OSError, BaseException):\n    raise\n")) == [3]
    assert list(unexplained("try:\n    f()\nexcept OSError:\n    pass\n")) == []
    assert list(started_tasks("task = asyncio.get_running_loop().create_task(f())\n")) == [1]


def outside_names(source: str) -> Iterator[str]:
    """The libraries that a module imports, by the first part of their names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


def test_core_needs_msgspec_and_nothing_else_from_outside():
    """import-linter forbids the libraries of today; this forbids every other one too."""
    names = {
        name for path in MODULES if path.is_relative_to(SOURCE / "core") for name in outside_names(path.read_text())
    }
    assert names - sys.stdlib_module_names == {"fairlead", "msgspec"}


def found_by(rule: Callable[[str], Iterator[int]], modules: Iterable[Path]) -> list[str]:
    return [f"{path.relative_to(SOURCE)}:{line}" for path in modules for line in rule(path.read_text())]


def test_a_broad_except_has_its_reason_beside_it():
    assert found_by(unexplained, MODULES) == []


def test_every_task_has_an_owner():
    others = [path for path in MODULES if not any(path.is_relative_to(owner) for owner in OWNERS)]
    assert found_by(started_tasks, others) == []


# --- names ---------------------------------------------------------------------------------------------------------

NAMES_NOT_CHECKED_YET: tuple[str, ...] = ()
IRREGULAR_PARTICIPLE = re.compile(
    "(mis|un)?(begun|born|bound|brought|built|caught|done|drawn|felt|found|gone|grown|heard|held|kept|known|laid|learnt"
    "|led|left|lost|made|meant|met|paid|said|sent|shown|sold|spent|stood|stuck|swept|taught|thought|told|torn|understood"
    "|withdrawn|won|worn)"
)
LOOKS_LIKE_A_PARTICIPLE = re.compile("embed|feed|happen|len|listen|open|shorten|widen")
PREPOSITION = re.compile("after|as|at|before|behind|by|for|from|in|into|of|on|since|to|until|with|within")


def is_participle(word: str) -> bool:
    has_ending = word.endswith(("ed", "en")) and not LOOKS_LIKE_A_PARTICIPLE.fullmatch(word)
    return has_ending or IRREGULAR_PARTICIPLE.fullmatch(word) is not None


def bare_participles(source: str) -> Iterator[int]:
    """Lines that define `_checked` or `shown_as`; `is_checked`, `checked_lines` and `job_checked` say more."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first, *rest = node.name.strip("_").split("_")
            if is_participle(first) and (not rest or PREPOSITION.fullmatch(rest[0])):
                yield node.lineno


def public_classes(modules: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, path


def is_checked(path: Path) -> bool:
    return not any(path.is_relative_to(SOURCE / folder) for folder in NAMES_NOT_CHECKED_YET)


def test_the_rule_of_names_sees_bare_participles():
    assert list(bare_participles("def _checked(): ...\nasync def shown_as(): ...\ndef _unborn(): ...\n")) == [1, 2, 3]
    fine = ("is_checked", "checked_lines", "job_checked", "feed", "open", "_check", "__set_name__", "found_state")
    assert [name for name in fine if list(bare_participles(f"def {name}(): ...\n"))] == []


def test_functions_are_named_by_verbs_and_properties_by_nouns():
    assert found_by(bare_participles, filter(is_checked, MODULES)) == []


def test_no_two_public_classes_have_one_name():
    """Each CLI's wire structs have the names of that CLI."""
    wires = set(SOURCE.glob("runtimes/*/wire.py"))
    places: dict[str, list[str]] = {}
    for name, path in public_classes(path for path in MODULES if is_checked(path) and path not in wires):
        places.setdefault(name, []).append(str(path.relative_to(SOURCE)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
