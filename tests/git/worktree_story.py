"""A repository, a worktree of it as the state would have it, and git that is killed between two steps."""

import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fairlead.core.ids import SessionKeyText
from fairlead.core.worktrees import KeptWork, MadeWorktree, MergeResult, Worktree, WorktreeWork
from fairlead.git.command import Git, GitCalls, GitOutput, GitPlace
from fairlead.git.repositories import Repository, open_repository
from fairlead.git.worktree_discarding import discard_worktree, look_at_work
from fairlead.git.worktree_files import WorktreeFiles
from fairlead.git.worktree_making import make_worktree
from fairlead.git.worktree_merging import merge_worktree
from tests.git.harness import git, make_repository

T = TypeVar("T")

MARK = "refs/fairlead/merging/abcd/1"
KEPT = "refs/fairlead/discarded/abcd/1"


class Killed(BaseException):
    """The machine died here."""


class Countdown:
    """Counts the steps that change something, and dies before or after one of them."""

    def __init__(self, left: int | None = None) -> None:
        self.left = left
        self.steps = 0

    def step(self, act: Callable[[], T]) -> T:
        self._tick()
        done = act()
        self._tick()
        return done

    def _tick(self) -> None:
        self.steps += 1
        if self.left is not None and self.steps > self.left:
            raise Killed


class DyingCalls(GitCalls):
    """Git commands of a daemon that may die before or after each of them."""

    def __init__(self, inner: GitCalls, countdown: Countdown) -> None:
        super().__init__(inner._program, inner._env)
        self._countdown = countdown

    def run(
        self,
        arguments: Sequence[str],
        *,
        place: GitPlace,
        stdin: bytes = b"",
        codes: Collection[int] = (0,),
        most: int = 1 << 29,
    ) -> GitOutput:
        run: Callable[[], GitOutput] = lambda: GitCalls.run(  # noqa: E731 - a step
            self, arguments, place=place, stdin=stdin, codes=codes, most=most
        )
        return self._countdown.step(run)


class DyingFiles(WorktreeFiles):
    def __init__(self, countdown: Countdown) -> None:
        super().__init__()
        self._countdown = countdown

    def make(self, path: str) -> None:
        self._countdown.step(lambda: WorktreeFiles.make(self, path))

    def set_aside(self, path: str) -> None:
        self._countdown.step(lambda: WorktreeFiles.set_aside(self, path))

    def remove(self, path: str) -> None:
        """The machine may die when only some files are gone."""
        self._countdown.step(lambda: self._remove_some(Path(path)))
        self._countdown.step(lambda: WorktreeFiles.remove(self, path))

    def _remove_some(self, path: Path) -> None:
        for file in sorted(path.iterdir())[1:3] if path.is_dir() else ():
            if file.is_file():
                file.unlink()


class Story:
    """What a person has (`project`) and what one session works in (`worktree`)."""

    def __init__(self, directory: Path, *options: str, **files: str) -> None:
        self.directory = directory
        self.project = make_repository(directory / "app", *options, **files)
        self.path = directory / "state" / "worktrees" / "app" / "1-fix"
        self.worktree = Worktree(
            number=1,
            session_key=SessionKeyText("agent:fairlead:user:ada"),
            project="app",
            person="ada",
            repository=str(self.project),
            path=str(self.path),
            branch="fairlead/fix",
        )

    def _work(self, steps: Callable[[GitCalls, Repository], T], countdown: Countdown) -> T:
        def all_steps(calls: GitCalls) -> T:
            dying = DyingCalls(calls, countdown)
            with open_repository(dying, str(self.project)) as repository:
                return steps(dying, repository)

        runner = Git(dict(os.environ))
        try:
            return asyncio.run(runner.work(all_steps))
        finally:
            runner.close()

    def make(self, countdown: Countdown | None = None, **changes: Any) -> MadeWorktree:
        """As the flow does it: what git made is then in the state."""
        count = countdown or Countdown()
        self.worktree = msgspec.structs.replace(self.worktree, **changes)
        made = self._work(lambda c, r: make_worktree(c, r, self.worktree, DyingFiles(count)), count)
        self.worktree = msgspec.structs.replace(
            self.worktree, status="ready", directory=made.directory, base=made.base, target=made.target
        )
        return made

    def merge(self, countdown: Countdown | None = None, **changes: Any) -> MergeResult:
        count = countdown or Countdown()
        worktree = msgspec.structs.replace(self.worktree, **changes)
        return self._work(lambda c, r: merge_worktree(c, r, worktree, MARK, {}), count)

    def look(self) -> WorktreeWork:
        return self._work(lambda c, r: look_at_work(c, r, self.worktree), Countdown())

    def discard(self, countdown: Countdown | None = None) -> KeptWork | None:
        count = countdown or Countdown()
        return self._work(lambda c, r: discard_worktree(c, r, self.worktree, KEPT, DyingFiles(count)), count)

    # --- what people and agents do

    def commit(self, where: Path, message: str = "work", **files: str) -> str:
        for name, text in files.items():
            (where / name).write_text(text)
        git(where, "add", "-A")
        git(where, "commit", "-q", "-m", message)
        return git(where, "rev-parse", "HEAD").strip()

    def log(self, where: str = "main") -> list[str]:
        return git(self.project, "log", "--format=%s", where).splitlines()

    def refs(self) -> list[str]:
        return git(self.project, "for-each-ref", "--format=%(refname)").split()
