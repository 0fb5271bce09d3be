"""What changed between two snapshots: files with their lines, renames, binary files, and the diff."""

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.core.trees import FileChange, TreeChanges, summarise
from fairlead.git import tree_diff
from tests.git.harness import Trees, git, make_repository

pytestmark = pytest.mark.req("F2")


def test_files_with_their_lines_renames_and_binary_files(trees: Trees, tmp_path: Path):
    app = make_repository(
        tmp_path / "app", **{"a.py": "one\ntwo\nthree\n", "old.txt": "1\n2\n3\n4\n5\n6\n", "run": "x\n"}
    )
    (app / "picture").write_bytes(bytes(range(256)))
    before = trees.snapshot(app)
    (app / "a.py").write_text("one\n2\nthree\nfour\n")
    (app / "old.txt").rename(app / "new\nname")
    (app / "picture").write_bytes(bytes(range(255)) + b"\0\0")
    (app / "README.md").unlink()
    (app / "run").chmod(0o755)
    (app / "added").write_text("x\n")
    (app / os.fsdecode(b"\xff")).write_text("y\n")
    changes = trees.changes(app, before, trees.snapshot(app))
    assert changes.files == (
        FileChange(path="README.md", kind="deleted", removed=1),
        FileChange(path="a.py", kind="modified", added=2, removed=1),
        FileChange(path="added", kind="added", added=1),
        FileChange(path="new\\nname", kind="renamed", old_path="old.txt"),
        FileChange(path="picture", kind="modified", is_binary=True),
        FileChange(path="run", kind="modified"),
        FileChange(path="\\xff", kind="added", added=1),
    )
    assert "\n-two\n+2\n three\n+four\n" in changes.diff
    assert 'rename from old.txt\nrename to "new\\nname"\n' in changes.diff
    assert "old mode 100644\nnew mode 100755\n" in changes.diff
    assert "Binary files a/picture and b/picture differ\n" in changes.diff
    assert summarise(changes.files, 2).total == 7


def test_a_diff_that_applies_is_what_people_get(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app", **{"a.py": "one\ntwo\n"})
    before = trees.snapshot(app)
    (app / "a.py").write_text("one\n2\n")
    (app / "b.py").write_text("no line end")
    diff = trees.changes(app, before, trees.snapshot(app)).diff
    git(app, "checkout", "-q", "--", "a.py")
    (app / "b.py").unlink()
    git(app, "apply", stdin=diff)
    assert ((app / "a.py").read_text(), (app / "b.py").read_text()) == ("one\n2\n", "no line end")


LINES = st.lists(
    st.sampled_from(
        ["", "one", "-- a", "++ b", "@@ -1 +1 @@", "diff --git a/a b/a", "Binary files a", "x\r", "\0", "end"]
    ),
    max_size=6,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(LINES, LINES, st.booleans(), st.booleans()), min_size=1, max_size=4))
def test_lines_are_counted_as_git_counts_them(changed: list[tuple[list[str], list[str], bool, bool]]):
    """Whatever the files say, become (a link, nothing) or are called."""
    names = ["a", "b\nname", "diff --git c", "d e"]
    with TemporaryDirectory() as directory:
        app = make_repository(Path(directory).resolve() / "app")
        trees = Trees(app.parent / "state")
        for name, (old, _, _, _) in zip(names, changed, strict=False):
            (app / name).write_text("\n".join(old))
        before = trees.snapshot(app)
        for name, (_, new, is_gone, is_link) in zip(names, changed, strict=False):
            (app / name).unlink()
            if is_link:
                (app / name).symlink_to("somewhere")
            elif not is_gone:
                (app / name).write_text("\n".join(new))
        after = trees.snapshot(app)
        shown = trees.changes(app, before, after)
        assert shown.files == asyncio.run(trees.trees.list_changes(str(app), before.commit, after.commit))
        trees.close()


def test_nothing_changed(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    taken = trees.snapshot(app)
    assert trees.changes(app, taken, taken) == TreeChanges()


def test_a_very_long_diff_is_cut_at_a_line_and_the_list_is_whole(trees: Trees, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(tree_diff, "MOST_DIFF", 60_000)
    app = make_repository(tmp_path / "app")
    before = trees.snapshot(app)
    for number in range(300):
        (app / f"f{number:03}").write_text("line of text\n" * 500)
    changes = trees.changes(app, before, trees.snapshot(app))
    assert (len(changes.files), changes.is_cut) == (300, True)
    assert changes.diff.endswith("\n")


def test_no_program_of_the_project_makes_the_diff(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app", **{"a.py": "one\n", ".gitattributes": "*.py diff=mine\n"})
    git(app, "config", "diff.external", f"touch {tmp_path}/ran; echo")
    git(app, "config", "diff.mine.textconv", f"touch {tmp_path}/ran; echo")
    git(app, "config", "diff.mine.command", f"touch {tmp_path}/ran; echo")
    before = trees.snapshot(app)
    (app / "a.py").write_text("two\n")
    assert "-one\n+two\n" in trees.changes(app, before, trees.snapshot(app)).diff
    assert not (tmp_path / "ran").exists()
