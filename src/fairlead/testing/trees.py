"""`WorkTrees` in memory: the files of projects as a dictionary, and snapshots that can be slow or fail."""

import asyncio
import difflib
import hashlib
from collections.abc import Callable, Mapping, Sequence

from fairlead.core.trees import ChangeKind, FileChange, TreeChanges, TreeSnapshot, UndoPlan
from fairlead.errors import Code, FairleadError, error
from fairlead.tree_ports import TreeCost

Files = dict[str, str]


class FakeTrees:
    """`files` are the work trees by project; a test changes them as an agent would. `kept` are the names of
    snapshots that were kept, by project. `ignored_before` are paths that were ignored when a turn began."""

    def __init__(self) -> None:
        self.files: dict[str, Files] = {}
        self.kept: dict[str, dict[str, str]] = {}
        self.ignored_before: set[str] = set()
        self.fault: FairleadError | None = None
        self.writing_fault: FairleadError | None = None
        """What the disk says when an undo has written its first file."""
        self.latency: Callable[[], float] = lambda: 0.0
        self.taken = 0
        self.is_quick = False
        """Whether it can be told at once that files have not changed."""
        self._commits: dict[str, Files] = {}
        self._last: dict[str, TreeSnapshot] = {}

    def takes_snapshots(self, project_path: str) -> bool:  # noqa: ARG002 - the port's shape
        return True

    async def snapshot(
        self, project_path: str, label: str, *, limit_sec: float | None = None, begins: str = ""
    ) -> TreeSnapshot | None:
        """As the files are when it is done, as if git read them last."""
        del begins
        try:
            async with asyncio.timeout(limit_sec):
                await asyncio.sleep(self.latency())
        except TimeoutError:
            raise error(Code.E_SNAPSHOT, "It took too long.") from None
        if self.fault is not None:
            raise self.fault
        self.taken += 1
        files = dict(self.files.get(project_path, {}))
        tree = _name(files)
        commit = f"{tree}-{label}"
        self._commits[commit] = files
        self._last[project_path] = TreeSnapshot(commit=commit, tree=tree)
        return self._last[project_path]

    def find_unchanged(self, project_path: str) -> TreeSnapshot | None:
        last = self._last.get(project_path)
        is_same = last is not None and self._commits[last.commit] == self.files.get(project_path, {})
        return last if is_same and self.is_quick and self.fault is None else None

    async def keep(self, project_path: str, commits: Mapping[str, str]) -> None:
        await asyncio.sleep(self.latency())
        self.kept.setdefault(project_path, {}).update(commits)

    async def keep_only(self, family: str, commits: Mapping[str, Mapping[str, str]]) -> None:
        for project, named in commits.items():
            there = {name: commit for name, commit in named.items() if commit in self._commits}
            self.kept.setdefault(project, {}).update(there)
        for project, kept in self.kept.items():
            needed = commits.get(project, {})
            for name in [n for n in kept if n.startswith(f"{family}/") and n not in needed]:
                del kept[name]

    async def list_changes(self, project_path: str, before: str, after: str) -> tuple[FileChange, ...]:
        return (await self.show_changes(project_path, before, after)).files

    async def show_changes(self, project_path: str, before: str, after: str) -> TreeChanges:  # noqa: ARG002 - the port's
        await asyncio.sleep(self.latency())
        old, new = self._files_of(before), self._files_of(after)
        paths = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
        diffs = [_diff(path, old.get(path, ""), new.get(path, "")) for path in paths]
        files = (_change(path, old, new, diff) for path, diff in zip(paths, diffs, strict=True))
        return TreeChanges(files=tuple(files), diff="".join(line for diff in diffs for line in diff))

    async def plan_undo(self, project_path: str, steps: Sequence[tuple[str, str]], label: str) -> UndoPlan:
        before = await self.snapshot(project_path, label)
        assert before is not None
        wanted = dict(self._commits[before.commit])
        conflicts: set[str] = set()
        left = tuple(sorted(self.ignored_before & wanted.keys()))
        for end, start in steps:
            left_as, was = self._files_of(end), self._files_of(start)
            for path in {*left_as, *was}.difference(left):
                if left_as.get(path) == was.get(path):
                    continue
                if wanted.get(path) not in {left_as.get(path), was.get(path)}:
                    conflicts.add(path)
                _put(wanted, path, was.get(path))
        if conflicts:
            return UndoPlan(before=before, conflicts=tuple(sorted(conflicts)))
        if wanted == self._commits[before.commit]:
            return UndoPlan(before=before, left=left)
        after = f"{_name(wanted)}-{label}-after"
        self._commits[after] = wanted
        files = await self.list_changes(project_path, before.commit, after)
        return UndoPlan(before=before, after=after, files=files, left=left)

    async def restore(self, project_path: str, before: str, after: str) -> tuple[str, ...]:
        """File by file, so that a crash may come between any two."""
        old, new, now = self._files_of(before), self._files_of(after), self.files.setdefault(project_path, {})
        left: list[str] = []
        for path in sorted({*old, *new}):
            if old.get(path) == new.get(path) or now.get(path) == new.get(path):
                continue
            await asyncio.sleep(self.latency())
            if now.get(path) == old.get(path):
                _put(now, path, new.get(path))
                if self.writing_fault is not None:
                    raise self.writing_fault
            else:
                left.append(path)
        return tuple(left)

    async def costs(self) -> list[TreeCost]:
        return [TreeCost(project_path=project, refs=len(kept)) for project, kept in self.kept.items()]

    def _files_of(self, commit: str) -> Files:
        if commit not in self._commits:
            raise error(Code.E_SNAPSHOT_GONE)
        return self._commits[commit]


def _put(files: Files, path: str, text: str | None) -> None:
    if text is None:
        files.pop(path, None)
    else:
        files[path] = text


def _name(files: Files) -> str:
    return hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:12]


def _diff(path: str, old: str, new: str) -> list[str]:
    lines = difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{path}", f"b/{path}")
    return [f"diff --git a/{path} b/{path}\n", *lines]


def _change(path: str, old: Files, new: Files, diff: list[str]) -> FileChange:
    kind: ChangeKind = "added" if path not in old else "deleted" if path not in new else "modified"
    added = sum(line.startswith("+") for line in diff[3:])
    removed = sum(line.startswith("-") for line in diff[3:])
    return FileChange(path=path, kind=kind, added=added, removed=removed)
