"""The one place where a session gets a worktree: a fact that plans it. Also for sessions that are only being made.

Code that creates a session adds `plan_worktree` to the same batch; the first job then waits until git has made it.
"""

from fairlead.core.events import WorktreePlanned
from fairlead.core.ids import SessionKeyText
from fairlead.core.limits import Limits
from fairlead.core.machines.places import machine_of, own_name, place
from fairlead.core.state import Project, State
from fairlead.core.worktrees import BRANCH_PREFIX, branch_name, free_branch
from fairlead.errors import Code, FairleadError, error


def plan_worktree(
    state: State, *, session_key: SessionKeyText, project: Project, person: str, branch: str, limits: Limits
) -> WorktreePlanned | FairleadError:
    """The fact that gives this session a worktree of this project, or why there can be none."""
    if not limits.worktrees:
        return error(Code.E_WORKTREE_UNAVAILABLE, "This Fairlead has no directory for worktrees.")
    number = state.worktrees_made + 1
    slug = branch.removeprefix(BRANCH_PREFIX)
    return WorktreePlanned(
        number=number,
        session_key=session_key,
        project=project.name,
        person=person,
        repository=project.path,
        path=_path_of(project, f"{number}-{slug}", limits),
        branch=branch,
    )


def _path_of(project: Project, name: str, limits: Limits) -> str:
    """On another machine it is relative: the runner there has a directory of its own for them."""
    machine = machine_of(project.path)
    if machine:
        return place(machine, f"{own_name(project.workspace_name)}/{name}")
    return f"{limits.worktrees}/{project.workspace_name}/{name}"


def plan_by_default(
    state: State, *, session_key: SessionKeyText, project: Project, person: str, title: str, now: str, limits: Limits
) -> tuple[WorktreePlanned, ...]:
    """For a session that a person begins in this project, or moves into it, without a word about worktrees: the
    project's own choice. A session that has a worktree there, or whose agent remembers a conversation in the project's
    directory, stays where it is."""
    if not project.worktrees or state.worktree_of(session_key, project.name) is not None:
        return ()
    session = state.sessions.get(session_key)
    if session is not None and any(slot.endswith(f" {project.path}") for slot in session.resume_keys):
        return ()
    planned = plan_worktree(
        state,
        session_key=session_key,
        project=project,
        person=person,
        branch=free_branch(branch_name(title, project.name, now), taken_branches(state)),
        limits=limits,
    )
    return () if isinstance(planned, FairleadError) else (planned,)


def taken_branches(state: State, besides: int = 0) -> frozenset[str]:
    """The branches that worktrees have, or will have when their threads stand."""
    planned = (w.branch for w in state.worktrees.values() if w.number != besides)
    opening = (e.opening.branch for e in state.outbox.values() if e.opening is not None and e.opening.branch)
    return frozenset((*planned, *opening))
