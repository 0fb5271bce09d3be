"""What is really at a path, and whether an agent can run there."""

from pathlib import Path

import pytest

from fairlead.store.directories import RealDirectories

pytestmark = pytest.mark.req("A2")


def test_links_are_resolved_once_and_what_is_no_directory_is_named(tmp_path: Path):
    (tmp_path / "api").mkdir()
    (tmp_path / "link").symlink_to("api")
    (tmp_path / "file").touch()
    directories = RealDirectories(tmp_path / "state")

    facts = directories.inspect(str(tmp_path / "link"))
    assert (facts.real_path, facts.problem) == (str(tmp_path / "api"), "")
    assert "is not a directory" in directories.inspect(str(tmp_path / "file")).problem
    assert f"Did you mean {tmp_path / 'api'}?" in directories.inspect(str(tmp_path / "apj")).problem
    assert "not an absolute path" in directories.inspect("api").problem


def test_a_directory_that_went_or_was_closed_since_it_was_resolved_has_its_problem_named(tmp_path: Path):
    project = tmp_path / "api"
    project.mkdir()
    directories = RealDirectories(tmp_path / "state")

    assert directories.problem_at(str(project)) == ""
    project.rmdir()
    assert "does not exist" in directories.problem_at(str(project))
    project.touch()
    assert "is not a directory" in directories.problem_at(str(project))


@pytest.mark.req("B11")
def test_neither_the_whole_machine_nor_the_state_directory_can_be_a_project(tmp_path: Path):
    state = tmp_path / "home" / "state"
    inside = state / "workspaces"
    beside = tmp_path / "home" / "statement"
    for directory in (inside, beside):
        directory.mkdir(parents=True)
    (tmp_path / "link").symlink_to(state)
    directories = RealDirectories(state)

    assert "root directory" in directories.inspect("/").problem
    assert "is Fairlead's own state directory" in directories.inspect(str(state)).problem
    assert "is Fairlead's own state directory" in directories.inspect(str(tmp_path / "link")).problem
    assert "holds Fairlead's own state directory" in directories.inspect(str(tmp_path / "home")).problem
    assert "is inside Fairlead's own state directory" in directories.inspect(f"{beside}/../state/workspaces").problem
    assert "is inside Fairlead's own state directory" in directories.problem_at(str(inside))
    assert "root directory" in directories.problem_at("/")
    assert directories.inspect(str(beside)).problem == ""
