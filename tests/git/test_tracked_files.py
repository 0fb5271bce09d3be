"""What the person's own git tracks is in the snapshots, also where rules ignore it (`git add -f`); and what only became
tracked, or is tracked no more, was neither made nor removed by that."""

import asyncio
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.core.trees import UncoveredPath
from fairlead.git import tracked_files, tree_stamp
from fairlead.git.snapshot_notes import read_notes
from tests.git.harness import Trees, carry_out, git, make_repository, own_files_of, plan
from tests.git.test_tree_stamp import CountedGit

pytestmark = pytest.mark.req("F4")


def in_a_file_of_the_project(app: Path) -> None:
    (app / ".gitignore").write_text("*.log\n")


def in_its_own_rules(app: Path) -> None:
    (app / ".git" / "info").mkdir(exist_ok=True)
    (app / ".git" / "info" / "exclude").write_text("*.log\n")


def in_the_persons_rules(app: Path) -> None:
    (app.parent / "home").mkdir(exist_ok=True)
    (app.parent / "home" / "ignored").write_text("*.log\n")
    (app.parent / "home" / ".gitconfig").write_text("[core]\n\texcludesFile = ~/ignored\n")


def make_with_tracked(app: Path, ignore: Callable[[Path], None] = in_a_file_of_the_project) -> Path:
    """`kept.log` is committed, `noise.log` is not, and rules ignore both."""
    make_repository(app)
    ignore(app)
    (app / "kept.log").write_text("one\n")
    (app / "noise.log").write_text("noise\n")
    git(app, "add", "-f", "kept.log")
    git(app, "commit", "-q", "-m", "kept")
    return app


@pytest.mark.parametrize("ignore", [in_a_file_of_the_project, in_its_own_rules, in_the_persons_rules])
def test_a_file_that_is_committed_though_ignored_is_covered(trees: Trees, tmp_path: Path, ignore):
    app = make_with_tracked(tmp_path / "app", ignore)
    own = own_files_of(app / ".git")
    start = trees.snapshot(app)
    assert b"kept.log" in trees.content(app, start)
    assert b"noise.log" not in trees.content(app, start)
    (app / "kept.log").write_text("two\n")
    (app / "noise.log").write_text("more noise\n")
    end = trees.snapshot(app)
    assert [(file.path, file.kind) for file in trees.changes(app, start, end).files] == [("kept.log", "modified")]
    undo = plan(trees, app, (end, start))
    assert carry_out(trees, app, undo) == ()
    assert ((app / "kept.log").read_text(), undo.left) == ("one\n", ())
    assert (app / "noise.log").read_text() == "more noise\n"
    assert own_files_of(app / ".git") == own


def test_a_tracked_file_stays_covered_when_rules_come_to_ignore_it(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app", notes="one\n")
    start = trees.snapshot(app)
    (app / ".gitignore").write_text("notes\n")
    (app / "notes").write_text("two\n")
    end = trees.snapshot(app)
    assert [file.path for file in trees.changes(app, start, end).files] == [".gitignore", "notes"]
    undo = plan(trees, app, (end, start))
    carry_out(trees, app, undo)
    assert ((app / "notes").read_text(), undo.left) == ("one\n", ())


@pytest.mark.parametrize(
    "remove", [lambda app: (app / "kept.log").unlink(), lambda app: git(app, "rm", "-q", "kept.log")]
)
def test_a_tracked_file_that_a_turn_removed_is_listed_and_comes_back(trees: Trees, tmp_path: Path, remove):
    app = make_with_tracked(tmp_path / "app")
    start = trees.snapshot(app)
    remove(app)
    end = trees.snapshot(app)
    assert [(file.path, file.kind) for file in trees.changes(app, start, end).files] == [("kept.log", "deleted")]
    assert trees.snapshot(app) == end
    carry_out(trees, app, plan(trees, app, (end, start)))
    assert (app / "kept.log").read_text() == "one\n"


def test_a_tracked_file_that_was_gone_and_comes_again_is_covered(trees: Trees, tmp_path: Path):
    app = make_with_tracked(tmp_path / "app")
    (app / "kept.log").unlink()
    start = trees.snapshot(app)
    (app / "kept.log").write_text("again\n")
    end = trees.snapshot(app)
    assert [(file.path, file.kind) for file in trees.changes(app, start, end).files] == [("kept.log", "added")]
    carry_out(trees, app, plan(trees, app, (end, start)))
    assert not (app / "kept.log").exists()


def test_a_turn_that_adds_an_ignored_file_to_git_has_not_made_it(trees: Trees, tmp_path: Path):
    """An agent that runs `git add -f .env` must not make an undo remove the person's file."""
    app = make_repository(tmp_path / "app", **{".gitignore": ".env\n"})
    (app / ".env").write_text("KEY=1\n")
    start = trees.snapshot(app)
    git(app, "add", "-f", ".env")
    (app / "new.py").write_text("new\n")
    end = trees.snapshot(app)
    assert b".env" in trees.content(app, end)
    assert [file.path for file in trees.changes(app, start, end).files] == ["new.py"]
    undo = plan(trees, app, (end, start))
    assert (undo.left, [file.path for file in undo.files]) == ((".env",), ["new.py"])
    carry_out(trees, app, undo)
    assert (app / ".env").read_text() == "KEY=1\n"


def test_a_turn_that_takes_an_ignored_file_out_of_git_has_not_removed_it(trees: Trees, tmp_path: Path):
    app = make_with_tracked(tmp_path / "app")
    start = trees.snapshot(app)
    git(app, "rm", "-q", "--cached", "kept.log")
    end = trees.snapshot(app)
    assert b"kept.log" not in trees.content(app, end)
    assert trees.changes(app, start, end).files == ()
    (app / "kept.log").write_text("the person's\n")
    undo = plan(trees, app, (end, start))
    assert (undo.after, undo.left) == ("", ("kept.log",))
    assert (app / "kept.log").read_text() == "the person's\n"


def test_where_too_many_are_tracked_to_be_named_what_came_or_went_with_them_is_left(
    trees: Trees, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tracked_files, "LONGEST", 10)
    app = make_with_tracked(tmp_path / "app")
    for number in range(5):
        (app / f"{number}.log").write_text("x")
    start = trees.snapshot(app)
    git(app, "add", "-f", "0.log", "1.log", "2.log")
    (app / "new.py").write_text("new\n")
    end = trees.snapshot(app)
    assert [file.path for file in trees.changes(app, start, end).files] == ["new.py"]
    assert plan(trees, app, (end, start)).left == ("0.log", "1.log", "2.log")
    (app / "2.log").unlink()
    assert [file.path for file in trees.changes(app, end, trees.snapshot(app)).files] == ["2.log"]


def test_a_snapshot_notes_what_is_tracked_for_the_next_process(trees: Trees, tmp_path: Path):
    app = make_with_tracked(tmp_path / "app")
    odd = "new\nline %41 \udcff.log"
    (app / odd).write_text("odd\n")
    git(app, "add", "-f", odd)
    taken = trees.snapshot(app)
    later = Trees(tmp_path / "state")
    assert later.snapshot(app) == taken
    (notes,) = asyncio.run(later.trees.work(str(app), lambda c, r: read_notes(c, r, [taken.commit])))
    assert notes.tracked == {"kept.log", odd}
    git(app, "rm", "-q", "--cached", "kept.log", odd)
    restarted = Trees(tmp_path / "state")
    assert sorted(restarted.content(app, restarted.snapshot(app))) == [b".gitignore", b"README.md"]
    for each in (later, restarted):
        each.close()


def test_worktrees_parts_of_repositories_and_split_indexes(trees: Trees, tmp_path: Path):
    app = make_with_tracked(tmp_path / "app")
    (app / "part").mkdir()
    (app / "part" / "its.log").write_text("its\n")
    git(app, "add", "-f", "part/its.log", ".gitignore")
    git(app, "commit", "-q", "-m", "part")
    git(app, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    git(tmp_path / "side", "rm", "-q", "kept.log")
    assert sorted(trees.content(tmp_path / "side", trees.snapshot(tmp_path / "side"))) == [
        *(b".gitignore", b"README.md", b"part/its.log")
    ]
    assert sorted(trees.content(app / "part", trees.snapshot(app / "part"))) == [b"part/its.log"]
    git(app, "update-index", "--split-index")
    assert b"kept.log" in trees.content(app, trees.snapshot(app))


def damage(index: Path) -> None:
    index.write_bytes(b"no index at all")


def replace_by_a_pipe(index: Path) -> None:
    index.unlink()
    os.mkfifo(index)


@pytest.mark.parametrize("spoil", [damage, replace_by_a_pipe, Path.unlink])
def test_an_index_that_cannot_be_read_fails_no_snapshot(trees: Trees, tmp_path: Path, spoil):
    app = make_with_tracked(tmp_path / "app")
    start = trees.snapshot(app)
    spoil(app / ".git" / "index")
    end = trees.snapshot(app)
    assert sorted(trees.content(app, end)) == [b".gitignore", b"README.md"]
    assert trees.changes(app, start, end).files == ()
    (app / "kept.log").write_text("changed\n")
    assert plan(trees, app, (end, start)).left == ("kept.log",)


def test_tracked_names_lead_nowhere_else(trees: Trees, tmp_path: Path):
    """A link that stands where a directory was, a submodule, and our own state directory in the project."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.log").write_text("not of this project")
    app = make_repository(tmp_path / "app", **{".gitignore": "*.log\nvendor\nstate\nhome\n"})
    (app / "dir").mkdir()
    (app / "dir" / "a.log").write_text("a")
    make_repository(app / "vendor")
    inside = Trees(app / "state")
    inside.snapshot(app)
    git(app, "-c", "advice.addEmbeddedRepo=false", "add", "-f", "dir/a.log", "vendor", "state")
    taken = inside.snapshot(app)
    assert sorted(inside.content(app, taken)) == [b".gitignore", b"README.md", b"dir/a.log"]
    assert taken.uncovered == (UncoveredPath("vendor/", "nested repository"),)
    shutil.rmtree(app / "dir")
    (app / "dir").symlink_to(tmp_path / "elsewhere")
    assert sorted(inside.content(app, inside.snapshot(app))) == [b".gitignore", b"README.md", b"dir"]
    inside.close()


def test_a_forged_name_in_the_index_leads_nowhere(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app", **{".gitignore": "*.log\n"})
    (tmp_path / "x.log").write_text("not of this project")
    (app / "zz").mkdir()
    (app / "zz" / "x.log").write_text("x")
    git(app, "read-tree", "--empty")
    git(app, "add", "-f", "zz/x.log")
    index = app / ".git" / "index"
    forged = index.read_bytes()[:-20].replace(b"zz/x.log", b"../x.log")
    index.write_bytes(forged + hashlib.sha1(forged, usedforsecurity=False).digest())
    assert git(app, "ls-files") == "../x.log\n", "git itself believes it"
    taken = trees.snapshot(app)
    assert (sorted(trees.content(app, taken)), taken.uncovered) == ([b".gitignore", b"README.md"], ())


def test_a_tracked_file_over_the_limit_is_named_each_time(tmp_path: Path):
    trees = Trees(tmp_path / "state", largest=100)
    app = make_with_tracked(tmp_path / "app")
    (app / "kept.log").write_bytes(b"x" * 101)
    for _ in range(2):
        assert trees.snapshot(app).uncovered == (UncoveredPath("kept.log", "too large"),)
        (app / "README.md").write_text("changed\n")
    (app / "kept.log").write_bytes(b"x")
    assert b"kept.log" in trees.content(app, trees.snapshot(app))
    (app / "kept.log").write_bytes(b"x" * 101)
    for _ in range(2):
        assert trees.snapshot(app).uncovered == (UncoveredPath("kept.log", "too large"),)
    trees.close()


def test_the_index_is_read_again_only_when_it_or_the_rules_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    counted = CountedGit(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    trees = Trees(tmp_path / "state")
    app = make_with_tracked(tmp_path / "app")
    trees.snapshot(app)
    counted.take_runs()
    (app / "kept.log").write_text("two\n")
    trees.snapshot(app)
    assert "ls-files" not in counted.take_runs()
    git(app, "add", "-f", "noise.log")
    assert b"noise.log" in trees.content(app, trees.snapshot(app))
    assert "ls-files" in counted.take_runs()
    trees.close()


def test_a_small_tree_is_looked_at_again_when_the_index_changed(
    trees: Trees, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tree_stamp, "SETTLED_NS", -int(1e18))
    app = make_with_tracked(tmp_path / "app")
    start = trees.snapshot(app)
    git(app, "add", "-f", "noise.log")
    assert trees.snapshot(app).tree != start.tree
