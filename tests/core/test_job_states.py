"""The one table of a job's moves: in each state, each event does what the table says, and otherwise nothing."""

import typing
from collections.abc import Callable

import pytest

from fairlead.core import events as e
from fairlead.core.decide.job_ends import MarkInterrupted, WithdrawJob
from fairlead.core.decide.steering import AskToSteer, BeginSteering, SettleSteering
from fairlead.core.engine import SteerResult
from fairlead.core.job_states import LIVE, RETRYABLE, TRANSITIONS, JobState, states_before
from tests.core.harness import OWNER, CoreHarness

LATER = "2026-03-01T09:00:00.000Z"
REACHED: dict[JobState, Callable[[CoreHarness, str], object]] = {
    "queued": lambda _core, _job_id: None,
    "running": lambda core, _job_id: core.start(),
    "waiting": lambda core, job_id: (core.start(), core.ask(job_id)),
    "steering": lambda core, job_id: (steer(core, job_id),),
    "success": lambda core, job_id: (core.start(), core.complete(job_id)),
    "failed": lambda core, job_id: (core.start(), core.fail(job_id)),
    "cancelled": lambda core, job_id: (core.start(), core.cancel(job_id)),
    "unknown_after_crash": lambda core, _job_id: (core.start(), core.do(MarkInterrupted())),
    "withdrawn": lambda core, job_id: core.do(WithdrawJob(job_id, "deleted")),
    "steered": lambda core, job_id: (
        steer(core, job_id),
        core.do(SettleSteering(job_id, SteerResult("taken"))),
    ),
}


def steer(core: CoreHarness, job_id: str) -> None:
    """Into a job that was said later and runs: the queue is turned round for that."""
    into = core.say("the one that runs")
    core.session().queue.reverse()
    core.start()
    core.do(AskToSteer(core.job(job_id).session_key, OWNER, job_id))
    core.do(BeginSteering(job_id, into))


EVENTS = sorted({move.event for move in TRANSITIONS} - {e.JobEnqueued}, key=lambda event: event.__name__)


def event_about(kind: type[e.JournalEvent], job_id: str, session_key: str) -> e.JournalEvent:
    made = {
        e.JobAmended: lambda: e.JobAmended(job_id, "other words"),
        e.JobWithdrawn: lambda: e.JobWithdrawn(job_id, "deleted"),
        e.JobStarted: lambda: e.JobStarted(
            job_id=job_id, session_key=session_key, runtime="echo", project="api", project_path="/srv/api"
        ),
        e.JobCancelled: lambda: e.JobCancelled(job_id, session_key, OWNER),
        e.QuestionAsked: lambda: e.QuestionAsked(
            question_id="q_99",
            job_id=job_id,
            session_key=session_key,
            kind="plan",
            request_id="r99",
            title="Go?",
            deadline=LATER,
        ),
        e.JobContinued: lambda: e.JobContinued(job_id),
        e.JobHandedOver: lambda: e.JobHandedOver(job_id),
        e.JobRequeued: lambda: e.JobRequeued(job_id, session_key),
        e.JobTriedAgain: lambda: e.JobTriedAgain(job_id, "E_AGENT_ERROR", "overloaded"),
        e.JobCompleted: lambda: e.JobCompleted(job_id=job_id, session_key=session_key, text="done"),
        e.JobFailed: lambda: e.JobFailed(
            job_id=job_id, session_key=session_key, error_code="E_AGENT_ERROR", error_message="it broke"
        ),
        e.JobMarkedUnknownAfterCrash: lambda: e.JobMarkedUnknownAfterCrash(job_id, session_key),
        e.SteeringAsked: lambda: e.SteeringAsked(job_id, OWNER),
        e.SteeringBegun: lambda: e.SteeringBegun(job_id=job_id, session_key=session_key, into="job_x"),
        e.JobSteered: lambda: e.JobSteered(job_id, session_key, "job_x"),
        e.SteeringDeclined: lambda: e.SteeringDeclined(job_id=job_id, session_key=session_key, reason="too_late"),
    }
    return made[kind]()


@pytest.mark.req("A7")
@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("before", typing.get_args(JobState))
def test_in_each_state_each_event_moves_the_job_as_the_table_says(
    core: CoreHarness, before: JobState, kind: type[e.JournalEvent]
):
    job_id = core.say()
    REACHED[before](core, job_id)
    assert core.job(job_id).state == before
    core.take(event_about(kind, job_id, core.job(job_id).session_key))
    [after] = {move.after for move in TRANSITIONS if move.before == before and move.event is kind} or {before}
    assert core.job(job_id).state == after


def test_an_event_and_a_state_have_at_most_one_move():
    moves = [(move.before, move.event) for move in TRANSITIONS]
    assert len(moves) == len(set(moves))


def test_what_is_derived_from_the_table():
    assert {"queued", "running", "waiting", "steering"} == LIVE
    assert {"failed", "unknown_after_crash"} == RETRYABLE
    assert states_before(e.JobStarted) == {"queued"}
    assert states_before(e.JobCancelled) == LIVE
