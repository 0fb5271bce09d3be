"""A file is opened only if it lies in the directory, whatever its path says and whatever changes meanwhile."""

import os
from pathlib import Path

import pytest

from fairlead.kit import files_beneath
from fairlead.kit.files_beneath import NotBeneath, open_beneath


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    (project / "docs" / "a.txt").write_text("inside")
    (tmp_path / "secret.txt").write_text("outside")
    return project


@pytest.mark.req("B11")
@pytest.mark.parametrize("path", ["docs/a.txt", "./docs/../docs/a.txt"])
def test_a_file_in_the_directory_is_opened_however_its_path_is_written(project: Path, path: str):
    for each in (path, str(project / path)):
        with open_beneath(project, each) as file:
            assert file.read() == b"inside"


@pytest.mark.req("B11")
@pytest.mark.parametrize("path", ["../secret.txt", "docs/../../secret.txt", "/etc/passwd", ".", "", "docs/.."])
def test_no_path_leads_out(project: Path, path: str):
    with pytest.raises(NotBeneath):
        open_beneath(project, path)


@pytest.mark.req("B11")
def test_a_link_inside_may_be_used_and_one_that_leads_out_may_not(project: Path):
    (project / "inside.txt").symlink_to("docs/a.txt")
    (project / "outside.txt").symlink_to("../secret.txt")
    (project / "up").symlink_to("..")
    with open_beneath(project, "inside.txt") as file:
        assert file.read() == b"inside"
    for path in ("outside.txt", "up/secret.txt"):
        with pytest.raises(NotBeneath):
            open_beneath(project, path)


@pytest.mark.req("B11")
@pytest.mark.parametrize("swapped", ["docs", "docs/a.txt"])
def test_a_link_that_is_put_in_the_way_after_the_look_is_not_followed(
    project: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
):
    (project.parent / "elsewhere").mkdir()
    (project.parent / "elsewhere" / "a.txt").write_text("outside")
    look = files_beneath._steps_below

    def look_and_swap(root: Path, path: str) -> tuple[str, ...]:
        steps = look(root, path)
        (project / swapped).rename(project / "moved")
        target = project.parent / "elsewhere"
        (project / swapped).symlink_to(target if swapped == "docs" else target / "a.txt")
        return steps

    monkeypatch.setattr(files_beneath, "_steps_below", look_and_swap)
    with pytest.raises(OSError) as refused:
        open_beneath(project, "docs/a.txt")
    assert isinstance(refused.value, NotBeneath | NotADirectoryError)


def test_a_hard_link_a_pipe_and_a_directory_are_no_files_of_the_project(project: Path):
    os.link(project.parent / "secret.txt", project / "hard.txt")
    os.mkfifo(project / "pipe")
    for path in ("hard.txt", "pipe", "docs"):
        with pytest.raises(OSError):
            open_beneath(project, path)


def test_what_is_not_there_is_said_so(project: Path):
    with pytest.raises(FileNotFoundError):
        open_beneath(project, "docs/none.txt")


def test_nothing_is_left_open(project: Path):
    before = count_open()
    open_beneath(project, "docs/a.txt").close()
    for path in ("docs", "docs/none.txt", "../secret.txt"):
        with pytest.raises(OSError):
            open_beneath(project, path)
    assert count_open() == before


def count_open() -> int:
    descriptors = Path("/proc/self/fd")
    return len(list(descriptors.iterdir())) if descriptors.exists() else 0
