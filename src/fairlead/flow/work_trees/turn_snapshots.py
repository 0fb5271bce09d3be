"""Snapshots of the files at the start and the end of every turn, and the facts about them. A turn never fails for one.

1. The start is taken while the agent's process starts, and is there before the agent has its prompt.
2. The end never delays an answer by more than a moment, and if the agent has used no tool, by nothing. It is taken
   before the next turn in the same directory may begin, so that no change is counted for two turns.
3. What cannot be had is a fact too: the turn goes on, and people are told that it cannot be undone.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, NamedTuple, TypeVar

import msgspec

from fairlead.core.decide.trees import MissSnapshot, NoteSnapshot
from fairlead.core.ids import JobId
from fairlead.core.kept_trees import needed_snapshots, snapshot_name
from fairlead.core.state import Job
from fairlead.core.trees import Moment, TreeSnapshot, do_overlap, summarise
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.ledger import Ledger
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log, log_failure
from fairlead.tree_ports import WorkTrees

T = TypeVar("T")

SETTLE_SECONDS: Final = 3600.0
KEEP_SECONDS: Final = 1.0
"""Snapshots of so long a time are kept together, after the answer: each call of git takes some milliseconds. A start
keeps what a crash left behind."""
ANSWER_FIRST_SECONDS: Final = 0.1
NAMED_FILES: Final = 20
"""So many files of a turn are named in its fact; git has all of them."""


class TreeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How long a turn waits for the snapshot of its start, how long that of its end may take, and how long an answer
    waits for it, so that it can say what changed."""

    start_sec: float = 10.0
    end_sec: float = 120.0
    answer_waits_sec: float = 0.3


class _Unkept(NamedTuple):
    """Commits of one directory by their names. The `job` knows what the directory is called now: its machine may be
    renamed before they are kept."""

    job: Job
    commits: dict[str, str]


class TurnSnapshots:
    def __init__(self, ledger: Ledger, trees: WorkTrees, settings: TreeSettings) -> None:
        self._ledger = ledger
        self._trees = trees
        self._settings = settings
        self._orders: dict[str, asyncio.Lock] = {}
        self._undos: dict[str, asyncio.Lock] = {}
        self._ends: dict[str, set[asyncio.Event]] = {}
        self._to_keep: dict[str, _Unkept] = {}
        self._owner: TaskOwner | None = None

    async def run(self) -> None:
        """For ever: own the snapshots that outlast their turn, keep those that are needed, and give up all others."""
        try:
            async with TaskOwner("tree snapshots", on_crash=_report) as owner:
                self._owner = owner
                for job_id in tuple(self._ledger.state.open_trees):
                    self._take_late_end(job_id, owner)
                while True:
                    await self._keep_only_needed()
                    await asyncio.sleep(SETTLE_SECONDS)
        finally:
            await self._keep_rest()

    @asynccontextmanager
    async def hold(self, project_path: str) -> AsyncGenerator[None]:
        """For an undo. Meanwhile no turn gets its prompt or ends its snapshot that works here, in a part of this or in
        what this is a part of, however long it lasts: a turn without a snapshot goes on, and would write
        among the files of the undo."""
        self._undo(project_path)
        self._order(project_path)
        async with AsyncExitStack() as held:
            for undo in _overlapping(self._undos, project_path):
                await held.enter_async_context(undo)
            for end in [end for ends in _overlapping(self._ends, project_path) for end in ends]:
                end.set()  # somebody waits for it
            for order in _overlapping(self._orders, project_path):
                await held.enter_async_context(order)
            yield

    @asynccontextmanager
    async def _in_order(self, project_path: str) -> AsyncGenerator[None]:
        """In the order of the calls."""
        for end in self._ends.get(project_path, ()):
            end.set()  # somebody waits for it
        async with self._order(project_path):
            yield

    def _undo(self, project_path: str) -> asyncio.Lock:
        return self._undos.setdefault(project_path, asyncio.Lock())

    def _order(self, project_path: str) -> asyncio.Lock:
        return self._orders.setdefault(project_path, asyncio.Lock())

    def note_unchanged(self, job: Job) -> bool:
        """Whether the turn need not wait for the snapshot of its start: there is never one here, or it was to be had at
        once. Then the files are as in the last one, and no turn before this one still waits for its end, in which the
        changes of this one would count."""
        if not self._trees.takes_snapshots(job.project_path):
            return True
        undos = _overlapping(self._undos, job.project_path)
        if any(lock.locked() for lock in (*undos, self._order(job.project_path))) or self._ends.get(job.project_path):
            return False
        snapshot = self._trees.find_unchanged(job.project_path)
        if snapshot is not None:
            self._note_start(job, snapshot)
        return snapshot is not None

    def note_attached(self, job: Job) -> None:
        """The turn began before this process: if its start was not noted, it is too late for that."""
        if job.tree is None:
            self._ledger.apply_now(MissSnapshot(job.job_id, "start", Code.E_SNAPSHOT_GONE, "Fairlead was restarted."))

    async def take_start(self, job: Job, asked: asyncio.Event) -> None:
        """Returns when it is taken, or when it is clear that there will be none. Raises nothing. No undo begins once a
        turn has started, so there is at most one to wait for in each directory. `asked` is set when nothing has to be
        waited for but the snapshot itself: a turn on another machine may go there then, and its machine takes the
        snapshot."""
        try:
            for undo in _overlapping(self._undos, job.project_path):
                async with undo:
                    pass
            snapshot = await self._take(job, "start", self._settings.start_sec, asked=asked)
        finally:
            asked.set()
        if snapshot is not None:
            self._note_start(job, snapshot)

    def _note_start(self, job: Job, snapshot: TreeSnapshot) -> None:
        self._ledger.apply_now(NoteSnapshot(job_id=job.job_id, moment="start", snapshot=snapshot))
        self._keep(job, "start", snapshot)

    def reserve_end(self, job: Job) -> "EndSnapshot":
        """From now on, a turn that begins in the same directory waits until this end was taken."""
        may_begin = asyncio.Event()
        if job.job_id not in self._ledger.state.open_trees or self._owner is None:
            return EndSnapshot(None, may_begin)
        self._ends.setdefault(job.project_path, set()).add(may_begin)
        work = self._take_end(job, may_begin)
        return EndSnapshot(self._owner.start(work, name=f"end {job.job_id}"), may_begin, self._settings)

    def _take_late_end(self, job_id: JobId, owner: TaskOwner) -> None:
        job = self._ledger.state.jobs.get(job_id)
        if job is not None and not job.is_live:
            may_begin = asyncio.Event()
            may_begin.set()
            owner.start(self._take_end(job, may_begin, is_late=True), name=f"late end {job_id}")

    async def _take_end(self, job: Job, may_begin: asyncio.Event, *, is_late: bool = False) -> None:
        try:
            snapshot = await self._take(job, "end", self._settings.end_sec, may_begin)
        finally:
            self._ends.get(job.project_path, set()).discard(may_begin)
        if snapshot is None or job.tree is None or job.tree.start is None:
            return
        start = job.tree.start
        try:
            is_same = start.tree == snapshot.tree
            files = () if is_same else await self._trees.list_changes(job.project_path, start.commit, snapshot.commit)
        except FairleadError as fault:
            self._miss(job, "end", fault)
            return
        changed = summarise(files, NAMED_FILES) if files else None
        self._ledger.apply_now(
            NoteSnapshot(job_id=job.job_id, moment="end", snapshot=snapshot, changed=changed, is_late=is_late)
        )
        self._keep(job, "end", snapshot)

    async def _take(
        self,
        job: Job,
        moment: Moment,
        limit_sec: float,
        may_begin: asyncio.Event | None = None,
        *,
        asked: asyncio.Event | None = None,
    ) -> TreeSnapshot | None:
        """The time limit of a start includes the waiting for other snapshots: its agent waits all the while."""
        try:
            place = self._in_order(job.project_path) if may_begin is None else self._order(job.project_path)
            async with asyncio.timeout(limit_sec if may_begin is None else None), place:
                if may_begin is not None:
                    await may_begin.wait()
                if asked is not None:
                    asked.set()
                begins = job.job_id if moment == "start" else ""
                label = f"{job.job_id} {moment}"
                return await self._trees.snapshot(job.project_path, label, limit_sec=limit_sec, begins=begins)
        except TimeoutError:
            self._miss(job, moment, error(Code.E_SNAPSHOT, f"It took longer than {limit_sec:.0f} s."))
        except FairleadError as fault:
            self._miss(job, moment, fault)
        except Exception as crash:  # whatever breaks here, the turn goes on without a snapshot
            log_failure("a snapshot of the files crashed", crash, job_id=job.job_id)
            self._ledger.apply_now(MissSnapshot(job.job_id, moment, "E_INTERNAL", f"{type(crash).__name__}: {crash}"))
        return None

    def _miss(self, job: Job, moment: Moment, fault: FairleadError) -> None:
        log.warning("no snapshot", job_id=job.job_id, moment=moment, error_code=str(fault.code), message=fault.message)
        self._ledger.apply_now(MissSnapshot(job.job_id, moment, fault.code, fault.message))

    def _keep(self, job: Job, moment: Moment, snapshot: TreeSnapshot) -> None:
        if self._owner is None or self._owner.is_closed:
            return
        project_path = job.project_path
        if project_path not in self._to_keep:
            self._to_keep[project_path] = _Unkept(job, {})
            self._owner.start(self._keep_soon(project_path), name=f"keep {project_path}")
        name = snapshot_name(self._ledger.state.state_id, job.job_id, moment)
        self._to_keep[project_path].commits[name] = snapshot.commit

    async def _keep_soon(self, project_path: str) -> None:
        await asyncio.sleep(KEEP_SECONDS)
        unkept = self._to_keep.pop(project_path)
        await self._trees.keep(unkept.job.project_path, unkept.commits)

    async def _keep_rest(self) -> None:
        """At a stop. What fails here is kept by the next start."""
        for unkept in self._to_keep.values():
            with contextlib.suppress(FairleadError):
                await self._trees.keep(unkept.job.project_path, unkept.commits)

    async def _keep_only_needed(self) -> None:
        state = self._ledger.state
        try:
            await self._trees.keep_only(state.state_id, needed_snapshots(state))
        except FairleadError as fault:
            log_failure("old snapshots of files stay", fault)


class EndSnapshot:
    """The place of a turn's end among the snapshots of its directory."""

    def __init__(
        self, task: asyncio.Task[None] | None, may_begin: asyncio.Event, settings: TreeSettings | None = None
    ) -> None:
        self._task = task
        self._may_begin = may_begin
        self._settings = settings or TreeSettings()

    async def wait_a_moment(self) -> None:
        """Take it now, and wait for it as long as an answer may wait."""
        self._may_begin.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=self._settings.answer_waits_sec)

    def begin_soon(self) -> None:
        """Take it behind the answer, if that has not begun; at once if somebody waits for it."""
        asyncio.get_running_loop().call_later(ANSWER_FIRST_SECONDS, self._may_begin.set)


def _overlapping(by_path: Mapping[str, T], project_path: str) -> list[T]:
    """Of the directories that may share a file with this one; always in the same order, so that two who take several
    locks do not wait for each other."""
    return [by_path[path] for path in sorted(by_path) if do_overlap(path, project_path)]


def _report(name: str, crash: Exception) -> None:
    log_failure("a snapshot of the files broke", crash, task=name)
