"""The snapshot saves time and is never the truth: what does not fit is set aside, and the journal read instead."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core import events as e
from fairlead.core.conversation import ConversationRef
from fairlead.core.fold import replay
from fairlead.core.keys import thread_key, user_key
from fairlead.core.state import FOLD_VERSION, State, as_data
from fairlead.errors import Code, FairleadError
from fairlead.render.errors import error_sentence
from fairlead.store.journal import JOURNAL_NAME, SNAPSHOT_NAME, open_state
from fairlead.store.lines import seal
from fairlead.store.reader import BLOCK, Position, read_lines
from fairlead.store.snapshot import encode_snapshot
from fairlead.store.verification import verify
from fairlead.testing.disk import SimulatedDisk
from tests.store.harness import STATE, STORY, TS, batch_ends, disk_with, encoded

pytestmark = pytest.mark.req("A7")

JOURNAL, SNAPSHOT = STATE / JOURNAL_NAME, STATE / SNAPSHOT_NAME
THREAD = ConversationRef("discord", "1", "555", "44")
KEY = str(thread_key(agent_id="fairlead", space_id="9", thread_id="555"))
JOBS = tuple(f"job_20260105_{n:04d}" for n in range(1, 5))

RICH = (
    *STORY,
    (
        e.SessionCreated(
            session_key=KEY, session_id="555", project="api", runtime="codex", conversation=THREAD, person="42"
        ),
        e.BindingBound(
            binding_id="bind_1",
            target_session_key=KEY,
            target_kind="session",
            conversation=THREAD,
            bound_at=TS,
            metadata={"by": "/start"},
        ),
    ),
    (
        e.JobEnqueued(
            job_id=JOBS[0], session_key=KEY, conversation=THREAD, message_id="7001", person="42", prompt="fix the tests"
        ),
    ),
    (e.JobStarted(job_id=JOBS[0], session_key=KEY, runtime="codex", project="api", project_path="/srv/api"),),
    (e.ResumeKeyLearnt(session_key=KEY, generation=0, runtime="codex", project_path="/srv/api", key="thread-abc"),),
    (
        e.JobEnqueued(
            job_id=JOBS[1],
            session_key=KEY,
            conversation=THREAD,
            message_id="7002",
            person="42",
            prompt="and then the docs",
        ),
    ),
    (
        e.JobCompleted(job_id=JOBS[0], session_key=KEY, text="done", excerpt="done", spent=e.Spent(10, 20, 0, 0.25)),
        e.DeliveryOwed(entry_id=f"debt_{JOBS[0]}", kind="answer", session_key=KEY, requester=THREAD, job_id=JOBS[0]),
    ),
    (e.MessageRefused(conversation=THREAD, message_id="7003", person="42", error_code="E_QUEUE_FULL"),),
    (
        e.JobStarted(
            job_id=JOBS[1],
            session_key=KEY,
            runtime="codex",
            project="api",
            project_path="/srv/api",
            generation=0,
            resume_key="thread-abc",
        ),
    ),
    (
        e.QuestionAsked(
            question_id="q_1",
            job_id=JOBS[1],
            session_key=KEY,
            kind="permission",
            request_id="r1",
            title="Run ls",
            deadline=TS,
            tool="Bash",
            detail="ls",
            rule="Bash(ls)",
        ),
        e.DeliveryOwed(
            entry_id="debt_q_1", kind="question", session_key=KEY, requester=THREAD, job_id=JOBS[1], question_id="q_1"
        ),
    ),
    (
        e.DeliveryPlanned(
            entry_id=f"debt_{JOBS[0]}", destination=THREAD, route="bound", reason="why", pieces=(e.Piece("done"),)
        ),
    ),
    (
        e.JobEnqueued(
            job_id=JOBS[2], session_key=KEY, conversation=THREAD, message_id="7004", person="42", prompt="later"
        ),
    ),
)
DATA = encoded(RICH)
ENDS = batch_ends(RICH)
LINES = sum(map(len, RICH))


def state_after(disk: SimulatedDisk, end: int) -> tuple[State, Position]:
    state = State()
    return state, read_lines(disk, JOURNAL, Position(), end, lambda some: replay(state, some))


def snapshot_of(batches: int) -> bytes:
    end = ENDS[batches]
    state, position = state_after(disk_with(DATA), end)
    return encode_snapshot(state, position, DATA[: end - 1].rpartition(b"\n")[2])


def with_snapshot(snapshot: bytes, journal: bytes = DATA) -> SimulatedDisk:
    return disk_with(snapshot, SNAPSHOT_NAME, disk_with(journal))


def resealed(snapshot: bytes, **changes) -> bytes:
    content = json.loads(snapshot) | changes
    del content["crc"]
    return seal(msgspec.json.encode(content))


@pytest.mark.req("A20")
@given(covered=st.integers(1, len(RICH)))
def test_a_snapshot_and_the_tail_give_what_the_journal_alone_gives(covered: int):
    alone = open_state(STATE, disk_with(DATA))
    both = open_state(STATE, with_snapshot(snapshot_of(covered)))
    assert as_data(both.state) == as_data(alone.state)
    assert both.position == alone.position
    assert both.reports == ()


def test_a_start_with_a_snapshot_reads_only_the_tail():
    spoilt = bytearray(DATA)
    spoilt[5] ^= 1
    opened = open_state(STATE, with_snapshot(snapshot_of(len(RICH)), bytes(spoilt)))
    assert opened.state.seq == state_after(disk_with(DATA), len(DATA))[1].seq
    verdict = verify(STATE, with_snapshot(snapshot_of(len(RICH)), bytes(spoilt)))
    assert not verdict.ok, "but `journal verify` reads everything"
    assert "line 1" in verdict.lines[0]


class CountingDisk(SimulatedDisk):
    """Knows the most bytes that anybody wanted at once."""

    def __init__(self) -> None:
        super().__init__()
        self.most_read = 0

    def read(self, path: Path, offset: int = 0, length: int | None = None) -> bytes:
        data = super().read(path, offset, length)
        self.most_read = max(self.most_read, len(data))
        return data


def test_a_journal_of_any_size_is_verified_a_block_at_a_time():
    long = (*RICH, *((e.DaemonStarted("1.2", n),) for n in range(20_000)))
    data = encoded(long)
    disk = disk_with(snapshot_of(len(RICH)), SNAPSHOT_NAME, disk_with(data, disk=CountingDisk()))
    verdict = verify(STATE, disk)
    assert verdict.ok, verdict.lines
    assert any("agrees" in line for line in verdict.lines)
    assert disk.most_read <= BLOCK < len(data) / 4


def assert_set_aside(disk: SimulatedDisk, why: str) -> None:
    kept = disk.read(SNAPSHOT)
    opened = open_state(STATE, disk)
    journal_alone, _ = state_after(disk, len(disk.read(JOURNAL)))
    assert as_data(opened.state) == as_data(journal_alone)
    assert why in opened.reports[0]
    assert str(SNAPSHOT) in opened.reports[0]
    assert not disk.exists(SNAPSHOT)
    assert disk.read(STATE / f"{SNAPSHOT_NAME}.set-aside") == kept


def stopped(disk: SimulatedDisk) -> str:
    """The words of a start that stops, and that changes no byte."""
    before = {name: disk.read(STATE / name) for name in disk.listdir(STATE)}
    with pytest.raises(FairleadError) as stop:
        open_state(STATE, disk)
    assert stop.value.code is Code.E_JOURNAL_BROKEN
    assert {name: disk.read(STATE / name) for name in disk.listdir(STATE)} == before
    verdict = verify(STATE, disk)
    assert not verdict.ok
    assert verdict.lines == (error_sentence(stop.value),), "`journal verify` says the same"
    return error_sentence(stop.value)


@pytest.mark.req("A15")
@pytest.mark.parametrize("fold", [FOLD_VERSION, FOLD_VERSION - 1])
@pytest.mark.parametrize("left", [0, ENDS[4], ENDS[-2], ENDS[-2] + 7, len(DATA) - 1])
def test_a_journal_shorter_than_its_snapshot_proves_stops_the_start(left: int, fold: int):
    snapshot = resealed(snapshot_of(len(RICH)), fold=fold)
    said = stopped(with_snapshot(snapshot, DATA[:left]))
    there = DATA[: max(end for end in ENDS if end <= left)].count(b"\n")
    assert f"has {there} lines, and snapshot.json proves that {LINES} were written" in said
    assert "`fairlead restore COPY`" in said


@pytest.mark.req("A15")
def test_a_journal_that_is_gone_beside_its_snapshot_stops_the_start():
    assert "has 0 lines" in stopped(disk_with(snapshot_of(len(RICH)), SNAPSHOT_NAME))


@pytest.mark.req("A15")
def test_a_journal_that_was_replaced_beside_its_snapshot_stops_the_start():
    other = encoded(
        [
            *RICH[:-1],
            (
                e.JobEnqueued(
                    job_id=JOBS[2], session_key=KEY, conversation=THREAD, message_id="7004", person="42", prompt="LATER"
                ),
            ),
        ]
    )
    assert len(other) == len(DATA)
    assert "holds another line" in stopped(with_snapshot(snapshot_of(len(RICH)), other))


@pytest.mark.req("A15")
def test_a_flipped_byte_in_the_last_covered_line_stops_the_start_and_names_the_line():
    for at in range(ENDS[-2], len(DATA)):
        spoilt = bytearray(DATA)
        spoilt[at] ^= 1
        assert re.search(rf"line {LINES}\b", stopped(with_snapshot(snapshot_of(len(RICH)), bytes(spoilt))))


@pytest.mark.parametrize("change", [{"fold": 0}, {"fold": 99}, {"version": 2}])
def test_a_snapshot_of_another_version_is_set_aside(change: dict):
    assert_set_aside(with_snapshot(resealed(snapshot_of(3), **change)), "another version")


@pytest.mark.parametrize("content", [b"", b"{", b"null", b"[]", b'{"version":1}', b"\xff\xfe", b"\0" * 4000])
def test_a_snapshot_that_cannot_be_read_is_set_aside(content: bytes):
    assert_set_aside(with_snapshot(content), "cannot be read")


@pytest.mark.parametrize("change", [{"sessions": 3}, {"jobs": {"a": {}}}, {"sessions": {"555": {}}}, {"seq": "x"}])
def test_a_snapshot_that_cannot_be_understood_is_set_aside(change: dict):
    assert_set_aside(with_snapshot(resealed(snapshot_of(len(RICH)), **change)), "")


@given(data=st.data())
def test_a_snapshot_with_a_flipped_byte_is_never_believed(data):
    whole = snapshot_of(len(RICH))
    at = data.draw(st.integers(0, len(whole) - 1))
    spoilt = bytearray(whole)
    spoilt[at] ^= 1 << data.draw(st.integers(0, 7))
    assert_set_aside(with_snapshot(bytes(spoilt)), "")


@pytest.mark.req("A15")
def test_the_file_has_every_published_field():
    shown = json.loads(snapshot_of(len(RICH)))
    assert shown["version"] == 1
    session = shown["sessions"]["555"]
    assert {
        "thread_id": "555",
        "project_name": "api",
        "tool": "codex",
        "adapter_state": {"thread_id": "thread-abc"},
        "adapter_states": {"codex /srv/api": "thread-abc"},
        "queue": [JOBS[2]],
        "running_job_id": JOBS[1],
        "last_job_id": JOBS[0],
        "created_at": TS,
        "updated_at": TS,
        "last_activity_at": TS,
    }.items() <= session.items()
    assert {
        "job_id": JOBS[2],
        "thread_id": "555",
        "discord_message_id": "7004",
        "state": "queued",
        "prompt": "later",
        "tool": None,
        "error_code": None,
        "error_message": None,
        "started_at": None,
        "finished_at": None,
        "result_excerpt": None,
    }.items() <= shown["jobs"][JOBS[2]].items()
    assert shown["dedupe"]["discord/1/555:7001"] == JOBS[0]
    assert shown["dedupe"]["discord/1/555:7003"] == "refused E_QUEUE_FULL"


@pytest.mark.req("A15")
def test_the_file_keeps_the_names_that_it_always_had_for_what_the_code_calls_otherwise():
    shown = json.loads(snapshot_of(len(RICH)))
    state, _ = state_after(disk_with(DATA), len(DATA))
    assert shown["fates_of_today"] == state.outcomes_today
    assert shown["fates_of_days"] == state.outcomes_by_day
    assert shown["floors"] == state.dedupe_floors
    assert {entry["debt_id"] for entry in shown["debts"].values()} == set(state.outbox)
    assert not {"outcomes_today", "outcomes_by_day", "dedupe_floors", "outbox"} & set(shown)


def test_every_job_shows_its_attempt():
    shown = json.loads(snapshot_of(len(RICH)))
    assert [job["attempt"] for job in shown["jobs"].values()] == [1, 1, 1]


@pytest.mark.req("A9")
@pytest.mark.parametrize(
    ("runtime", "field"), [("claude", "session_id"), ("gemini", "session_id"), ("codex", "thread_id")]
)
def test_the_resume_key_stands_under_the_tools_own_name_for_it(runtime: str, field: str):
    batches = [
        *STORY,
        (
            e.SessionCreated(
                session_key=KEY, session_id="555", project="api", runtime=runtime, conversation=THREAD, person="42"
            ),
        ),
    ]
    batches.append(
        (e.ResumeKeyLearnt(session_key=KEY, generation=0, runtime=runtime, project_path="/srv/api", key="k"),)
    )
    data = encoded(batches)
    state, position = state_after(disk_with(data), len(data))
    shown = json.loads(encode_snapshot(state, position, data[:-1].rpartition(b"\n")[2]))
    assert shown["sessions"]["555"]["adapter_state"] == {field: "k"}


def test_two_sessions_that_people_see_under_one_name_both_survive():
    """After FAIRLEAD_AGENT_ID changed, one thread may have had two sessions."""
    other = str(thread_key(agent_id="second", space_id="9", thread_id="555"))
    user = str(user_key(agent_id="fairlead", user_id="555"))
    more = [
        (
            e.SessionCreated(
                session_key=key,
                session_id="555" if key == other else key,
                project="api",
                runtime="echo",
                conversation=THREAD,
                person="42",
            ),
        )
        for key in (other, user)
    ]
    data = encoded([*RICH, *more])
    state, position = state_after(disk_with(data), len(data))
    snapshot = encode_snapshot(state, position, data[:-1].rpartition(b"\n")[2])
    assert as_data(open_state(STATE, with_snapshot(snapshot, data)).state) == as_data(state)
