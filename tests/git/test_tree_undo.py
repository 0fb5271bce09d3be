"""Undo with the real git: random trees and random edits; afterwards the tree is the snapshot, byte by byte, and what a
person changed besides is still there."""

import asyncio
import os
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.core.trees import TreeSnapshot, UndoPlan
from fairlead.git.file_names import show_name
from fairlead.git.tree_files import WorkFiles, name_beside
from tests.git.harness import Trees, carry_out, files_below, git, make_repository, own_files_of, plan

pytestmark = pytest.mark.req("F4")

NAMES = ("a", "b", "new\nline", "\udcff", "-x", "dir")
PATHS = [*NAMES, *(f"d/{name}" for name in NAMES[:3]), *(f"dir/{name}" for name in NAMES[:3]), "d/e/f"]
EDITS = st.lists(
    st.tuples(
        st.sampled_from(PATHS),
        st.sampled_from(
            ["write", "write", "program", "link", "remove", "move", "ignored", "rules", "track", "untrack"]
        ),
        st.sampled_from([b"", b"one\n", b"two\r\n", b"\x00\xff", b"three\n" * 50]),
        st.sampled_from(PATHS),
    ),
    max_size=8,
)


def clear(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()


def make_room(root: Path, path: str) -> Path:
    """Whatever stands at the path, or above it as a file, goes."""
    for above in reversed(Path(path).parents[:-1]):
        if (root / above).is_symlink() or ((root / above).exists() and not (root / above).is_dir()):
            (root / above).unlink()
    clear(root / path)
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    return root / path


def edit(root: Path, edits: list[tuple[str, str, bytes, str]]) -> None:
    for path, what, data, other in edits:
        match what:
            case "write" | "program":
                target = make_room(root, path)
                target.write_bytes(data)
                target.chmod(0o755 if what == "program" else 0o644)
            case "link":
                make_room(root, path).symlink_to("a/b" if data else "nowhere")
            case "remove":
                clear(root / path)
            case "ignored":
                (root / "kept.log").write_bytes(data)
            case "rules":
                (root / ".gitignore").write_text({b"": "", b"one\n": "a\n*.log\n"}.get(data, "*.log\nd/\n"))
            case "track" if (root / ".git").exists() and (os.path.lexists(root / path) or data):
                tracked = path if os.path.lexists(root / path) and not data else "kept.log"
                git(root, "add", "-f", "--", tracked, codes=(0, 128))
            case "untrack" if (root / ".git").exists():
                git(root, "rm", "-q", "-r", "--cached", "--ignore-unmatch", "-f", "--", path if data else "kept.log")
            case "move" if path != other and (root / path).is_file() and not Path(other).is_relative_to(path):
                moved = (root / path).read_bytes()
                clear(root / path)
                make_room(root, other).write_bytes(moved)
            case _:
                pass


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(first=EDITS, second=EDITS, is_repository=st.booleans())
def test_after_undo_the_tree_is_the_snapshot_and_after_redo_it_is_as_before(first, second, is_repository):
    with TemporaryDirectory() as directory:
        app = Path(directory).resolve() / "app"
        trees = Trees(app.parent / "state")
        app.mkdir()
        if is_repository:
            make_repository(app)
        (app / ".gitignore").write_text("*.log\n")
        edit(app, first)
        before, start = files_below(app), trees.snapshot(app)
        covered = set(trees.content(app, start))
        edit(app, second)
        after, end = files_below(app), trees.snapshot(app)
        seen = {*covered, *trees.content(app, end)}
        own = own_files_of(app / ".git") if is_repository else {}
        undo = plan(trees, app, (end, start))
        if undo.conflicts:
            assert not {os.fsencode(path) for path in undo.conflicts} & covered, "only what was ignored is in the way"
            return
        assert carry_out(trees, app, undo) == ()
        left = {path for path in seen if show_name(os.fsdecode(path)) in undo.left}
        now = files_below(app)
        assert {k: v for k, v in now.items() if k in seen - left} == {
            k: v for k, v in before.items() if k in covered - left
        }
        assert {k: v for k, v in now.items() if k not in seen - left} == {
            k: v for k, v in after.items() if k not in seen - left
        }, "neither what is ignored nor what no snapshot has is touched"
        for path in before.keys() - covered:
            assert path in now or path not in after, "what was ignored before the turn is still there"
        if undo.after:
            in_both = trees.content(app, end).keys() & trees.content(app, trees.snapshot(app)).keys()
            redo = asyncio.run(trees.trees.plan_undo(str(app), [(undo.after, undo.before.commit)], "redo"))
            assert carry_out(trees, app, redo) == ()
            left = {path for path in now if show_name(os.fsdecode(path)) in redo.left}
            assert left.isdisjoint(in_both), "only what the turn's rules or those of now ignore is left"
            after |= {path: now[path] for path in left}
        assert files_below(app) == after
        assert (own_files_of(app / ".git") if is_repository else {}) == own
        trees.close()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(first=EDITS, second=EDITS, persons=EDITS)
def test_what_a_person_changed_since_is_never_lost(first, second, persons):
    """Either their edits are elsewhere, and stay; or the undo is refused, and nothing has changed at all."""
    with TemporaryDirectory() as directory:
        app = make_repository(Path(directory).resolve() / "app")
        trees = Trees(app.parent / "state")
        edit(app, first)
        before, start = files_below(app), trees.snapshot(app)
        edit(app, second)
        left_as, end = files_below(app), trees.snapshot(app)
        edit(app, persons)
        theirs = files_below(app)
        undo = plan(trees, app, (end, start))
        if undo.conflicts:
            assert files_below(app) == theirs
            return
        assert carry_out(trees, app, undo) == ()
        now = files_below(app)
        seen = {*trees.content(app, start), *trees.content(app, end)}
        seen -= {path for path in seen if show_name(os.fsdecode(path)) in undo.left}
        turned = {path for path in seen if before.get(path) != left_as.get(path)}
        ignored_by_turn = trees.content(app, start).keys() - trees.content(app, end)
        for path in {*theirs, *now} - turned:
            is_brought_back = path in ignored_by_turn and path not in theirs  # nobody knows who removed it
            assert now.get(path) == (before if is_brought_back else theirs).get(path)
        for path in turned:
            assert now.get(path) == before.get(path)
        trees.close()


def test_a_file_that_somebody_has_edited_since_is_refused_with_its_name(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app", **{"a.py": "1\n", "b.py": "1\n"})
    start = trees.snapshot(app)
    (app / "a.py").write_text("2\n")
    (app / "b.py").write_text("2\n")
    (app / "gone.py").write_text("new\n")
    end = trees.snapshot(app)
    (app / "b.py").write_text("mine\n")
    (app / "gone.py").unlink()
    assert plan(trees, app, (end, start)).conflicts == ("b.py",)


def test_a_redo_leaves_and_names_a_file_that_the_undo_brought_back_and_rules_ignore_now(trees: Trees, tmp_path: Path):
    """The turn took a log out of git and out of the rules. After the undo, the rules ignore it, and git has it not."""
    app = make_repository(tmp_path / "app", **{".gitignore": "*.log\n"})
    (app / "kept.log").write_text("before\n")
    git(app, "add", "-f", "kept.log")
    start = trees.snapshot(app)
    git(app, "rm", "-q", "--cached", "kept.log")
    (app / "kept.log").write_text("the turn's\n")
    (app / ".gitignore").write_text("")
    undo = plan(trees, app, (trees.snapshot(app), start))
    assert carry_out(trees, app, undo) == ()
    assert (app / "kept.log").read_text() == "before\n"
    redo = asyncio.run(trees.trees.plan_undo(str(app), [(undo.after, undo.before.commit)], "redo"))
    assert (redo.conflicts, redo.left) == ((), ("kept.log",))
    assert carry_out(trees, app, redo) == ()
    assert (app / "kept.log").read_text() == "before\n"
    assert (app / ".gitignore").read_text() == ""


def test_several_turns_go_back_one_after_the_other(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app", **{"a.py": "1\n"})
    snapshots = [trees.snapshot(app)]
    for number in (2, 3, 4):
        (app / "a.py").write_text(f"{number}\n")
        (app / f"{number}.py").write_text("new\n")
        snapshots.append(trees.snapshot(app))
    (app / "mine.py").write_text("a person's own\n")
    _, two, three, four = snapshots
    assert carry_out(trees, app, plan(trees, app, (four, three), (three, two))) == ()
    assert (app / "a.py").read_text() == "2\n"
    assert sorted(path.name for path in app.glob("*.py")) == ["2.py", "a.py", "mine.py"]
    assert plan(trees, app, (four, three)).after == "", "it is undone already"


def test_a_turn_in_the_middle_goes_back_alone_if_nothing_of_it_changed_since(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app", **{"a.py": "1\n", "b.py": "1\n"})
    first = trees.snapshot(app)
    (app / "a.py").write_text("2\n")
    second = trees.snapshot(app)
    (app / "b.py").write_text("2\n")
    trees.snapshot(app)
    assert carry_out(trees, app, plan(trees, app, (second, first))) == ()
    assert ((app / "a.py").read_text(), (app / "b.py").read_text()) == ("1\n", "2\n")


def test_a_directory_with_ignored_files_where_a_file_was_is_not_removed(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app", **{"a": "file\n", ".gitignore": "*.log\n"})
    start = trees.snapshot(app)
    (app / "a").unlink()
    (app / "a").mkdir()
    (app / "a" / "x").write_text("x\n")
    end = trees.snapshot(app)
    (app / "a" / "mine.log").write_text("mine\n")
    assert plan(trees, app, (end, start)).conflicts == ("a/mine.log",)
    (app / "a" / "mine.log").unlink()
    assert carry_out(trees, app, plan(trees, app, (end, start))) == ()
    assert (app / "a").read_text() == "file\n"


def test_a_file_of_somebody_where_a_directory_was_is_not_removed(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    (app / "d").mkdir()
    (app / "d" / "x").write_text("1\n")
    start = trees.snapshot(app)
    shutil.rmtree(app / "d")
    end = trees.snapshot(app)
    (app / "d").write_text("mine\n")
    assert plan(trees, app, (end, start)).conflicts == ("d",)


def test_a_link_put_in_the_way_leads_nowhere(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    (app / "d").mkdir()
    (app / "d" / "x").write_text("1\n")
    start = trees.snapshot(app)
    (app / "d" / "x").write_text("2\n")
    end = trees.snapshot(app)
    undo = plan(trees, app, (end, start))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x").write_text("2\n")
    shutil.rmtree(app / "d")
    (app / "d").symlink_to(elsewhere)
    assert carry_out(trees, app, undo) == ("d/x",)
    assert (elsewhere / "x").read_text() == "2\n"


def test_what_somebody_has_undone_by_hand_is_nothing_to_undo(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app", a="1\n")
    start = trees.snapshot(app)
    (app / "a").write_text("2\n")
    end = trees.snapshot(app)
    (app / "a").write_text("1\n")
    assert plan(trees, app, (end, start)).after == ""


def test_rights_of_a_file_stay(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app", a="1\n")
    (app / "a").chmod(0o660)
    start = trees.snapshot(app)
    (app / "a").write_text("2\n")
    end = trees.snapshot(app)
    carry_out(trees, app, plan(trees, app, (end, start)))
    assert (app / "a").stat().st_mode & 0o777 == 0o660


def test_an_undo_in_a_part_of_a_repository_and_with_sha256(tmp_path: Path):
    trees = Trees(tmp_path / "state")
    part = make_repository(tmp_path / "mono", "--object-format=sha256") / "part"
    part.mkdir()
    (part / "a").write_text("1\n")
    start = trees.snapshot(part)
    (part / "a").write_text("2\n")
    (part / "b").write_text("2\n")
    end = trees.snapshot(part)
    undo = plan(trees, part, (end, start))
    assert [file.path for file in undo.files] == ["a", "b"]
    carry_out(trees, part, undo)
    assert files_below(part) == {b"a": ("100644", b"1\n")}
    trees.close()


class Killed(BaseException):
    pass


def test_killed_between_any_two_steps_it_is_finished_by_the_next_attempt(trees: Trees, tmp_path: Path, monkeypatch):
    """Every call that changes the disk may be the last one of a process."""
    app = make_repository(tmp_path / "app", a="1\n", b="1\n", c="1\n")
    (app / "d").mkdir()
    (app / "d" / "x").write_text("1\n")
    before, start = files_below(app), trees.snapshot(app)
    (app / "a").write_text("2\n")
    (app / "b").unlink()
    (app / "b").mkdir()
    (app / "b" / "in").write_text("2\n")
    (app / "c").unlink()
    shutil.rmtree(app / "d")
    (app / "d").symlink_to("a")
    (app / "new").write_text("2\n")
    end = trees.snapshot(app)
    undo = plan(trees, app, (end, start))
    steps = 0
    while True:
        with monkeypatch.context() as patched:
            kill_after(steps, patched)
            try:
                carry_out(trees, app, undo)
                break
            except Killed:
                pass
        assert carry_out(trees, app, undo) == ()
        assert files_below(app) == before
        assert carry_out(trees, app, UndoPlan(before=TreeSnapshot(undo.after, ""), after=undo.before.commit)) == ()
        steps += 1
    assert steps > 10
    assert files_below(app) == before


def kill_after(steps: int, patched: pytest.MonkeyPatch) -> None:
    left = [steps]
    for name in ("unlink", "rmdir", "mkdir", "symlink", "replace", "open", "write", "fsync"):
        real = getattr(os, name)

        def step(*args, real=real, name=name, **more):
            if name == "open" and (more.get("dir_fd") is None or not args[1] & os.O_CREAT):
                return real(*args, **more)
            if name in {"unlink", "write", "rmdir", "replace"} and more == {} and name != "write":
                return real(*args, **more)  # git's own bookkeeping in the state directory
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return real(*args, **more)

        patched.setattr(os, name, step)


def test_a_file_that_a_killed_write_left_is_removed(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app", a="1\n")
    start = trees.snapshot(app)
    (app / "a").write_text("2\n")
    end = trees.snapshot(app)
    undo = plan(trees, app, (end, start))
    (app / name_beside("a")).write_text("ha")
    (app / "a").write_text("somebody's\n")
    assert carry_out(trees, app, undo) == ("a",)
    assert sorted(path.name for path in app.iterdir()) == [".git", "README.md", "a"]


def test_nothing_is_compared_by_mode_where_the_disk_has_none(tmp_path: Path):
    (tmp_path / "a").write_text("1\n")
    files = WorkFiles(str(tmp_path), "sha1", has_modes=False)
    found = files.find("a")
    (tmp_path / "a").chmod(0o755)
    assert files.is_like(files.find("a"), found)
