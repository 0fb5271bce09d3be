"""A journal as years of use would write it: ten threads, a job every twenty minutes, each of them two minutes long.

Its lines are those that the flow writes for such a job: taken, started, a sign of life every thirty seconds, ended and
owed, planned, delivered. A resume key is written once per session, when it is learnt.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from fairlead.core import timestamps
from fairlead.core.conversation import ConversationRef
from fairlead.core.events import (
    BindingBound,
    DeliveryOwed,
    DeliveryPlanned,
    JobCompleted,
    JobEnqueued,
    JobProgress,
    JobStarted,
    JournalEvent,
    Piece,
    PieceDelivered,
    ProjectCreated,
    ResumeKeyLearnt,
    SessionCreated,
    Spent,
    StateFounded,
)
from fairlead.core.ids import BindingId, JobId, MessageId, ResumeKey, SessionKeyText
from fairlead.core.keys import thread_key
from fairlead.core.state import answer_entry_id
from fairlead.store.lines import encode_batch

THREADS = 10
SECONDS_BETWEEN_JOBS = 1200
SIGNS_OF_LIFE = 4
_BEGAN = timestamps.to_epoch("2020-01-01T00:00:00.000Z")
_ANSWER = "All tests pass again; the fixture had kept a stale clock. " * 3

Batch = tuple[str, tuple[JournalEvent, ...]]


def batches() -> Iterator[Batch]:
    ts = timestamps.from_epoch(_BEGAN)
    yield ts, (StateFounded("beef", "bench"),)
    yield (
        ts,
        (ProjectCreated(number=1, name="api", path="/srv/api", enabled_runtimes=("echo",), default_runtime="echo"),),
    )
    conversations = [ConversationRef("bench", "fairlead", str(7000 + n), "6000") for n in range(THREADS)]
    keys = [thread_key(agent_id="fairlead", space_id="1", thread_id=p.conversation_id) for p in conversations]
    for n, (conversation, key) in enumerate(zip(conversations, keys, strict=True)):
        created = SessionCreated(
            session_key=key.text,
            session_id=key.session_id,
            project="api",
            runtime="echo",
            conversation=conversation,
            person="42",
        )
        bound = BindingBound(
            binding_id=BindingId(f"bind_{n + 1}"),
            target_session_key=key.text,
            target_kind="session",
            conversation=conversation,
            bound_at=ts,
        )
        yield ts, (created, bound)
    number = 0
    while True:
        number += 1
        ts = timestamps.from_epoch(_BEGAN + number * SECONDS_BETWEEN_JOBS)
        yield from _job(number, ts, keys[number % THREADS].text, conversations[number % THREADS])


def _job(number: int, ts: str, key: SessionKeyText, conversation: ConversationRef) -> Iterator[Batch]:
    job_id = JobId(f"job_{ts[:10].replace('-', '')}_{number:04d}")
    resume = ResumeKey(f"a1b2c3d4-1111-2222-3333-{number % THREADS:012d}")
    message_id = MessageId(str(10**18 + number))
    prompt = "please look at the failing tests of the api project and repair what broke them"
    enqueued = JobEnqueued(
        job_id=job_id, session_key=key, conversation=conversation, message_id=message_id, person="42", prompt=prompt
    )
    started = JobStarted(
        job_id=job_id, session_key=key, runtime="echo", project="api", project_path="/srv/api", resume_key=resume
    )
    yield ts, (enqueued,)
    yield ts, (started,)
    if number <= THREADS:
        yield ts, (ResumeKeyLearnt(session_key=key, generation=0, runtime="echo", project_path="/srv/api", key=resume),)
    for tools in range(1, SIGNS_OF_LIFE + 1):
        yield ts, (JobProgress(job_id, tools),)
    yield from _delivered_answer(job_id, ts, key, conversation, message_id)


def _delivered_answer(
    job_id: JobId, ts: str, key: SessionKeyText, conversation: ConversationRef, message_id: MessageId
) -> Iterator[Batch]:
    completed = JobCompleted(
        job_id=job_id, session_key=key, text=_ANSWER, excerpt=_ANSWER[:400], spent=Spent(1200, 300, 0, 0.01)
    )
    entry = answer_entry_id(job_id)
    owed = DeliveryOwed(entry_id=entry, kind="answer", session_key=key, requester=conversation, job_id=job_id)
    reason = "the requester's own binding"
    planned = DeliveryPlanned(
        entry_id=entry, destination=conversation, route="bound", reason=reason, pieces=(Piece(_ANSWER),)
    )
    yield ts, (completed, owed)
    yield ts, (planned,)
    yield ts, (PieceDelivered(entry, 0, message_id),)


def write_history(path: Path, count: int) -> int:
    """About `count` lines at `path`; how many exactly."""
    seq, chain = 1, 0
    with path.open("wb") as file:
        for ts, events in islice(batches(), count):
            data, chain = encode_batch(seq, ts, events, chain)
            file.write(data)
            seq += len(events)
            if seq > count:
                break
    return seq - 1
