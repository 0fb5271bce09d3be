"""Snapshots of real work trees: what they hold, what they name and leave out, and what of the person's git they leave
as it is."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from fairlead.core.trees import UncoveredPath
from fairlead.errors import Code, FairleadError
from tests.git.harness import PERSON, Trees, files_below, git, make_repository, own_files_of

pytestmark = pytest.mark.req("F1")


def test_a_snapshot_holds_untracked_files_and_no_ignored_ones(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app", **{".gitignore": "*.log\nbuild/\n"})
    (app / "new.py").write_text("print()\n")
    (app / "noise.log").write_text("x")
    (app / "build").mkdir()
    (app / "build" / "out").write_text("x")
    taken = trees.snapshot(app)
    assert sorted(trees.content(app, taken)) == [b".gitignore", b"README.md", b"new.py"]


def test_the_snapshot_is_a_commit_without_parent_on_a_ref_of_ours(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    first = trees.snapshot(app)
    (app / "more").write_text("x")
    second = trees.snapshot(app)
    refs = git(app, "for-each-ref", "--format=%(refname) %(objectname) %(objecttype)", "refs/fairlead")
    assert refs.splitlines() == [
        f"refs/fairlead/test/job_1/start {first.commit} commit",
        f"refs/fairlead/test/job_2/start {second.commit} commit",
    ]
    assert git(app, "rev-list", second.commit).split() == [second.commit]
    assert git(app, "log", "-1", "--format=%an <%ae> %s", second.commit) == "Fairlead <fairlead@localhost> a label\n"


def test_files_that_did_not_change_are_the_same_snapshot(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    first = trees.snapshot(app)
    (app / "README.md").write_text("hello\n")  # touched, with the same bytes
    assert trees.snapshot(app) == first


def test_nothing_of_the_persons_own_git_changes(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    git(app, "config", "commit.gpgSign", "true")
    git(app, "config", "user.signingKey", "nobody")
    hook = app / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\n")
    hook.chmod(0o755)
    (app / "stashed").write_text("s")
    git(app, "-c", "core.hooksPath=/dev/null", "stash", "-u")
    (app / "staged").write_text("x")
    git(app, "add", "staged")
    (app / "README.md").write_text("edited\n")
    before, branch = own_files_of(app / ".git"), git(app, "rev-parse", "HEAD")
    trees.snapshot(app)
    (app / "later").write_text("x")
    trees.snapshot(app)
    assert own_files_of(app / ".git") == before
    assert not (tmp_path / "hook-ran").exists()
    assert git(app, "rev-parse", "HEAD") == branch
    assert git(app, "status", "--porcelain") == " M README.md\nA  staged\n?? later\n"


def test_a_project_that_is_no_repository_has_its_snapshots_in_the_state_directory(trees: Trees, tmp_path: Path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("a")
    (notes / ".gitignore").write_text("secret\n")
    (notes / "secret").write_text("s")
    taken = trees.snapshot(notes)
    assert sorted(trees.content(notes, taken)) == [b".gitignore", b"a.txt"]
    assert sorted(path.name for path in notes.iterdir()) == [".gitignore", "a.txt", "secret"]


def test_an_empty_project_has_a_snapshot(trees: Trees, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    taken = trees.snapshot(tmp_path / "empty")
    assert trees.content(tmp_path / "empty", taken) == {}
    repository = tmp_path / "unborn"
    repository.mkdir()
    git(repository, "init", "-q")
    assert trees.content(repository, trees.snapshot(repository)) == {}


def test_nested_repositories_and_submodules_are_named_and_not_entered(trees: Trees, tmp_path: Path):
    library = make_repository(tmp_path / "library")
    app = make_repository(tmp_path / "app")
    git(app, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "vendor/library")
    git(app, "commit", "-q", "-m", "submodule")
    git(app / "vendor" / "library", "config", "core.fsmonitor", f"touch {tmp_path}/ran; false")
    make_repository(app / "nested")
    unborn = app / "unborn"
    unborn.mkdir()
    git(unborn, "init", "-q")
    (unborn / "x").write_text("x")
    taken = trees.snapshot(app)
    assert taken.uncovered == (
        UncoveredPath("nested/", "nested repository"),
        UncoveredPath("unborn/", "nested repository"),
        UncoveredPath("vendor/library/", "nested repository"),
    )
    assert sorted(trees.content(app, taken)) == [b".gitmodules", b"README.md"]
    (app / "vendor" / "library" / "README.md").write_text("changed inside\n")
    assert trees.snapshot(app) == taken
    assert not (tmp_path / "ran").exists()


def test_a_directory_that_becomes_a_repository_keeps_its_known_files_covered(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    (app / "part").mkdir()
    (app / "part" / "a").write_text("a")
    trees.snapshot(app)
    git(app / "part", "init", "-q")
    (app / "part" / "a").write_text("b")
    taken = trees.snapshot(app)
    assert trees.content(app, taken)[b"part/a"] == ("100644", b"b")


def test_bytes_are_stored_as_they_are_whatever_converts_them_elsewhere(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    git(app, "config", "core.autocrlf", "true")
    git(app, "config", "filter.lfs.clean", f"touch {tmp_path}/ran; echo pointer")
    git(app, "config", "filter.lfs.required", "true")
    (app / ".gitattributes").write_text(
        "*.bin filter=lfs diff=lfs -text\n*.c ident\n*.u working-tree-encoding=UTF-16\n* eol=crlf\n"
    )
    (app / "big.bin").write_bytes(b"\x00\x01raw")
    (app / "dos.txt").write_bytes(b"a\r\nb\r\n")
    (app / "mixed.txt").write_bytes(b"a\r\nb\n")
    (app / "id.c").write_bytes(b"$Id: not mine $\n")
    (app / "wide.u").write_bytes("\ufeffhé\n".encode("utf-16-le"))
    assert trees.content(app, trees.snapshot(app)) == files_below(app)
    assert not (tmp_path / "ran").exists()


def test_links_modes_and_odd_names(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    (app / "run.sh").write_text("#!/bin/sh\n")
    (app / "run.sh").chmod(0o755)
    (app / "link").symlink_to("README.md")
    (app / "dangling").symlink_to("nowhere/at/all")
    (app / "out").symlink_to("/etc")
    for name in (
        b"two\nlines",
        b"tab\t",
        b'quo"te',
        b"-option",
        b":(top)x",
        b"\xff\xfe",
        b" spaces ",
        "ü".encode(),
        b"*",
    ):
        (app / os.fsdecode(name)).write_bytes(name)
    os.mkfifo(app / "pipe")
    assert trees.content(app, trees.snapshot(app)) == files_below(app)
    (app / "run.sh").chmod(0o644)
    (app / "two\nlines").unlink()
    before, after = trees.snapshot(app), trees.snapshot(app)
    assert before == after
    assert trees.content(app, after) == files_below(app)


def test_a_file_becomes_a_directory_and_a_directory_a_link(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    (app / "dir").mkdir()
    (app / "dir" / "x").write_text("x")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x").write_text("not of this project")
    trees.snapshot(app)
    (app / "README.md").unlink()
    (app / "README.md").mkdir()
    (app / "README.md" / "in").write_text("in")
    shutil.rmtree(app / "dir")
    (app / "dir").symlink_to(elsewhere)
    assert trees.content(app, trees.snapshot(app)) == files_below(app)
    (app / "dir").unlink()
    shutil.rmtree(app / "README.md")
    (app / "README.md").write_text("a file again")
    assert trees.content(app, trees.snapshot(app)) == files_below(app)


def test_a_file_over_the_limit_is_named_and_not_stored(tmp_path: Path):
    trees = Trees(tmp_path / "state", largest=100)
    app = make_repository(tmp_path / "app")
    (app / "large").write_bytes(b"x" * 101)
    (app / "grows").write_bytes(b"x")
    first = trees.snapshot(app)
    assert first.uncovered == (UncoveredPath("large", "too large"),)
    (app / "grows").write_bytes(b"x" * 200)
    (app / "large").write_bytes(b"x" * 50)
    second = trees.snapshot(app)
    assert second.uncovered == (UncoveredPath("grows", "too large"),)
    assert sorted(trees.content(app, second)) == [b"README.md", b"large"]
    trees.close()


def test_more_new_bytes_than_a_snapshot_may_store_are_refused(tmp_path: Path):
    trees = Trees(tmp_path / "state", most_new=1024)
    app = make_repository(tmp_path / "app")
    (app / "new").write_bytes(os.urandom(2048))
    with pytest.raises(FairleadError, match="MB of files are new") as refused:
        trees.snapshot(app)
    assert refused.value.code is Code.E_SNAPSHOT
    trees.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_read_is_named(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    (app / "closed").write_text("x")
    (app / "closed").chmod(0)
    (app / "shut").mkdir()
    (app / "shut" / "x").write_text("x")
    (app / "shut").chmod(0)
    taken = trees.snapshot(app)
    (app / "shut").chmod(0o700)
    assert taken.uncovered == (UncoveredPath("closed", "unreadable"), UncoveredPath("shut/", "unreadable"))


def in_a_merge(app: Path) -> None:
    git(app, "merge", "-q", "other", codes=(1,))


def in_a_rebase(app: Path) -> None:
    git(app, "rebase", "-q", "other", codes=(1,))


@pytest.mark.parametrize("begin", [in_a_merge, in_a_rebase])
def test_a_repository_in_the_middle_of_something_stays_there(trees: Trees, tmp_path: Path, begin):
    app = make_repository(tmp_path / "app")
    git(app, "checkout", "-q", "-b", "other")
    (app / "README.md").write_text("theirs\n")
    git(app, "commit", "-q", "-a", "-m", "theirs")
    git(app, "checkout", "-q", "main")
    (app / "README.md").write_text("ours\n")
    git(app, "commit", "-q", "-a", "-m", "ours")
    begin(app)
    before, status = own_files_of(app / ".git"), git(app, "status", "--porcelain")
    taken = trees.snapshot(app)
    assert trees.content(app, taken) == files_below(app)
    assert b"<<<<<<<" in trees.content(app, taken)[b"README.md"][1]
    assert own_files_of(app / ".git") == before
    assert git(app, "status", "--porcelain") == status


def test_a_linked_worktree_has_its_refs_in_the_common_repository(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    git(app, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side" / "new").write_text("x")
    taken = trees.snapshot(tmp_path / "side")
    assert trees.content(tmp_path / "side", taken) == files_below(tmp_path / "side")
    assert git(app, "rev-parse", "refs/fairlead/test/job_1/start").strip() == taken.commit
    assert trees.snapshot(app).commit != taken.commit


def test_a_repository_with_sha256_names(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app", "--object-format=sha256")
    first = trees.snapshot(app)
    (app / "README.md").write_text("changed\n")
    second = trees.snapshot(app)
    assert len(second.commit) == 64
    assert [file.path for file in trees.changes(app, first, second).files] == ["README.md"]


def test_a_project_in_a_part_of_a_repository_covers_that_part_with_the_rules_from_above(trees: Trees, tmp_path: Path):
    mono = make_repository(tmp_path / "mono", **{".gitignore": "*.log\n"})
    part = mono / "packages" / "api"
    part.mkdir(parents=True)
    (part / "a.py").write_text("a\n")
    (part / "x.log").write_text("x")
    first = trees.snapshot(part)
    (mono / "elsewhere").write_text("not of this project")
    assert trees.snapshot(part) == first
    (part / "a.py").write_text("b\n")
    changes = trees.changes(part, first, trees.snapshot(part))
    assert [file.path for file in changes.files] == ["a.py"]
    assert changes.diff.startswith("diff --git a/a.py b/a.py\n")


def test_a_repository_above_that_ignores_the_project_has_nothing_to_do_with_it(trees: Trees, tmp_path: Path):
    home = make_repository(tmp_path / "dotfiles")
    (home / ".gitignore").write_text("/*\n")
    project = home / "project"
    project.mkdir()
    (project / "a").write_text("a")
    assert sorted(trees.content(project, trees.snapshot(project))) == [b"a"]
    assert git(home, "for-each-ref", "refs/fairlead") == ""


def test_a_bare_repository_has_no_files_to_take(trees: Trees, tmp_path: Path):
    bare = tmp_path / "bare"
    bare.mkdir()
    git(bare, "init", "-q", "--bare")
    with pytest.raises(FairleadError) as refused:
        trees.snapshot(bare)
    assert refused.value.code is Code.E_SNAPSHOT


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_repository_of_another_user(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    for path in (app, *app.rglob("*")):
        os.lchown(path, 65534, 65534)
    assert trees.content(app, trees.snapshot(app)) == files_below(app)


def test_a_repository_that_borrows_objects_from_another(trees: Trees, tmp_path: Path):
    first = make_repository(tmp_path / "first")
    git(tmp_path, "clone", "-q", "--shared", str(first), "second")
    assert trees.content(tmp_path / "second", trees.snapshot(tmp_path / "second")) == files_below(tmp_path / "second")


def test_a_project_that_becomes_a_repository_in_between(trees: Trees, tmp_path: Path):
    app = tmp_path / "app"
    app.mkdir()
    (app / "a").write_text("a\n")
    first = trees.snapshot(app)
    git(app, "init", "-q")
    (app / "a").write_text("b\n")
    second = trees.snapshot(app)
    assert [file.path for file in trees.changes(app, first, second).files] == ["a"]
    git(app, "fsck", "--strict")
    git(app, "gc", "-q", "--prune=now")
    shutil.rmtree(app / ".git")
    third = trees.snapshot(app)
    assert third.tree == second.tree
    assert trees.changes(app, first, third).files[0].path == "a"


def test_the_persons_gc_keeps_snapshots_and_removed_refs_are_noticed(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    (app / "new").write_text("x\n")
    first = trees.snapshot(app)
    (app / "new").write_text("y\n")
    second = trees.snapshot(app)
    git(app, "gc", "-q", "--prune=now")
    assert trees.changes(app, first, second).files[0].added == 1
    for ref in git(app, "for-each-ref", "--format=%(refname)", "refs/fairlead").split():
        git(app, "update-ref", "-d", ref)
    git(app, "gc", "-q", "--prune=now")
    with pytest.raises(FairleadError) as gone:
        trees.changes(app, first, second)
    assert gone.value.code is Code.E_SNAPSHOT_GONE
    again = trees.snapshot(app)
    assert (again.tree, trees.content(app, again)) == (second.tree, files_below(app))


def test_a_restarted_daemon_goes_on_with_the_index_of_the_last_one(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    first = trees.snapshot(app)
    (private,) = (tmp_path / "state" / "trees").iterdir()
    (private / "index.lock").write_text("")  # what a killed git left
    later = Trees(tmp_path / "state")
    assert later.snapshot(app) == first
    later.close()


def test_the_rules_of_ignoring_that_the_person_has_for_everything(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/ignored\n")
    (home / "ignored").write_text(".DS_Store\n")
    trees = Trees(tmp_path / "state", home=home)
    app = make_repository(tmp_path / "app")
    (app / ".git" / "info").mkdir(exist_ok=True)
    (app / ".git" / "info" / "exclude").write_text("scratch/\n")
    (app / "scratch").mkdir()
    (app / "scratch" / "x").write_text("x")
    (app / ".DS_Store").write_text("x")
    assert sorted(trees.content(app, trees.snapshot(app))) == [b"README.md"]
    (app / ".git" / "info" / "exclude").write_text("# nothing\n")
    assert sorted(trees.content(app, trees.snapshot(app))) == [b"README.md", b"scratch/x"]
    trees.close()


def test_a_state_directory_inside_of_the_project_is_no_part_of_it(tmp_path: Path):
    app = make_repository(tmp_path / "a[b] c")
    trees = Trees(app / "my state")
    shutil.rmtree(app / "home")
    assert sorted(trees.content(app, trees.snapshot(app))) == [b"README.md"]
    trees.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
def test_a_full_disk_is_said_and_the_next_snapshot_works_again(trees: Trees, tmp_path: Path):
    small = tmp_path / "small"
    small.mkdir()
    assert os.system(f"mount -t tmpfs -o size=600k tmpfs {small}") == 0
    try:
        app = make_repository(small / "app")
        first = trees.snapshot(app)
        (tmp_path / "outside").write_bytes(os.urandom(3_000_000))
        for number in range(40):
            (app / f"f{number}").symlink_to("x" * 200)
        (small / "filler").write_bytes(b"x" * (os.statvfs(small).f_bavail * os.statvfs(small).f_bsize - 8192))
        with pytest.raises(FairleadError) as full:
            trees.snapshot(app)
        assert full.value.code is Code.E_DISK_FULL
        (small / "filler").unlink()
        assert trees.snapshot(app).tree != first.tree
        assert trees.content(app, trees.snapshot(app)) == files_below(app)
        git(app, "fsck", "--strict")
    finally:
        assert os.system(f"umount {small}") == 0


def test_snapshots_that_nobody_needs_are_given_up(trees: Trees, tmp_path: Path):
    app, notes = make_repository(tmp_path / "app"), tmp_path / "notes"
    notes.mkdir()
    trees.snapshot(app)
    (app / "x").write_text("x")
    second = trees.snapshot(app)
    trees.snapshot(notes)
    git(app, "update-ref", "refs/fairlead/other/job_1/start", "HEAD")
    asyncio.run(trees.trees.keep_only("test", {str(app): {"test/job_2/start": second.commit, "test/x": "0" * 40}}))
    assert git(app, "for-each-ref", "--format=%(refname)", "refs/fairlead").split() == [
        "refs/fairlead/other/job_1/start",
        "refs/fairlead/test/job_2/start",
    ]
    assert len(list((tmp_path / "state" / "trees").iterdir())) == 1
    assert trees.snapshot(notes).tree


def test_a_snapshot_that_a_crash_left_without_its_name_gets_it(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    taken = trees.snapshot(app)
    git(app, "update-ref", "-d", "refs/fairlead/test/job_1/start")
    asyncio.run(trees.trees.keep_only("test", {str(app): {"test/job_1/start": taken.commit, "test/x": "0" * 40}}))
    shown = git(app, "for-each-ref", "--format=%(objectname) %(refname)", "refs/fairlead")
    assert shown.split() == [taken.commit, "refs/fairlead/test/job_1/start"]


def our_refs(app: Path) -> list[str]:
    return git(app, "for-each-ref", "--format=%(refname)", "refs/fairlead").split()


def test_projects_with_one_repository_keep_each_others_snapshots(trees: Trees, tmp_path: Path):
    """A worktree, and a part of a repository, have their refs where the whole has its own."""
    app, tree = make_repository(tmp_path / "app"), tmp_path / "tree"
    git(app, "worktree", "add", "-q", str(tree), "-b", "x")
    (app / "part").mkdir()
    (app / "part" / "c").write_text("3")
    (tree / "b").write_text("2")
    taken = {str(path): trees.snapshot(path) for path in (app, tree, app / "part")}
    needed = {
        path: {f"test/job_{number}/start": taken[path].commit} for number, path in enumerate(taken, 1) if number < 3
    }
    asyncio.run(trees.trees.keep_only("test", needed))
    assert our_refs(app) == ["refs/fairlead/test/job_1/start", "refs/fairlead/test/job_2/start"]


def test_a_worktree_that_is_gone_leaves_no_refs_behind(trees: Trees, tmp_path: Path):
    app, tree = make_repository(tmp_path / "app"), tmp_path / "tree"
    git(app, "worktree", "add", "-q", str(tree), "-b", "x")
    before = trees.snapshot(tree)
    (tree / "b").write_text("2\n")
    after = trees.snapshot(tree)
    git(app, "worktree", "remove", "--force", str(tree))
    assert [file.path for file in trees.changes(tree, before, after).files] == ["b"], "it is still shown"
    (cost,) = asyncio.run(trees.trees.costs())
    assert (cost.project_path, cost.refs) == (str(tree), 2)
    with pytest.raises(FairleadError, match="is not there any more"):
        trees.snapshot(tree)
    asyncio.run(trees.trees.keep(str(tree), {"test/job_3/end": after.commit}))
    assert "refs/fairlead/test/job_3/end" in our_refs(app), "discarded right after its turn"
    restarted = Trees(tmp_path / "state")
    asyncio.run(restarted.trees.keep_only("test", {str(tree): {"test/job_1/start": before.commit}}))
    assert our_refs(app) == ["refs/fairlead/test/job_1/start"]
    asyncio.run(restarted.trees.keep_only("test", {}))
    assert our_refs(app) == []
    assert list((tmp_path / "state" / "trees").iterdir()) == []
    restarted.close()


def test_a_project_that_is_gone_with_its_repository_is_forgotten(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    trees.snapshot(app)
    shutil.rmtree(app)
    asyncio.run(trees.trees.keep_only("test", {}))
    assert list((tmp_path / "state" / "trees").iterdir()) == []


def test_a_repository_that_projects_share_is_counted_once(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    (app / "part").mkdir()
    (app / "part" / "c").write_text("3")
    trees.snapshot(app)
    trees.snapshot(app / "part")
    whole, part = asyncio.run(trees.trees.costs())
    assert (whole.refs, whole.counted_for) == (2, "")
    assert (part.refs, part.project_bytes, part.counted_for) == (0, 0, str(app))
    assert part.own_bytes


def test_a_look_at_the_costs_disturbs_no_snapshot_that_is_being_taken(trees: Trees, tmp_path: Path):
    """Another process asks: `fairlead doctor`."""
    trees.snapshot(make_repository(tmp_path / "app"))
    (private,) = (tmp_path / "state" / "trees").iterdir()
    (private / "index.lock").touch()
    other = Trees(tmp_path / "state")
    assert [cost.refs for cost in asyncio.run(other.trees.costs())] == [1]
    assert (private / "index.lock").exists()
    other.close()


def test_costs_name_what_is_there_for_snapshots_alone(trees: Trees, tmp_path: Path):
    app = make_repository(tmp_path / "app")
    (app / "big").write_bytes(os.urandom(200_000))
    trees.snapshot(app)
    (cost,) = asyncio.run(trees.trees.costs())
    assert (cost.project_path, cost.refs) == (str(app), 1)
    assert 200_000 < cost.project_bytes < 300_000
    git(app, "add", "-A")
    git(app, "commit", "-q", "-m", "big")
    (cost,) = asyncio.run(trees.trees.costs())
    assert cost.project_bytes < 1000


def test_the_harness_sees_what_a_person_would(tmp_path: Path):
    assert "HOME" in PERSON
    app = make_repository(tmp_path / "app")
    assert files_below(app) == {b"README.md": ("100644", b"hello\n")}
