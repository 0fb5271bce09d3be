"""Rules of the house that no linter knows: broad excepts give their reason, and every task has an owner."""

import ast
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


def found_by(rule: Callable[[str], Iterator[int]], modules: Iterable[Path]) -> list[str]:
    return [f"{path.relative_to(SOURCE)}:{line}" for path in modules for line in rule(path.read_text())]


def test_a_broad_except_has_its_reason_beside_it():
    assert found_by(unexplained, MODULES) == []


def test_every_task_has_an_owner():
    others = [path for path in MODULES if not any(path.is_relative_to(owner) for owner in OWNERS)]
    assert found_by(started_tasks, others) == []
