"""What is written about the files of a job's directory. Looks at no file: the caller has."""

import msgspec

from fairlead.core.decide.decision import NOTHING, Decision
from fairlead.core.events import DeliveryOwed, TreeSnapshotMissed, TreeSnapshotTaken
from fairlead.core.ids import JobId
from fairlead.core.limits import Limits
from fairlead.core.state import Job, State, answer_entry_id, card_entry_id
from fairlead.core.trees import ChangeSummary, Moment, TreeSnapshot


class NoteSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    job_id: JobId
    moment: Moment
    snapshot: TreeSnapshot
    changed: ChangeSummary | None = None
    is_late: bool = False


class MissSnapshot(msgspec.Struct, frozen=True):
    job_id: JobId
    moment: Moment
    code: str
    reason: str


def note_snapshot(state: State, command: NoteSnapshot, _now: str, _limits: Limits) -> Decision:
    """A job has one start and one end. A job that has left the state needs none."""
    job = state.jobs.get(command.job_id)
    if job is None or not _is_wanted(state, command.job_id, command.moment):
        return NOTHING
    taken = TreeSnapshotTaken(
        job_id=command.job_id,
        moment=command.moment,
        snapshot=command.snapshot,
        changed=command.changed,
        is_late=command.is_late,
    )
    return Decision((taken, *_owe_card(state, job, command)), job_id=command.job_id)


def _owe_card(state: State, job: Job, command: NoteSnapshot) -> tuple[DeliveryOwed, ...]:
    """Of a turn whose answer was planned before it was known what had changed: the card follows by itself. What an
    agent asked for goes to the agent, which needs no card."""
    answer = state.outbox.get(answer_entry_id(job.job_id))
    if command.changed is None or job.is_live or (answer is not None and answer.plan is None):
        return ()
    spawned = state.spawns.get(job.session_key)
    if spawned is not None and spawned.returns == "session":
        return ()
    owed = DeliveryOwed(
        entry_id=card_entry_id(job.job_id),
        kind="card",
        session_key=job.session_key,
        requester=job.conversation,
        job_id=job.job_id,
    )
    return (owed,)


def miss_snapshot(state: State, command: MissSnapshot, _now: str, _limits: Limits) -> Decision:
    if not _is_wanted(state, command.job_id, command.moment):
        return NOTHING
    return Decision((TreeSnapshotMissed(command.job_id, command.moment, command.code, command.reason[:300]),))


def _is_wanted(state: State, job_id: JobId, moment: Moment) -> bool:
    job = state.jobs.get(job_id)
    if job is None:
        return False
    if moment == "end":
        return job_id in state.open_trees
    return job.state in {"running", "waiting"} and (job.tree is None or job.tree.start is None)
