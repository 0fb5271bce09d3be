"""The rules for worktrees of sessions: planned, made, merged, discarded."""

from fairlead.core import events as e
from fairlead.core.state import State
from fairlead.core.worktrees import DiscardedWorktree, Worktree


def project_worktrees_set(state: State, ts: str, event: e.ProjectWorktreesSet) -> None:
    project = state.projects.get(event.name)
    if project is not None:
        project.worktrees = event.wanted
        project.updated_at = ts


def worktree_planned(state: State, ts: str, event: e.WorktreePlanned) -> None:
    state.worktrees_made = max(state.worktrees_made, event.number)
    state.worktrees[event.number] = Worktree(
        number=event.number,
        session_key=event.session_key,
        project=event.project,
        person=event.person,
        repository=event.repository,
        path=event.path,
        branch=event.branch,
        source=event.source,
        target=event.target,
        acted_by=event.person,
        made_at=ts,
    )


def worktree_made(state: State, _ts: str, event: e.WorktreeMade) -> None:
    worktree = state.worktrees.get(event.number)
    if worktree is not None and worktree.status in {"planned", "failed"}:
        worktree.status = "ready"
        worktree.directory = event.directory
        worktree.common_dir = event.common_dir
        worktree.base = event.base
        worktree.target = event.target
        worktree.error_code = worktree.error_message = ""


def worktree_failed(state: State, _ts: str, event: e.WorktreeFailed) -> None:
    worktree = state.worktrees.get(event.number)
    if worktree is not None and worktree.status in {"planned", "discarding"}:
        worktree.status = "failed"
        worktree.error_code = event.error_code
        worktree.error_message = event.error_message


def merge_begun(state: State, _ts: str, event: e.WorktreeMergeBegun) -> None:
    worktree = state.worktrees.get(event.number)
    if worktree is not None and worktree.status == "ready":
        worktree.status = "merging"
        worktree.acted_by = event.person
        worktree.uncommitted = event.uncommitted


def worktree_merged(state: State, _ts: str, event: e.WorktreeMerged) -> None:
    worktree = state.worktrees.get(event.number)
    if worktree is not None and worktree.status == "merging":
        worktree.status = "ready"
        worktree.base = event.after
        worktree.target = event.target
        worktree.merges += 1


def merge_stopped(state: State, _ts: str, event: e.WorktreeMergeStopped) -> None:
    worktree = state.worktrees.get(event.number)
    if worktree is not None and worktree.status == "merging":
        worktree.status = "ready"


def discard_begun(state: State, _ts: str, event: e.WorktreeDiscardBegun) -> None:
    worktree = state.worktrees.get(event.number)
    if worktree is not None:
        worktree.status = "discarding"
        worktree.acted_by = event.person
        worktree.renew = event.renew


def worktree_discarded(state: State, ts: str, event: e.WorktreeDiscarded) -> None:
    """The agents' memories of what was said there go too: their files name a directory that is no more."""
    worktree = state.worktrees.pop(event.number, None)
    if worktree is None:
        return
    for session in state.sessions.values():
        gone = [slot for slot in session.resume_keys if slot.endswith(f" {worktree.directory}")]
        for slot in gone if worktree.directory else ():
            del session.resume_keys[slot]
        session.unproven = [slot for slot in session.unproven if slot in session.resume_keys]
    if event.ref:
        state.discarded_worktrees[event.number] = DiscardedWorktree(
            number=event.number,
            session_key=worktree.session_key,
            project=worktree.project,
            repository=worktree.repository,
            branch=worktree.branch,
            ref=event.ref,
            commit=event.commit,
            target=worktree.target,
            discarded_on=state.lived_day,
            discarded_at=ts,
        )


def rename_project(state: State, name: str, new_name: str) -> None:
    for worktree in (*state.worktrees.values(), *state.discarded_worktrees.values()):
        if worktree.project == name:
            worktree.project = new_name
