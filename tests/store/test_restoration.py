"""Going back on purpose: it is said before what will be forgotten, and the old files are kept."""

from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from fairlead.core import events as e
from fairlead.core.conversation import ConversationRef
from fairlead.core.keys import thread_key
from fairlead.errors import Code, FairleadError
from fairlead.store.blobs import BLOBS_NAME
from fairlead.store.journal import JOURNAL_NAME, SNAPSHOT_NAME, open_state
from fairlead.store.restoration import Forgotten, carry_out, plan_restoration
from fairlead.store.snapshot import encode_snapshot
from fairlead.store.verification import verify
from fairlead.testing.disk import SimulatedDisk
from tests.store.harness import STATE, STORY, batch_ends, disk_with, encoded

pytestmark = pytest.mark.req("A15")

HERE = ConversationRef("chat", "home", "1")
KEY = str(thread_key(agent_id="fairlead", space_id="9", thread_id="555"))
COPY = Path("/copies/old/events.ndjson")
BLOB = "a" * 64


def enqueued(number: int, **more: str) -> e.JobEnqueued:
    return e.JobEnqueued(
        job_id=f"job_{number}",
        session_key=KEY,
        conversation=HERE,
        message_id=f"{number}",
        person="42",
        prompt="x",
        **more,
    )


def started(number: int) -> e.JobStarted:
    return e.JobStarted(job_id=f"job_{number}", session_key=KEY, runtime="echo", project="api", project_path="/srv/api")


def ended(number: int) -> tuple[e.JournalEvent, ...]:
    return (
        e.JobCompleted(job_id=f"job_{number}", session_key=KEY, text="done", excerpt="done", spent=e.Spent()),
        e.DeliveryOwed(
            entry_id=f"debt_job_{number}", kind="answer", session_key=KEY, requester=HERE, job_id=f"job_{number}"
        ),
    )


LIVES = (
    *STORY,
    (
        e.SessionCreated(
            session_key=KEY, session_id="555", project="api", runtime="echo", conversation=HERE, person="42"
        ),
    ),
    (enqueued(1),),
    (started(1),),
    ended(1),
    (enqueued(2, prompt_blob=BLOB), started(2)),
    ended(2),
)
DATA = encoded(LIVES)
ENDS = batch_ends(LIVES)
AFTER_FIRST_MESSAGE = ENDS[len(STORY) + 2]
ALL_LATER = Forgotten(facts=7, jobs=("job_2",), answers=("job_1", "job_2"), keys=1, run_again=("job_1",))


def state_with(journal: bytes) -> SimulatedDisk:
    """A journal and the snapshot of all that was ever written, with the blob of the second prompt."""
    whole = open_state(STATE, disk_with(DATA))
    snapshot = encode_snapshot(whole.state, whole.position, whole.last_line)
    disk = disk_with(snapshot, SNAPSHOT_NAME, disk_with(journal))
    disk.mkdir(STATE / BLOBS_NAME)
    return disk_with(b"a long prompt", f"{BLOBS_NAME}/{BLOB}", disk)


def with_copy(disk: SimulatedDisk, data: bytes) -> SimulatedDisk:
    disk.mkdir(Path("/copies"))
    disk.mkdir(COPY.parent)
    return disk_with(data, str(COPY), disk)


def test_what_is_left_is_kept_and_what_it_lacks_is_said_before():
    disk = state_with(DATA[:AFTER_FIRST_MESSAGE])
    before = disk.listdir(STATE)
    plan = plan_restoration(STATE, disk)
    assert disk.listdir(STATE) == before, "nothing is changed before somebody agreed"
    assert plan.forgotten == ALL_LATER
    carry_out(plan, STATE, disk, "NOW")
    opened = open_state(STATE, disk)
    assert opened.state.sessions[KEY].queue == ["job_1"]
    assert opened.reports == ()
    assert verify(STATE, disk).ok


def test_an_older_copy_takes_the_journals_place():
    disk = with_copy(state_with(DATA), DATA[:AFTER_FIRST_MESSAGE])
    plan = plan_restoration(STATE, disk, COPY)
    assert plan.forgotten == ALL_LATER
    kept = carry_out(plan, STATE, disk, "NOW")
    assert disk.read(STATE / JOURNAL_NAME) == DATA[:AFTER_FIRST_MESSAGE]
    assert [path.name for path in kept] == [
        "events.ndjson.before-restore-NOW",
        "blobs.before-restore-NOW",
        "snapshot.json.before-restore-NOW",
    ]
    assert disk.read(kept[0]) == DATA
    assert disk.read(kept[1] / BLOB) == b"a long prompt", "the next start removes it from its old place"
    assert open_state(STATE, disk).state.seq == plan.lines


def test_a_copy_that_has_everything_forgets_nothing_and_brings_its_blobs():
    disk = with_copy(state_with(b""), DATA)
    disk.unlink(STATE / BLOBS_NAME / BLOB)
    disk.mkdir(COPY.parent / BLOBS_NAME)
    disk_with(b"a long prompt", f"{COPY.parent}/{BLOBS_NAME}/{BLOB}", disk)
    plan = plan_restoration(STATE, disk, COPY)
    assert plan.forgotten == Forgotten(facts=0, jobs=(), answers=(), keys=0, run_again=())
    carry_out(plan, STATE, disk, "NOW")
    assert disk.read(STATE / BLOBS_NAME / BLOB) == b"a long prompt"


def test_a_damaged_journal_is_kept_up_to_its_damage():
    spoilt = bytearray(DATA)
    spoilt[AFTER_FIRST_MESSAGE + 30] ^= 1
    disk = state_with(bytes(spoilt))
    plan = plan_restoration(STATE, disk)
    assert "line 11" in plan.damage
    assert (plan.end, plan.forgotten) == (AFTER_FIRST_MESSAGE, ALL_LATER)
    carry_out(plan, STATE, disk, "NOW")
    assert open_state(STATE, disk).state.sessions[KEY].queue == ["job_1"]


def test_a_copy_that_went_its_own_way_forgets_from_the_fork_on():
    other = encoded([*LIVES[: len(STORY) + 1], (enqueued(7),), (started(7),), ended(7), (enqueued(8),)])
    disk = with_copy(state_with(DATA), other)
    forgotten = plan_restoration(STATE, disk, COPY).forgotten
    assert (forgotten.facts, forgotten.jobs) == (8, ("job_1", "job_2"))


@pytest.mark.parametrize("data", [b"", b"no journal\n", DATA[:400].replace(b"abcd", b"abce") + DATA[400:]])
def test_a_copy_that_is_no_sound_journal_is_refused(data: bytes):
    disk = with_copy(state_with(DATA), data)
    with pytest.raises(FairleadError) as refused:
        plan_restoration(STATE, disk, COPY)
    assert refused.value.code in {Code.E_CONFIG, Code.E_JOURNAL_BROKEN}


class Refused(Exception):  # noqa: N818 - a start that stops
    pass


def seq_after_start(disk: SimulatedDisk) -> int:
    try:
        return open_state(STATE, disk).state.seq
    except FairleadError as refusal:
        raise Refused(refusal.code) from None


def test_a_crash_at_any_step_leaves_the_old_state_or_the_new_one_or_one_that_refuses_to_start():
    copy = DATA[:AFTER_FIRST_MESSAGE]
    whole = with_copy(state_with(DATA), copy)
    plan = plan_restoration(STATE, whole, COPY)
    carry_out(plan, STATE, whole, "NOW")
    for crash_at in range(whole.operations):
        disk = with_copy(state_with(DATA), copy)
        found: list[SimulatedDisk] = []

        def look(number: int, disk: SimulatedDisk = disk, found: list[SimulatedDisk] = found) -> None:
            if number == crash_at:  # noqa: B023 - called in this round
                found.append(disk.crash(Random(crash_at)))  # noqa: B023

        disk.before_operation = look
        carry_out(plan, STATE, disk, "NOW")
        for left in found:
            with suppress(Refused):
                assert seq_after_start(left) in {plan.lines, sum(map(len, LIVES))}
