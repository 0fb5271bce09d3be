"""The worktree of a session: a branch and a directory of its own in the repository of its project. Knows no git.

Its life: planned, then ready or failed; from ready it is merged, which leaves it ready, or discarded, which ends it.
While it is planned, merged or discarded, no job of its sessions starts.
"""

import re
from typing import Final, Literal

import msgspec

from fairlead.core.ids import SessionKeyText
from fairlead.core.machines.places import own_name

WorktreeStatus = Literal["planned", "ready", "failed", "merging", "discarding"]
UNSETTLED: Final[frozenset[WorktreeStatus]] = frozenset({"planned", "merging", "discarding"})
"""Git has something to do, and jobs wait until it is done."""

BRANCH_PREFIX: Final = "fairlead/"
MAX_SLUG: Final = 40
MAX_FILES_NAMED: Final = 20
"""So many names of files are written down and shown; of the others, their number."""

UncommittedChoice = Literal["refuse", "leave"]
"""What a merge does when files in the worktree are not committed: refuse, or leave them there, uncommitted."""


class Worktree(msgspec.Struct, omit_defaults=True, gc=False, kw_only=True):
    """`repository` is the directory of the project, `path` the root of the worktree, and `directory` where agents work:
    the same place below `path` that the project has in its repository. `base` is the commit that it began from,
    `target` the branch that a merge goes into. `source` is the commit of a discarded worktree that is brought back."""

    number: int
    session_key: SessionKeyText
    project: str
    person: str
    repository: str
    path: str
    branch: str
    status: WorktreeStatus = "planned"
    directory: str = ""
    common_dir: str = ""
    base: str = ""
    target: str = ""
    source: str = ""
    uncommitted: UncommittedChoice = "refuse"
    renew: bool = False
    acted_by: str = ""
    error_code: str = ""
    error_message: str = ""
    merges: int = 0
    made_at: str = ""


class DiscardedWorktree(msgspec.Struct, omit_defaults=True, gc=False, kw_only=True):
    """What is kept of a worktree that was discarded: a ref of ours in the repository, with the branch's last commit and
    the files that were not committed. `discarded_on` is the lived day; `core/retention.py` says for how long."""

    number: int
    session_key: SessionKeyText
    project: str
    repository: str
    branch: str
    ref: str
    commit: str
    target: str = ""
    discarded_on: int = 0
    discarded_at: str = ""


class MadeWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """What git made. `left_behind` counts the files of the project that are not committed, and so not in the worktree.
    With `has_submodules`, their directories are there and empty."""

    directory: str
    common_dir: str
    base: str
    target: str
    left_behind: int = 0
    has_submodules: bool = False


class WorktreeWork(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What would be lost with the worktree. `uncommitted` are files, `commits` those that `target` does not have, one
    line each; both are cut to MAX_FILES_NAMED, and the totals count all. `ignored` files are in no commit, ever.
    `missing`: somebody removed the directory by hand."""

    uncommitted: tuple[str, ...] = ()
    uncommitted_total: int = 0
    commits: tuple[str, ...] = ()
    commits_total: int = 0
    ignored_total: int = 0
    submodules: tuple[str, ...] = ()
    missing: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether nothing that a person or an agent wrote would be lost. Tools make ignored files again."""
        return not (self.uncommitted_total or self.commits_total or self.submodules)


class MergeResult(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """`target` went from the commit `before` to `after`. `files` are those that changed, cut to MAX_FILES_NAMED."""

    target: str
    before: str
    after: str
    commits_total: int = 0
    commits: tuple[str, ...] = ()
    files_total: int = 0
    files: tuple[str, ...] = ()


class KeptWork(msgspec.Struct, frozen=True, kw_only=True):
    """Where a discarded worktree is kept."""

    ref: str
    commit: str


def branch_slug(title: str) -> str:
    """A part of a branch's name that git, shells and file systems take: a-z, 0-9 and single dashes."""
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    cut = words[:MAX_SLUG]
    return (cut.rpartition("-")[0] or cut).strip("-") if len(words) > MAX_SLUG else cut


def branch_name(title: str, project: str, now: str) -> str:
    """After the session's title; without one, after its project and the moment, as threads are called."""
    slug = branch_slug(title)
    return f"{BRANCH_PREFIX}{slug or f'{own_name(project)}-{now[5:10]}-{now[11:13]}{now[14:16]}'}"


def free_branch(wanted: str, taken: "frozenset[str] | set[str]") -> str:
    """The wanted name, with a number behind it if somebody has it already."""
    if wanted not in taken:
        return wanted
    return next(name for n in range(2, len(taken) + 3) if (name := f"{wanted}-{n}") not in taken)


NoticeKind = Literal["made", "failed", "merged", "stopped", "discarded"]


class WorktreeNotice(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """What a person is told of a worktree where no command waits for the reply: it was made for a session that began
    with one, or a start finished what the last process had begun. `code` and `detail` say why it went wrong."""

    what: NoticeKind
    number: int
    person: str
    branch: str
    target: str = ""
    count: int = 0
    files: tuple[str, ...] = ()
    code: str = ""
    detail: str = ""
