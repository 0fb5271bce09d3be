"""Deciding about worktrees of sessions: who gets one, and what git made of it. The caller has looked at the repository.

A worktree is planned by a fact, and git works only after that fact is durable. So whatever a crash interrupts is in the
state, and the next start finishes it.
"""

from typing import Final

import msgspec

from fairlead.core import message_ids
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.decision import NOTHING, Decision, refuse
from fairlead.core.decide.messages import new_job_id
from fairlead.core.decide.projects import project_to_work_in
from fairlead.core.decide.sessions import binding_events
from fairlead.core.events import (
    DeliveryOwed,
    JobEnqueued,
    JournalEvent,
    ProjectWorktreesSet,
    SessionCreated,
    WorktreeDiscardBegun,
    WorktreeDiscarded,
    WorktreeFailed,
    WorktreeMade,
    WorktreeMergeBegun,
    WorktreeMerged,
    WorktreeMergeStopped,
    WorktreePlanned,
)
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.inbound import clean_text
from fairlead.core.job_names import short_name
from fairlead.core.keys import SessionKey
from fairlead.core.limits import Limits
from fairlead.core.state import Project, State, resume_slot, worktree_entry_id
from fairlead.core.worktree_plans import plan_worktree, taken_branches
from fairlead.core.worktrees import (
    MAX_FILES_NAMED,
    KeptWork,
    MadeWorktree,
    MergeResult,
    UncommittedChoice,
    Worktree,
    WorktreeNotice,
    branch_name,
    free_branch,
)
from fairlead.errors import Code, FairleadError, error

_RESOLVE: Final = (
    "A person asked Fairlead to merge your branch {branch} into {target}, and rebasing it stopped at conflicts in:\n"
    "{files}\n\n"
    "Nothing was changed: the rebase was aborted. In this directory, which is a git worktree, run "
    "`git rebase {target}`, resolve the conflicts so that both sides' intent is kept, `git add` the files and "
    "`git rebase --continue` until it is done. Then check that everything works. Do not merge into {target} and "
    "change nothing outside of this directory: a person reads what you did and approves it with /merge."
)


class SetProjectWorktrees(msgspec.Struct, frozen=True):
    project: str
    wanted: bool
    person: str


class WantWorktree(msgspec.Struct, frozen=True, kw_only=True):
    """This session shall work in a worktree from now on; where there is no session yet, it begins with one. `branches`
    are those that the repository has. `source` and `target` are of a discarded worktree that is brought back."""

    session_key: SessionKey
    conversation: ConversationRef
    person: str
    project: str | None = None
    branches: frozenset[str] = frozenset()
    branch: str = ""
    source: str = ""
    target: str = ""


class PlanAgain(msgspec.Struct, frozen=True):
    """The worktree is to be made once more: its branch's name was taken, or a person asks for it after a failure."""

    number: int
    branches: frozenset[str] = frozenset()


class FinishMaking(msgspec.Struct, frozen=True):
    number: int
    made: MadeWorktree
    tell: bool = False


class FailMaking(msgspec.Struct, frozen=True):
    """The worktree could not be made, or not be removed whole."""

    number: int
    code: Code
    message: str
    tell: bool = False


class BeginMerge(msgspec.Struct, frozen=True):
    number: int
    person: str
    uncommitted: UncommittedChoice = "refuse"


class FinishMerge(msgspec.Struct, frozen=True):
    number: int
    result: MergeResult
    tell: bool = False


class StopMerge(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing was merged. Where commits conflict, the session's agent is asked to resolve that."""

    number: int
    code: Code
    message: str
    files: tuple[str, ...] = ()
    target: str = ""
    tell: bool = False


class BeginDiscard(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    person: str
    renew: bool = False


class FinishDiscard(msgspec.Struct, frozen=True):
    number: int
    kept: KeptWork | None
    tell: bool = False


def set_project_worktrees(state: State, command: SetProjectWorktrees, _now: str, _limits: Limits) -> Decision:
    project = state.project_named(command.project)
    if project is None:
        return refuse(Code.E_PROJECT_NOT_FOUND, f"There is no project {command.project[:60]!r}.")
    if project.worktrees == command.wanted:
        return Decision(project=project.name)
    return Decision((ProjectWorktreesSet(project.name, command.wanted, command.person),), project=project.name)


def want_worktree(state: State, command: WantWorktree, now: str, limits: Limits) -> Decision:
    session = state.session_for(command.conversation, command.session_key, now)
    project = project_to_work_in(state, session=session, person=command.person, asked_for=command.project)
    if isinstance(project, FairleadError):
        return Decision(refusal=project)
    key = command.session_key.text if session is None else session.session_key
    own = state.worktree_of(key, project.name)
    if own is not None and own.session_key == key:
        return Decision(worktree=own.number, duplicate=True)
    problem = _memory_problem(state, key, project)
    if problem is not None:
        return Decision(refusal=problem)
    before = () if session is not None else _session_events(state, command, project, now)
    title = session.title if session is not None else ""
    wanted = command.branch or branch_name(title, project.name, now)
    planned = plan_worktree(
        state,
        session_key=key,
        project=project,
        person=command.person,
        branch=free_branch(wanted, taken_branches(state) | command.branches),
        limits=limits,
    )
    if isinstance(planned, FairleadError):
        return Decision(refusal=planned)
    planned = msgspec.structs.replace(planned, source=command.source, target=command.target)
    return Decision((*before, planned), worktree=planned.number)


def _memory_problem(state: State, session_key: SessionKeyText, project: Project) -> FairleadError | None:
    """An agent's memory of a session belongs to the directory that it works in, and cannot be taken along."""
    session = state.sessions.get(session_key)
    if session is None:
        return None
    running = session.running_job_id or session.agent_job_id
    if running:
        return error(Code.E_WORKTREE_BUSY, f"{short_name(running)} is still running.")
    here = state.directory_of(session_key, project)
    if session.proven_key(resume_slot(session.runtime, here)) is None:
        return None
    return error(
        Code.E_SESSION_STATE,
        "The agent has a conversation in the project's directory, which it cannot take along into a worktree.",
        next_step="/reset begins a new conversation here; then say this again. /fork worktree:yes goes on in a "
        "worktree with what was said.",
    )


def _session_events(state: State, command: WantWorktree, project: Project, now: str) -> tuple[JournalEvent, ...]:
    key = command.session_key
    created = SessionCreated(
        session_key=key.text,
        session_id=key.session_id,
        project=project.name,
        runtime=project.default_runtime,
        conversation=command.conversation,
        person=command.person,
    )
    return (created, *binding_events(state, key.text, command.conversation, now))


def plan_again(state: State, command: PlanAgain, _now: str, _limits: Limits) -> Decision:
    worktree = state.worktrees.get(command.number)
    if worktree is None or worktree.status not in {"planned", "failed"}:
        return NOTHING
    others = taken_branches(state, besides=worktree.number) | command.branches
    planned = WorktreePlanned(
        number=worktree.number,
        session_key=worktree.session_key,
        project=worktree.project,
        person=worktree.person,
        repository=worktree.repository,
        path=worktree.path,
        branch=free_branch(worktree.branch, others),
        source=worktree.source,
        target=worktree.target,
    )
    return Decision((planned,), worktree=worktree.number)


def finish_making(state: State, command: FinishMaking, _now: str, _limits: Limits) -> Decision:
    worktree = state.worktrees.get(command.number)
    if worktree is None or worktree.status != "planned":
        return NOTHING
    made = command.made
    fact = WorktreeMade(
        number=command.number,
        directory=made.directory,
        common_dir=made.common_dir,
        base=made.base,
        target=made.target,
        left_behind=made.left_behind,
    )
    notice = _notice(state, worktree, "made", target=made.target, count=made.left_behind) if command.tell else ()
    return Decision((fact, *notice), worktree=command.number)


def fail_making(state: State, command: FailMaking, _now: str, _limits: Limits) -> Decision:
    worktree = state.worktrees.get(command.number)
    if worktree is None or worktree.status not in {"planned", "discarding"}:
        return NOTHING
    fact = WorktreeFailed(number=command.number, error_code=command.code, error_message=command.message)
    told = _notice(state, worktree, "failed", code=command.code, detail=command.message) if command.tell else ()
    return Decision((fact, *told), worktree=command.number)


def begin_merge(state: State, command: BeginMerge, _now: str, _limits: Limits) -> Decision:
    worktree = state.worktrees.get(command.number)
    if worktree is None:
        return refuse(Code.E_NO_WORKTREE)
    if worktree.status == "failed":
        return refuse(Code(worktree.error_code), worktree.error_message)
    busy = _busy_problem(state, worktree)
    if busy is not None:
        return Decision(refusal=busy)
    begun = WorktreeMergeBegun(number=command.number, person=command.person, uncommitted=command.uncommitted)
    return Decision((begun,), worktree=command.number)


def finish_merge(state: State, command: FinishMerge, _now: str, _limits: Limits) -> Decision:
    worktree = state.worktrees.get(command.number)
    if worktree is None or worktree.status != "merging":
        return NOTHING
    result = command.result
    fact = WorktreeMerged(
        number=command.number,
        target=result.target,
        before=result.before,
        after=result.after,
        commits=result.commits_total,
        files=result.files_total,
    )
    told = _notice(state, worktree, "merged", target=result.target, count=result.commits_total) if command.tell else ()
    return Decision((fact, *told), worktree=command.number)


def stop_merge(state: State, command: StopMerge, now: str, _limits: Limits) -> Decision:
    worktree = state.worktrees.get(command.number)
    if worktree is None or worktree.status != "merging":
        return NOTHING
    fact = WorktreeMergeStopped(
        number=command.number, error_code=command.code, error_message=command.message, files=command.files
    )
    asked = _resolving_job(state, worktree, command, now) if command.code is Code.E_MERGE_CONFLICT else None
    notice = (
        _notice(state, worktree, "stopped", code=command.code, detail=command.message, files=command.files)
        if command.tell
        else ()
    )
    job_id = JobId("") if asked is None else asked.job_id
    return Decision((fact, *(() if asked is None else (asked,)), *notice), worktree=command.number, job_id=job_id)


def _resolving_job(state: State, worktree: Worktree, command: StopMerge, now: str) -> JobEnqueued | None:
    """Before the messages that wait: a person waits for the merge."""
    session = state.sessions.get(worktree.session_key)
    if session is None:
        return None
    files = "\n".join(f"- {_printable(name)}" for name in command.files[:MAX_FILES_NAMED])
    return JobEnqueued(
        job_id=new_job_id(state, now),
        session_key=session.session_key,
        conversation=session.conversation,
        message_id=message_ids.merge_id(worktree.number, state.seq),
        person=worktree.acted_by,
        prompt=_RESOLVE.format(branch=worktree.branch, target=command.target, files=files),
        cause="merge",
        project=worktree.project,
        first=True,
    )


def _printable(name: str) -> str:
    """The name of a file is data: it begins no line of the prompt."""
    return "".join(c if c.isprintable() else "\ufffd" for c in clean_text(name))


def begin_discard(state: State, command: BeginDiscard, _now: str, _limits: Limits) -> Decision:
    worktree = state.worktrees.get(command.number)
    if worktree is None:
        return refuse(Code.E_NO_WORKTREE)
    busy = None if worktree.status == "failed" else _busy_problem(state, worktree)
    if busy is not None:
        return Decision(refusal=busy)
    begun = WorktreeDiscardBegun(number=command.number, person=command.person, renew=command.renew)
    return Decision((begun,), worktree=command.number)


def finish_discard(state: State, command: FinishDiscard, now: str, limits: Limits) -> Decision:
    worktree = state.worktrees.get(command.number)
    if worktree is None or worktree.status != "discarding":
        return NOTHING
    kept = command.kept
    fact = WorktreeDiscarded(number=command.number, ref=kept.ref if kept else "", commit=kept.commit if kept else "")
    told = _notice(state, worktree, "discarded") if command.tell else ()
    return Decision((fact, *told, *_renewal(state, worktree, now, limits)), worktree=command.number)


def _renewal(state: State, worktree: Worktree, now: str, limits: Limits) -> tuple[JournalEvent, ...]:
    project, session = state.projects.get(worktree.project), state.sessions.get(worktree.session_key)
    if not worktree.renew or project is None or project.removed or session is None:
        return ()
    wanted = branch_name("", project.name, now)
    planned = plan_worktree(
        state,
        session_key=session.session_key,
        project=project,
        person=worktree.person,
        branch=free_branch(wanted, taken_branches(state)),
        limits=limits,
    )
    return () if isinstance(planned, FairleadError) else (planned,)


def _busy_problem(state: State, worktree: Worktree) -> FairleadError | None:
    if worktree.status != "ready":
        return error(Code.E_WORKTREE_BUSY, f"Worktree {worktree.number} is {worktree.status}.")
    running = [j for j in (*state.running, *state.waiting) if state.jobs[j].project_path == worktree.directory]
    if not running:
        return None
    return error(Code.E_WORKTREE_BUSY, f"{', '.join(map(short_name, running[:5]))} is still running there.")


def _notice(state: State, worktree: Worktree, what: str, **fields: object) -> tuple[JournalEvent, ...]:
    session = state.sessions.get(worktree.session_key)
    if session is None:
        return ()
    notice = msgspec.convert(
        {"what": what, "number": worktree.number, "person": worktree.acted_by, "branch": worktree.branch, **fields},
        WorktreeNotice,
    )
    owed = DeliveryOwed(
        entry_id=worktree_entry_id(worktree.number, state.seq),
        kind="notice",
        session_key=session.session_key,
        requester=session.conversation,
        worktree=notice,
    )
    return (owed,)
