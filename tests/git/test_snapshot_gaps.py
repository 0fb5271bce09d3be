"""What a snapshot leaves out is neither made nor removed by a turn: an undo leaves it, and names it."""

import asyncio
import os
import shutil
from pathlib import Path

import msgspec
import pytest

from fairlead.git.snapshot_notes import read_notes
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
        notes = asyncio.run(each.trees.work(str(app), lambda c, r: read_notes(c, r, [whole.commit, without.commit])))
        assert [note.gaps for note in notes] == [frozenset(), frozenset({odd})]
        each.close()
    assert git(app, "log", "-1", "--format=%s", without.commit) == "a label\n"


def test_what_is_ignored_from_a_turn_on_is_in_no_later_snapshot_and_stays(trees: Trees, tmp_path: Path):
    """An agent that puts what was built into `.gitignore` has removed nothing."""
    app = make_repository(tmp_path / "app")
    (app / "build").mkdir()
    (app / "build" / "out").write_text("made\n")
    (app / "notes.txt").write_text("mine\n")
    start = trees.snapshot(app)
    (app / ".gitignore").write_text("build/\nnotes.txt\n")
    end = trees.snapshot(app)
    assert sorted(trees.content(app, end)) == [b".gitignore", b"README.md"]
    assert [file.path for file in trees.changes(app, start, end).files] == [".gitignore"]
    (app / "build" / "out").write_text("made again\n")
    assert trees.snapshot(app).tree == end.tree
    undo = plan(trees, app, (end, start))
    assert (undo.left, [file.path for file in undo.files]) == (("build/out",), [".gitignore"]), "notes.txt is as it was"
    carry_out(trees, app, undo)
    assert files_below(app)[b"notes.txt"] == ("100644", b"mine\n")
    redo = asyncio.run(trees.trees.plan_undo(str(app), [(undo.after, undo.before.commit)], "redo"))
    carry_out(trees, app, redo)
    assert sorted(files_below(app)) == [b".gitignore", b"README.md", b"build/out", b"notes.txt"]


def test_what_a_turn_ignored_and_removed_comes_back(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app", old="old\n")
    start = trees.snapshot(app)
    (app / ".gitignore").write_text("old\n")
    (app / "old").unlink()
    end = trees.snapshot(app)
    undo = plan(trees, app, (end, start))
    assert undo.left == ()
    carry_out(trees, app, undo)
    assert files_below(app) == {b"README.md": ("100644", b"hello\n"), b"old": ("100644", b"old\n")}


def in_its_own_rules(app: Path, rules: str) -> None:
    (app / ".git" / "info" / "exclude").write_text(rules)


def in_the_persons_rules(app: Path, rules: str) -> None:
    (app.parent / "home" / ".config" / "git").mkdir(parents=True, exist_ok=True)
    (app.parent / "home" / ".config" / "git" / "ignore").write_text(rules)


@pytest.mark.parametrize("ignore", [in_its_own_rules, in_the_persons_rules])
def test_rules_outside_of_the_files_that_change_in_a_turn_remove_nothing(
    trees: Trees, tmp_path: Path, ignore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    app = make_repository(tmp_path / "app")
    (app / ".env").write_text("KEY=1\n")
    ignore(app, "# comments\n\n.env\n")
    start = trees.snapshot(app)
    ignore(app, "")
    (app / "new.py").write_text("new\n")
    end = trees.snapshot(app)
    assert sorted(trees.content(app, end)) == [b".env", b"README.md", b"new.py"]
    assert [file.path for file in trees.changes(app, start, end).files] == ["new.py"], "nobody made .env"
    assert plan(trees, app, (end, start)).left == (".env",)
    ignore(app, ".env\n*.py\n")
    later = trees.snapshot(app)
    assert sorted(trees.content(app, later)) == [b"README.md"]
    assert trees.changes(app, end, later).files == ()
    undo = plan(trees, app, (end, start))
    assert (undo.after, undo.left) == ("", (".env", "new.py")), "no snapshot says what they are now"
    assert (app / ".env").read_text() == "KEY=1\n"


def test_rules_that_are_too_long_to_be_noted_leave_all_that_came_or_went(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    in_its_own_rules(app, "".join(f"rule-{number}\n" for number in range(10_000)))
    start = trees.snapshot(app)
    in_its_own_rules(app, "".join(f"rule-{number}\n" for number in range(10_001)))
    (app / "new.py").write_text("new\n")
    (app / "README.md").write_text("changed\n")
    end = trees.snapshot(app)
    undo = plan(trees, app, (end, start))
    assert (undo.left, [file.path for file in undo.files]) == (("new.py",), ["README.md"])


def test_a_snapshot_of_before_rules_were_noted_has_the_rules_of_now(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    in_its_own_rules(app, ".env\n")
    (app / ".env").write_text("KEY=1\n")
    taken = trees.snapshot(app)
    tree = taken.tree
    bare = git(app, "commit-tree", "-m", "a label", tree).strip()
    older = msgspec.structs.replace(taken, commit=bare)
    (app / ".gitignore").write_text("!.env\n")
    end = trees.snapshot(app)
    assert plan(trees, app, (end, older)).left == (".env",)
