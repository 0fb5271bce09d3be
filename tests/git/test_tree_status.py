"""What git remembers from look to look spares it work, and hides nothing: a daemon that has looked many times sees what
one sees that looks for the first time."""

import os
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.core.trees import TreeSnapshot, UncoveredPath
from fairlead.git import tree_stamp
from tests.git.harness import Trees, carry_out, make_repository, plan
from tests.git.test_tree_undo import EDITS, edit

pytestmark = pytest.mark.req("F1")


def look_until_trusted(trees: Trees, app: Path) -> TreeSnapshot:
    """The first look of a process asks every directory, the second one fills git's cache, the third one uses it. The
    directories are a while old: git reads those that changed just now again."""
    hour_ago = time.time() - 3600
    for directory in [app, *(path for path in app.rglob("*") if path.is_dir() and ".git" not in path.parts)]:
        os.utime(directory, (hour_ago, hour_ago))
    (app / "changes").touch()
    os.utime(app, (hour_ago, hour_ago))
    for number in range(3):
        (app / "changes").write_text(f"{number}\n")
        taken = trees.snapshot(app)
    return taken


def test_an_empty_directory_that_becomes_a_repository_is_not_entered(trees: Trees, tmp_path: Path):
    """As a submodule does that somebody fetches: the directory above it does not change by that."""
    app = make_repository(tmp_path / "app")
    (app / "vendor" / "library").mkdir(parents=True)
    look_until_trusted(trees, app)
    make_repository(app / "vendor" / "library")
    taken = trees.snapshot(app)
    assert taken.uncovered == (UncoveredPath("vendor/library/", "nested repository"),)
    assert b"vendor/library/README.md" not in trees.content(app, taken)


def test_a_repository_that_is_one_no_more_is_entered(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    make_repository(app / "vendor" / "library")
    assert look_until_trusted(trees, app).uncovered == (UncoveredPath("vendor/library/", "nested repository"),)
    shutil.rmtree(app / "vendor" / "library" / ".git")
    taken = trees.snapshot(app)
    assert taken.uncovered == ()
    assert b"vendor/library/README.md" in trees.content(app, taken)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_directory_that_cannot_be_opened_is_named_every_time(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    (app / "shut").mkdir()
    (app / "shut" / "x").write_text("x")
    look_until_trusted(trees, app)
    (app / "shut").chmod(0)
    os.utime(app / "shut")  # git compares whole seconds, and this test is quick
    named = []
    for number in range(20):
        (app / "changes").write_text(f"{number} of them\n")
        named.append(trees.snapshot(app).uncovered)
    (app / "shut").chmod(0o700)
    assert set(named) == {(UncoveredPath("shut/", "unreadable"),)}
    taken = trees.snapshot(app)
    assert (taken.uncovered, b"shut/x" in trees.content(app, taken)) == ((), True)


def test_the_index_is_dated_back_to_before_the_look_that_filled_the_cache(
    trees: Trees, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Git compares whole seconds: a file that came in the second of that look must not stay unseen."""
    monkeypatch.setattr(tree_stamp, "MOST_ENTRIES", 0)
    app = make_repository(tmp_path / "app")
    began = time.time()
    look_until_trusted(trees, app)
    (index,) = (tmp_path / "state" / "trees").glob("*/index")
    assert index.stat().st_mtime > began - 1, "git has written it"
    trees.snapshot(app)
    assert index.stat().st_mtime < began - 1


def test_the_cache_is_made_again_when_many_files_came(trees: Trees, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Each of them would be read again by every look."""
    monkeypatch.setattr(tree_stamp, "MOST_ENTRIES", 0)
    app = make_repository(tmp_path / "app")
    look_until_trusted(trees, app)
    for number in range(400):
        (app / f"new-{number}").write_text("new\n")
    trees.snapshot(app)
    (index,) = (tmp_path / "state" / "trees").glob("*/index")
    written = index.stat().st_mtime
    trees.snapshot(app)
    assert index.stat().st_mtime >= written


def test_rules_that_change_are_seen(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app", **{".gitignore": "*.log\n"})
    (app / "deep").mkdir()
    (app / "deep" / "a.log").write_text("a\n")
    look_until_trusted(trees, app)
    (app / ".gitignore").write_text("")
    assert b"deep/a.log" in trees.content(app, trees.snapshot(app))
    (app / "deep" / "b.tmp").write_text("b\n")
    (app / ".git" / "info" / "exclude").write_text("*.tmp\n")
    assert b"deep/b.tmp" not in trees.content(app, trees.snapshot(app))
    (app / ".git" / "info" / "exclude").write_text("")
    assert b"deep/b.tmp" in trees.content(app, trees.snapshot(app))


def test_an_index_whose_larger_part_is_gone_is_made_again(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    before = look_until_trusted(trees, app)
    (shared,) = (tmp_path / "state" / "trees").glob("*/sharedindex.*")
    shared.unlink()
    (app / "changes").write_text("after it\n")
    after = trees.snapshot(app)
    assert [file.path for file in trees.changes(app, before, after).files] == ["changes"]


def test_an_undo_leaves_no_index_behind(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    start = trees.snapshot(app)
    end = look_until_trusted(trees, app)
    before = list_indexes(tmp_path)
    carry_out(trees, app, plan(trees, app, (end, start)))
    assert list_indexes(tmp_path) == before


def list_indexes(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "state" / "trees").glob("*/*index*"))


def test_parts_of_an_index_that_nobody_uses_are_removed(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    look_until_trusted(trees, app)
    private = next((tmp_path / "state" / "trees").glob("*/index")).parent
    hours_ago = time.time() - 2 * 3600
    for name in ("sharedindex." + "0" * 40, "sharedindex_killed"):
        (private / name).write_text("left by a git that was killed")
        os.utime(private / name, (hours_ago, hours_ago))
    for number in range(20):
        (app / f"new-{number}").write_text("much has changed, so the index is written as a whole\n")
    restarted = Trees(tmp_path / "state")
    restarted.snapshot(app)
    restarted.close()
    assert not {"sharedindex." + "0" * 40, "sharedindex_killed"} & set(list_indexes(tmp_path))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rounds=st.lists(EDITS, min_size=3, max_size=6))
def test_a_daemon_that_has_looked_often_sees_what_a_new_one_sees(rounds):
    with TemporaryDirectory() as directory:
        app = make_repository(Path(directory).resolve() / "app")
        trees = Trees(app.parent / "state")
        for number, edits in enumerate(rounds):
            edit(app, edits)
            taken = trees.snapshot(app)
            fresh = Trees(app.parent / f"state-{number}")
            new = fresh.snapshot(app)
            assert trees.content(app, taken) == fresh.content(app, new)
            assert (taken.tree, taken.uncovered) == (new.tree, new.uncovered)
            fresh.close()
        trees.close()
