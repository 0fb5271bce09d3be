"""A repository of our own for one project's directory: its index, its rules for converting and ignoring, its HEAD.

1. It has no configuration but ours. `info/attributes` turns off every conversion, so that a file is stored as the bytes
   that it has: no line ends are changed, no filter (LFS) runs, no `$Id$` is filled in.
2. Its index is ours alone and kept from snapshot to snapshot, so that only files that changed are read again.
3. Objects and refs go into the project's own repository where it has one, so that the same file is not stored twice
   and the person's `git gc` keeps what our refs need; otherwise they stay here.
4. HEAD is the last snapshot: against it, `git status` is quick.
5. The index is split: git writes what changed, and the whole of it only when much has.
"""

import hashlib
import os
import re
import shutil
import time
from pathlib import Path
from typing import Final

import msgspec

from fairlead.core.trees import TreeSnapshot
from fairlead.git.command import GitCalls, GitFailed, GitPlace
from fairlead.git.ignore_rules import EXCLUDE, IgnoreRules, Rules
from fairlead.git.project_repository import SHA1, ProjectRepository
from fairlead.git.tracked_files import TrackedFiles
from fairlead.git.untracked_cache import UntrackedCache
from fairlead.kit.files import make_private_directory

_ATTRIBUTES: Final = b"* -text -eol -crlf -filter -ident -working-tree-encoding\n"
_NO_SNAPSHOT: Final = "ref: refs/heads/none\n"
_CONFIG: Final = (
    ("core.bare", "false"),
    ("core.autocrlf", "false"),
    ("core.safecrlf", "false"),
    ("core.logAllRefUpdates", "false"),
    ("core.splitIndex", "true"),
    ("splitIndex.sharedIndexExpire", "1.hour.ago"),
    ("core.untrackedCache", "true"),
    ("status.showUntrackedFiles", "all"),  # the cache is for looks with this option, and git asks the configuration
    ("index.version", "4"),  # half as long, and it is read and written more than once for a snapshot
    ("advice.addEmbeddedRepo", "false"),
    ("status.renames", "false"),
)
_SPECIAL: Final = re.compile(rb"[*?\[\]\\ !#]")
_LOCK_PATIENCE: Final = 3.0
_WHOLE_INDEX: Final = (("core.splitIndex", "false"), ("core.untrackedCache", "false"))
_LEFTOVERS: Final = ("index.lock", "sharedindex_*")
PROJECT_NAME: Final = "fairlead-project"
"""The file that names the project."""
_RECORD_NAME: Final = "fairlead-repository"
"""The file that says where the refs are: a worktree that is removed leaves them in the repository that it was of."""
_OWN, _HERE = "own", "here"
"""Where the objects of its snapshots are: in the project's own repository, or in the private one."""


class SnapshotNotes(msgspec.Struct, frozen=True):
    """What a snapshot says of itself. `gaps` are the paths that it leaves out, from the work tree's root; a directory
    stands for what is in it. `rules` are those of ignoring outside of its files; None if it was taken before they were
    noted. `tracked` are paths that it would hold if they were there, although rules ignore them."""

    gaps: frozenset[str] = frozenset()
    rules: Rules | None = None
    tracked: frozenset[str] = frozenset()


class LastSnapshot(msgspec.Struct, frozen=True):
    """`notes` is None if its commit has not been asked yet."""

    commit: str
    tree: str
    notes: SnapshotNotes | None = None


class PrivateRepository:
    """Used by one thread at a time: the caller holds the project's lock."""

    def __init__(self, directory: Path, repository: ProjectRepository) -> None:
        self.directory = directory
        self.repository = repository
        self.stores_here = not repository.takes_objects
        self.rules = IgnoreRules(repository)
        index = f"{repository.git_dir}/index" if repository.git_dir else ""
        self.tracked = TrackedFiles(index, filter(None, map(self._find_below, self._own_directories)))
        self._excluded: bytes | None = None
        self.last: LastSnapshot | None = None
        self._stamped: tuple[object, TreeSnapshot] | None = None
        self.cache = UntrackedCache(directory / "index")
        self.is_quick = False
        """Whether to look at all the files takes no more than a moment."""

    @property
    def place(self) -> GitPlace:
        """For commands that write objects and the index."""
        repository = self.repository
        variables = {"GIT_DIR": str(self.directory), "GIT_WORK_TREE": repository.root}
        if not self.stores_here:
            variables["GIT_OBJECT_DIRECTORY"] = repository.objects
        excludes = (("core.excludesFile", repository.excludes_file),)
        return GitPlace(
            directory=repository.root, variables=variables, config=(*repository.followed, *excludes, *_CONFIG)
        )

    @property
    def persons_place(self) -> GitPlace:
        """For commands that only read the person's index. Configuration and rules of ignoring are ours, and what a
        split index needs is found beside it."""
        place = self.reading_place
        own = {"GIT_DIR": self.repository.git_dir, "GIT_COMMON_DIR": str(self.directory), "GIT_OPTIONAL_LOCKS": "0"}
        return msgspec.structs.replace(
            place, variables={**place.variables, **own}, config=(*place.config, *_WHOLE_INDEX)
        )

    def place_with_index(self, name: str) -> GitPlace:
        """For commands that write objects by an index of their own, which nobody keeps."""
        place = self.place
        variables = {**place.variables, "GIT_INDEX_FILE": str(self.directory / name)}
        return msgspec.structs.replace(place, variables=variables, config=(*place.config, *_WHOLE_INDEX))

    @property
    def reading_place(self) -> GitPlace:
        """For commands that only read: they also find what was stored before the project had a repository, or when it
        had another one."""
        place = self.place
        here = self.directory.with_name(self.directory.name.replace(f"-{_OWN}", f"-{_HERE}")) / "objects"
        others = [str(here) if here.is_dir() else "", self.repository.objects]
        alternates = os.pathsep.join(_quote_alternate(path) for path in others if path)
        return msgspec.structs.replace(
            place, variables={**place.variables, "GIT_ALTERNATE_OBJECT_DIRECTORIES": alternates}
        )

    @property
    def refs_place(self) -> GitPlace:
        """Where our refs are: the project's own repository, or this one. No reflog is kept of them."""
        at = str(self.directory) if self.stores_here else self.repository.common_dir
        return GitPlace(directory=at, variables={"GIT_DIR": at}, config=(("core.logAllRefUpdates", "false"),))

    def open(self, calls: GitCalls) -> None:
        """Make it, or take it up again after a restart. What a killed git left is waited for, then removed."""
        if not (self.directory / "HEAD").exists():
            self._make(calls)
        self._wait_for_lock(calls)
        self.last = self._read_last(calls)
        self._write_record()

    def _make(self, calls: GitCalls) -> None:
        make_private_directory(self.directory.parent)
        shutil.rmtree(self.directory, ignore_errors=True)
        make_private_directory(self.directory)
        place = GitPlace(directory=str(self.directory))
        asked = ["init", "-q", "--bare", "--template=", f"--object-format={self.repository.object_format}", "."]
        calls.run(asked, place=place)
        (self.directory / "info").mkdir(exist_ok=True)
        (self.directory / "info" / "attributes").write_bytes(_ATTRIBUTES)
        (self.directory / PROJECT_NAME).write_bytes(os.fsencode(self.repository.project))
        self._write_head(_NO_SNAPSHOT)

    def _wait_for_lock(self, calls: GitCalls) -> None:
        lock = self.directory / "index.lock"
        deadline = time.monotonic() + _LOCK_PATIENCE
        while lock.exists() and time.monotonic() < deadline:
            calls.check()
            time.sleep(0.05)
        self._remove(*_LEFTOVERS)

    def _remove(self, *patterns: str) -> None:
        for pattern in patterns:
            for path in self.directory.glob(pattern):
                path.unlink(missing_ok=True)

    def _read_last(self, calls: GitCalls) -> LastSnapshot | None:
        """None where there is none, or where its objects are gone (a person removed our refs, and git its objects)."""
        commit = (self.directory / "HEAD").read_text().strip()
        if commit.startswith("ref:"):
            return None  # an index may be there already: a first snapshot that took too long goes on where it was
        try:
            tree = calls.run(["rev-parse", "--verify", "-q", f"{commit}^{{tree}}"], place=self.place)
        except GitFailed:
            self.forget_last()
            return None
        return LastSnapshot(commit, tree.line)

    def remember(self, last: LastSnapshot) -> None:
        self.last = last
        self._write_head(f"{last.commit}\n")

    def forget_last(self) -> None:
        """The next snapshot reads every file."""
        self.last = None
        self._write_head(_NO_SNAPSHOT)
        self.cache = UntrackedCache(self.directory / "index")
        self.tracked.held = None
        self._remove("index", "sharedindex.*", *_LEFTOVERS)

    def remember_stamp(self, stamp: object | None, taken: TreeSnapshot) -> None:
        """`stamp` was taken before git looked at the files; None if it says nothing."""
        self._stamped = None if stamp is None else (stamp, taken)

    def find_same(self, stamp: object | None) -> TreeSnapshot | None:
        """The last snapshot, if the files are as they were then and nobody has removed it."""
        if self._stamped is None or self.last is None or stamp != self._stamped[0]:
            return None
        taken = self._stamped[1]
        objects = f"{self.directory}/objects" if self.stores_here else self.repository.objects
        # Before every turn, where a Path takes longer.
        path = f"{objects}/{taken.commit[:2]}/{taken.commit[2:]}"
        is_there = taken.commit == self.last.commit and os.path.exists(path)  # noqa: PTH110
        return taken if is_there else None  # git knows whether it is in a pack

    def _write_head(self, text: str) -> None:
        self._replace("HEAD", text.encode())

    def _write_record(self) -> None:
        found = self.repository
        record = f"{found.common_dir}\0{found.prefix}\0{found.object_format}"
        if _read_record(self.directory) != record:
            self._replace(_RECORD_NAME, os.fsencode(record))

    def _replace(self, name: str, data: bytes) -> None:
        new = self.directory / f"{name}.new"
        new.write_bytes(data)
        new.replace(self.directory / name)

    def follow_excludes(self) -> None:
        """The repository's own rules of ignoring, which its owner may have changed since; and files that are not the
        project's: our state directory, and a repository that stands in its own work tree under another name."""
        rules = self.rules.read(EXCLUDE)
        if rules == self._excluded:
            return
        lines = [_rule_for(self._find_below(path)) for path in self._own_directories]
        (self.directory / "info" / "exclude").write_bytes(b"\n".join([rules, *filter(None, lines), b""]))
        self._excluded = rules

    @property
    def _own_directories(self) -> tuple[str, ...]:
        return tuple(filter(None, (str(self.directory.parent.parent), self.repository.common_dir)))

    def _find_below(self, path: str) -> str:
        """Where it is in the work tree; empty if it is not, or git leaves it alone by itself."""
        root = self.repository.root
        below = Path(os.path.realpath(path))
        is_below = below.is_relative_to(root) and below != Path(root) and below.name != ".git"
        return str(below.relative_to(root)) if is_below else ""


def recall(directory: Path, project: str) -> PrivateRepository:
    """The private repository in this directory, for reading and for its refs alone: its project may be gone. It is not
    opened, so another process may work in it at the same time."""
    common_dir, prefix, object_format = (_read_record(directory) or f"\0\0{SHA1}").split("\0")
    found = ProjectRepository(
        project=project, root=str(directory), prefix=prefix, common_dir=common_dir, object_format=object_format
    )
    recalled = PrivateRepository(directory, found)
    recalled.stores_here = recalled.stores_here or f"-{_HERE}" in directory.name
    return recalled


def _read_record(directory: Path) -> str:
    """Empty for one that was made before there were records."""
    try:
        return os.fsdecode((directory / _RECORD_NAME).read_bytes())
    except FileNotFoundError:
        return ""


def directory_for(trees: Path, repository: ProjectRepository) -> Path:
    """By the project's path, and by the kind of names that its objects have."""
    name = hashlib.sha256(os.fsencode(repository.project)).hexdigest()[:24]
    where = _OWN if repository.takes_objects else _HERE
    suffix = "" if repository.object_format == SHA1 else f"-{repository.object_format}"
    return trees / f"{name}-{where}{suffix}"


def _rule_for(directory: str) -> bytes:
    """Excludes this directory. Every character of its name stands for itself."""
    name = os.fsencode(directory)
    return b"" if not name or b"\n" in name else b"/" + _SPECIAL.sub(rb"\\\g<0>", name) + b"/"


def _quote_alternate(path: str) -> str:
    """As git reads its list of object directories: one with a separator in its name is quoted."""
    if os.pathsep not in path and not path.startswith('"'):
        return path
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
