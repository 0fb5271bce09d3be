"""Requests as rules see them: real paths, and nothing outside of the project."""

import os
from pathlib import Path

import pytest

from fairlead.core.engine import PermissionRequested, PlanProposed
from fairlead.core.rules import RuleSubject
from fairlead.flow.turns.rule_subjects import rule_subject


def edit(*paths: str) -> PermissionRequested:
    return PermissionRequested(request_id="r", tool="Edit", title="t", detail="d", paths=paths)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "api" / "src").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "api" / "out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "api" / "lib").symlink_to(tmp_path / "api" / "src")
    (tmp_path / "api" / "loop").symlink_to(tmp_path / "api" / "loop")
    return tmp_path / "api"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("{project}/src/app.py", "src/app.py"),
        ("src/app.py", "src/app.py"),
        ("src/../src/new/file.py", "src/new/file.py"),
        ("lib/app.py", "src/app.py"),
        ("../elsewhere/x", ""),
        ("src/../../elsewhere/x", ""),
        ("out/x", ""),
        ("/etc/passwd", ""),
        ("~/.bashrc", ""),
        ("{project}", ""),
        ("{project}-2/x", ""),
        ("a\x00b", ""),
    ],
)
def test_links_and_dots_are_resolved_before_a_path_counts_as_inside(project: Path, path: str, place: str):
    subject = rule_subject(edit(path.format(project=project)), str(project), os.path.realpath)
    assert subject == RuleSubject("Edit", "d", path=place)


def test_an_edit_of_several_files_has_no_path_of_its_own(project: Path):
    several = rule_subject(edit("src/a", "src/b"), str(project), os.path.realpath)
    same = rule_subject(edit("src/a", "lib/a", f"{project}/src/a"), str(project), os.path.realpath)
    assert (several, same) == (RuleSubject("Edit", "d"), RuleSubject("Edit", "d", path="src/a"))


def test_a_shell_elsewhere_is_under_no_rule(project: Path):
    def shell(directory: str) -> PermissionRequested:
        ask = PermissionRequested(request_id="r", tool="Bash", title="t", detail="pytest", command="pytest")
        return PermissionRequested(
            **{name: getattr(ask, name) for name in ask.__struct_fields__} | {"directory": directory}
        )

    here = RuleSubject("Bash", "pytest", command="pytest")
    for directory in ("", ".", str(project), "src/.."):
        assert rule_subject(shell(directory), str(project), os.path.realpath) == here
    for directory in ("src", "..", "/tmp", "out"):
        assert rule_subject(shell(directory), str(project), os.path.realpath) is None
    assert rule_subject(PlanProposed("r", "plan"), str(project), os.path.realpath) is None
