"""What a person must hear of at once, and what can wait until they look."""

import pytest

from fairlead.core.attention import end_rings, question_rings
from fairlead.core.conversation import ConversationRef
from fairlead.core.job_states import JobState
from fairlead.core.ping_rule import Ping, PingRule
from fairlead.core.state import Job


def ended(state: JobState, seconds: int) -> Job:
    return Job(
        job_id="job_1",
        session_key="agent:fairlead:user:42",
        session_id="s_1",
        conversation=ConversationRef("chat", "acc", "42"),
        message_id="m1",
        person="42",
        state=state,
        prompt="",
        enqueued_at="2026-01-05T08:00:00.000Z",
        started_at="2026-01-05T08:00:00.000Z",
        finished_at=f"2026-01-05T08:{seconds // 60:02d}:{seconds % 60:02d}.000Z",
    )


@pytest.mark.parametrize(
    ("ping", "state", "seconds", "rings"),
    [
        ("done", "success", 61, True),
        ("done", "success", 60, False),
        ("done", "failed", 0, True),
        ("done", "unknown_after_crash", 0, True),
        ("done", "cancelled", 300, False),
        ("needed", "success", 300, False),
        ("needed", "failed", 1, True),
        ("never", "failed", 300, False),
        ("never", "success", 300, False),
    ],
)
def test_the_end_of_a_job(ping: Ping, state: JobState, seconds: int, *, rings: bool):
    assert end_rings(PingRule(ping, 60.0), ended(state, seconds)) is rings


def test_a_question_rings_unless_nothing_may():
    assert [question_rings(PingRule(ping)) for ping in ("needed", "done", "never")] == [True, True, False]


def test_a_job_that_never_began_took_no_time():
    job = ended("success", 300)
    job.started_at = None
    assert not end_rings(PingRule("done", 60.0), job)


@pytest.mark.req("E10")
@pytest.mark.parametrize(
    ("ring", "states"),
    [
        ("always", ["success", "failed", "unknown_after_crash"]),
        ("needed", ["failed", "unknown_after_crash"]),
        ("never", []),
    ],
)
def test_what_a_job_says_of_its_own_end_comes_before_the_rule(ring, states):
    for ping in ("needed", "done", "never"):
        ringing: list[JobState] = []
        for state in ("success", "failed", "unknown_after_crash", "cancelled"):
            job = ended(state, 1)
            job.ring = ring
            ringing += [state] if end_rings(PingRule(ping, 60.0), job) else []
        assert ringing == states
        assert question_rings(PingRule(ping), ring) is (ring != "never")
