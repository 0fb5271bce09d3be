"""What a snapshot leaves out is neither made nor removed by a turn: an undo leaves it, and names it."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from fairlead.git.snapshot_gaps import read_gaps
from tests.git.harness import Trees, carry_out, files_below, git, make_repository, plan

pytestmark = pytest.mark.req("F4")


def test_what_was_ignored_before_the_turn_is_not_removed(trees: Trees, tmp_path: Path):
    """An agent that changes the rules makes no file by that."""
    app = make_repository(tmp_path / "app", **{".gitignore": ".env\nbuild/\n"})
    (app / ".env").write_text("KEY=1\n")
    (app / "build").mkdir()
    (app / "build" / "out").write_text("made\n")
    start = trees.snapshot(app)
    (app / ".gitignore").write_text("")
    (app / "new.py").write_text("new\n")
    end = trees.snapshot(app)
    undo = plan(trees, app, (end, start))
    assert undo.left == (".env", "build/out")
    assert [file.path for file in undo.files] == [".gitignore", "new.py"]
    assert carry_out(trees, app, undo) == ()
    assert sorted(map(os.fsdecode, files_below(app))) == [".env", ".gitignore", "README.md", "build/out"]


def test_in_a_part_of_a_repository_the_rules_above_it_count_too(trees: Trees, tmp_path: Path):
    part = make_repository(tmp_path / "mono", **{".gitignore": "*.key\n"}) / "part"
    part.mkdir()
    (part / "my.key").write_text("secret\n")
    start = trees.snapshot(part)
    (part / ".gitignore").write_text("!my.key\n")
    end = trees.snapshot(part)
    undo = plan(trees, part, (end, start))
    assert undo.left == ("part/my.key",)
    carry_out(trees, part, undo)
    assert files_below(part) == {b"my.key": ("100644", b"secret\n")}


def test_a_file_that_was_too_large_before_or_after_the_turn_stays(tmp_path: Path):
    trees = Trees(tmp_path / "state", largest=100)
    app = make_repository(tmp_path / "app", grows="1\n")
    (app / "shrinks").write_text("x" * 200)
    start = trees.snapshot(app)
    (app / "shrinks").write_text("x\n")
    (app / "grows").write_text("1\n" * 200)
    end = trees.snapshot(app)
    assert trees.changes(app, start, end).files == (), "nobody made or removed a file"
    undo = plan(trees, app, (end, start))
    assert (undo.after, undo.left) == ("", ("grows", "shrinks"))
    trees.close()


def test_the_files_of_a_nested_repository_that_is_one_no_more_stay(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    make_repository(app / "inner")
    (app / "x").write_text("x\n")
    start = trees.snapshot(app)
    shutil.rmtree(app / "inner" / ".git")
    (app / "y").write_text("y\n")
    end = trees.snapshot(app)
    assert [file.path for file in trees.changes(app, start, end).files] == ["y"]
    undo = plan(trees, app, (end, start))
    assert undo.left == ("inner/README.md",)
    carry_out(trees, app, undo)
    assert (app / "inner" / "README.md").exists()
    assert not (app / "y").exists()


def test_a_commit_names_what_it_leaves_out_also_when_nothing_else_changed(tmp_path: Path):
    trees = Trees(tmp_path / "state", largest=100)
    app = make_repository(tmp_path / "app")
    whole = trees.snapshot(app)
    odd = "new\nline %41 \udcff\u00e9"
    (app / odd).write_text("x" * 200)
    without = trees.snapshot(app)
    assert (whole.tree, whole.commit == without.commit) == (without.tree, False)
    restarted = Trees(tmp_path / "state", largest=100)
    assert restarted.snapshot(app).commit == without.commit, "what it left out is read from it"
    for each in (trees, restarted):
        gaps = asyncio.run(each.trees.work(str(app), lambda c, r: read_gaps(c, r, [whole.commit, without.commit])))
        assert gaps == [frozenset(), frozenset({odd})]
        each.close()
    assert git(app, "log", "-1", "--format=%s", without.commit) == "a label\n"
