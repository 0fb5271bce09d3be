"""A person's own repositories, made with the real git and a configuration of their own."""

import asyncio
import os
import stat
import subprocess
from pathlib import Path

from fairlead.core.trees import TreeChanges, TreeSnapshot, UndoPlan
from fairlead.git.command import Git, GitCalls
from fairlead.git.private_repository import PrivateRepository
from fairlead.git.tree_status import FileLimits
from fairlead.git.work_trees import GitWorkTrees

PERSON = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "HOME": os.devnull,
}


def git(directory: Path, *arguments: str, stdin: str = "", codes: tuple[int, ...] = (0,)) -> str:
    """What the person types; gives what git prints."""
    ran = subprocess.run(
        ["git", *arguments],
        cwd=directory,
        env=PERSON,
        input=os.fsencode(stdin),
        capture_output=True,
        check=False,
    )
    assert ran.returncode in codes, ran.stderr.decode(errors="replace")
    return os.fsdecode(ran.stdout)


def make_repository(directory: Path, *options: str, **files: str) -> Path:
    """A repository with one commit of these files."""
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "-q", "-b", "main", *options)
    for name, text in {"README.md": "hello\n", **files}.items():
        (directory / name).write_text(text)
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "-m", "first")
    return directory


class Trees:
    """The work trees of one daemon, asked as the flow asks them, but without waiting."""

    def __init__(self, state_dir: Path, *, home: Path | None = None, **limits: int) -> None:
        self.home = home or state_dir.parent / "home"
        self.home.mkdir(exist_ok=True)
        self.git = Git(os.environ)
        self.trees = GitWorkTrees(self.git, state_dir, limits=FileLimits(**limits), home=self.home)
        self.snapshots = 0

    def close(self) -> None:
        self.git.close()

    def snapshot(self, project: Path) -> TreeSnapshot:
        """Taken and kept."""
        self.snapshots += 1
        name = f"test/job_{self.snapshots}/start"

        async def take() -> TreeSnapshot:
            taken = await self.trees.snapshot(str(project), "a label")
            assert taken is not None
            await self.trees.keep(str(project), {name: taken.commit})
            return taken

        return asyncio.run(take())

    def changes(self, project: Path, before: TreeSnapshot, after: TreeSnapshot) -> TreeChanges:
        return asyncio.run(self.trees.show_changes(str(project), before.commit, after.commit))

    def content(self, project: Path, snapshot: TreeSnapshot) -> dict[bytes, tuple[str, bytes]]:
        """Every file of a snapshot with its mode and its bytes, by its path from the root of the work tree."""

        def read(calls: GitCalls, repository: PrivateRepository) -> dict[bytes, tuple[str, bytes]]:
            place = repository.reading_place
            listed = calls.run(["ls-tree", "-r", "-z", snapshot.commit], place=place).stdout
            entries = [entry.partition(b"\t") for entry in listed.split(b"\0") if entry]
            found: dict[bytes, tuple[str, bytes]] = {}
            for about, _, path in entries:
                mode, _, name = about.decode().split()
                found[path] = (mode, calls.run(["cat-file", "blob", name], place=place).stdout)
            return found

        return asyncio.run(self.trees.work(str(project), read))


def plan(trees: Trees, app: Path, *steps: tuple[TreeSnapshot, TreeSnapshot]) -> UndoPlan:
    named = [(end.commit, start.commit) for end, start in steps]
    return asyncio.run(trees.trees.plan_undo(str(app), named, "undo"))


def carry_out(trees: Trees, app: Path, planned: UndoPlan) -> tuple[str, ...]:
    assert planned.conflicts == ()
    if not planned.after:
        return ()
    return asyncio.run(trees.trees.restore(str(app), planned.before.commit, planned.after))


def files_below(directory: Path, *, without: tuple[str, ...] = (".git",)) -> dict[bytes, tuple[str, bytes]]:
    """What a snapshot of this directory should hold."""
    found: dict[bytes, tuple[str, bytes]] = {}
    for path in directory.rglob("*"):
        below = path.relative_to(directory)
        if set(below.parts) & set(without):
            continue
        kind = path.lstat().st_mode
        if stat.S_ISLNK(kind):
            found[os.fsencode(below)] = ("120000", os.fsencode(path.readlink()))
        elif stat.S_ISREG(kind):
            found[os.fsencode(below)] = ("100755" if kind & stat.S_IXUSR else "100644", path.read_bytes())
    return found


def own_files_of(repository: Path) -> dict[str, bytes]:
    """What of a repository's own directory must stay as it is: all but objects and our refs."""
    return {
        str(path.relative_to(repository)): path.read_bytes()
        for path in sorted(repository.rglob("*"))
        if path.is_file() and path.relative_to(repository).parts[0] != "objects" and "fairlead" not in path.parts
    }
