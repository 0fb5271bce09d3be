"""Commands about worktrees of sessions: make one, show it, merge it, discard it, bring one back."""

from collections.abc import Sequence

from fairlead.core import requests as ask
from fairlead.core.decide.worktrees import BeginDiscard, BeginMerge, PlanAgain, SetProjectWorktrees, WantWorktree
from fairlead.core.ids import SessionKeyText
from fairlead.core.replies import (
    DiscardedRow,
    MergeConflictRow,
    ProjectWorktreesChosen,
    WorktreeCatalogue,
    WorktreeShown,
    WorktreeWasDiscarded,
    WorktreeWasMerged,
)
from fairlead.core.requests import Caller
from fairlead.core.retention import KEPT_JOB_DAYS
from fairlead.core.state import Project
from fairlead.core.visibility import may_see
from fairlead.core.worktrees import MAX_FILES_NAMED, Worktree, WorktreeWork
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.commands.parts import CommandParts, HandlerTable
from fairlead.flow.queries.reports import worktree_row
from fairlead.flow.worktrees.keeper import AgentAsked


def worktree_handlers(parts: CommandParts) -> HandlerTable:
    commands = WorktreeCommands(parts)
    return {
        ask.WorktreeMake: commands.make,
        ask.WorktreeShow: commands.show,
        ask.WorktreeList: commands.list,
        ask.WorktreeRestore: commands.restore,
        ask.Merge: commands.merge,
        ask.Discard: commands.discard,
        ask.ProjectWorktrees: commands.set_default,
    }


class WorktreeCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts
        self._keeper = parts.worktrees

    async def make(self, request: ask.WorktreeMake, caller: Caller) -> WorktreeShown:
        """For the session of this conversation; where there is none yet, it begins with one."""
        failed = self._failed_here(caller)
        if failed is not None:
            worktree, made = await self._keeper.make(PlanAgain(failed.number))
        else:
            project = self._project_here(request.project, caller)
            taken = await self._keeper.git.taken_branches(project.path)
            want = WantWorktree(
                session_key=caller.session_key,
                conversation=caller.conversation,
                person=caller.person,
                project=request.project or None,
                branches=taken,
            )
            worktree, made = await self._keeper.make(want)
        return WorktreeShown(
            done="shown" if made is None else "made",
            worktree=worktree_row(self._parts.state, worktree),
            left_behind=0 if made is None else made.left_behind,
            has_submodules=made is not None and made.has_submodules,
        )

    async def show(self, request: ask.WorktreeShow, caller: Caller) -> WorktreeShown:
        worktree = self._find(request.number, caller)
        work = await self._keeper.git.look(worktree) if worktree.directory else WorktreeWork(missing=True)
        return WorktreeShown(done="shown", worktree=worktree_row(self._parts.state, worktree), work=work)

    async def list(self, _request: ask.WorktreeList, caller: Caller) -> WorktreeCatalogue:
        state = self._parts.state
        seen = [w for w in state.worktrees.values() if may_see(state, w.session_key, caller)]
        kept = [d for d in state.discarded_worktrees.values() if may_see(state, d.session_key, caller)]
        return WorktreeCatalogue(
            worktrees=tuple(worktree_row(state, w) for w in seen),
            discarded=tuple(
                DiscardedRow(
                    number=d.number, project=d.project, branch=d.branch, ref=d.ref, discarded_at=d.discarded_at
                )
                for d in kept
            ),
        )

    async def restore(self, request: ask.WorktreeRestore, caller: Caller) -> WorktreeShown:
        """Into the session of this conversation, whichever had it before."""
        state = self._parts.state
        kept = state.discarded_worktrees.get(request.number)
        if kept is None or not may_see(state, kept.session_key, caller):
            raise error(Code.E_NO_WORKTREE, f"Nothing is kept of a worktree {request.number}.")
        taken = await self._keeper.git.taken_branches(self._parts.project(kept.project).path)
        worktree, made = await self._keeper.make(
            WantWorktree(
                session_key=caller.session_key,
                conversation=caller.conversation,
                person=caller.person,
                project=kept.project,
                branches=taken,
                branch=kept.branch,
                source=kept.commit,
                target=kept.target,
            )
        )
        if made is None:
            raise error(Code.E_WORKTREE_BUSY, f"This session has the worktree {worktree.branch} already.")
        return WorktreeShown(done="restored", worktree=worktree_row(state, worktree))

    async def merge(self, request: ask.Merge, caller: Caller) -> WorktreeWasMerged:
        worktree = self._find(request.number, caller)
        try:
            result = await self._keeper.merge(BeginMerge(worktree.number, caller.person, request.uncommitted))
        except AgentAsked as asked:
            conflict = MergeConflictRow(
                target=asked.target,
                files=asked.files[:MAX_FILES_NAMED],
                files_total=len(asked.files),
                job_id=asked.job_id,
            )
            return WorktreeWasMerged(worktree_row(self._parts.state, worktree), conflict=conflict)
        return WorktreeWasMerged(worktree_row(self._parts.state, worktree), result)

    async def discard(self, request: ask.Discard, caller: Caller) -> WorktreeWasDiscarded:
        """Without a confirmation only if nothing would be lost."""
        worktree = self._find(request.number, caller)
        work = await self._keeper.git.look(worktree) if worktree.directory else WorktreeWork()
        if not (work.is_nothing or request.confirm):
            raise _work_would_be_lost(worktree, work)
        row = worktree_row(self._parts.state, worktree)
        kept = await self._keeper.discard(BeginDiscard(number=worktree.number, person=caller.person))
        return WorktreeWasDiscarded(
            worktree=row, ref="" if kept is None else kept.ref, days=0 if kept is None else KEPT_JOB_DAYS
        )

    async def set_default(self, request: ask.ProjectWorktrees, caller: Caller) -> ProjectWorktreesChosen:
        project = self._parts.project(request.project)
        if request.worktree:
            await self._keeper.git.taken_branches(project.path)  # raises if the project can have no worktrees
        await self._parts.ledger.record_durably(SetProjectWorktrees(project.name, request.worktree, caller.person))
        return ProjectWorktreesChosen(project.name, request.worktree)

    def _project_here(self, name: str, caller: Caller) -> Project:
        found = self._parts.project_to_work_in(caller, name or None)
        if isinstance(found, FairleadError):
            raise found
        return found

    def _failed_here(self, caller: Caller) -> Worktree | None:
        session = self._parts.session_here(caller)
        found = None if session is None else self._parts.state.worktree_of(session.session_key, session.project)
        return found if found is not None and found.status == "failed" else None

    def _find(self, number: int, caller: Caller) -> Worktree:
        """The one of this number, else that of the session here."""
        state = self._parts.state
        if number:
            named = state.worktrees.get(number)
            if named is None or not may_see(state, SessionKeyText(named.session_key), caller):
                raise error(Code.E_NO_WORKTREE, f"There is no worktree {number}.")
            return named
        session = self._parts.managed_session(caller)
        found = state.worktree_of(session.session_key, session.project)
        if found is None:
            raise error(Code.E_NO_WORKTREE)
        return found


def _work_would_be_lost(worktree: Worktree, work: WorktreeWork) -> FairleadError:
    files = _name(work.uncommitted, work.uncommitted_total)
    commits = _name(work.commits, work.commits_total)
    said = f"{worktree.branch} has work that is nowhere else. Not committed: {files}. Not merged: {commits}."
    if work.submodules or work.ignored_total:
        nested = _name(work.submodules, len(work.submodules))
        said += f" Not kept when it is discarded: repositories in it ({nested}), ignored files ({work.ignored_total})."
    return error(
        Code.E_WORK_WOULD_BE_LOST,
        said,
        next_step=f"/merge keeps the commits. /discard confirm:yes discards it all; what is kept can be brought back "
        f"for {KEPT_JOB_DAYS} days with /worktree restore {worktree.number}.",
    )


def _name(names: Sequence[str], total: int) -> str:
    """The first of them, safe to read, and how many more there are."""
    shown = ["".join(c if c.isprintable() else "\ufffd" for c in name) for name in names[:MAX_FILES_NAMED]]
    more = f" and {total - len(shown)} more" if total > len(shown) else ""
    return ", ".join(shown) + more if shown else "none"
