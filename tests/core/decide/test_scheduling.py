"""What runs next: in order within a session, fairly between sessions, and turns that the agent begins."""

import pytest

from fairlead.core.decide.job_ends import (
    TryAgain,
)
from fairlead.core.decide.scheduling import BeginAgentTurn, ForgetResumeKey, LearnResumeKey, ReportProgress, StartNext
from fairlead.core.decide.sessions import ResetSession
from fairlead.core.events import JobProgress
from fairlead.core.limits import Limits
from fairlead.core.questions import RespondToQuestion
from fairlead.core.state import answer_entry_id
from fairlead.errors import Code
from tests.core.harness import LIMITS, OWNER, CoreHarness, key_of, thread

ME = str(key_of())


@pytest.mark.req("A8")
def test_a_session_runs_its_messages_one_after_the_other_in_order(core: CoreHarness):
    jobs = [core.say() for _ in range(3)]
    ran = []
    for _ in jobs:
        job_id = core.start()
        assert core.start() == ""
        ran.append(job_id)
        core.complete(job_id)
    assert ran == jobs


@pytest.mark.req("A17")
def test_two_jobs_run_at_once_and_no_third(core: CoreHarness):
    jobs = [core.say_in(name) for name in ("one", "two", "three")]
    assert [core.start(), core.start(), core.start()] == [jobs[0], jobs[1], ""]
    core.complete(jobs[0])
    assert core.start() == jobs[2]


def test_the_session_that_started_a_job_longest_ago_goes_first():
    core = CoreHarness(limits=Limits(global_max_running=1))
    a1, a2 = core.say_in("a"), core.say_in("a")
    b1, b2 = core.say_in("b"), core.say_in("b")
    order = []
    for _ in range(4):
        order.append(core.start())
        core.complete(order[-1])
    assert order == [a1, b1, a2, b2]


def test_from_its_start_a_job_knows_tool_project_and_path(core: CoreHarness):
    job_id = core.say(runtime="claude")
    core.start()
    job = core.job(job_id)
    assert (job.runtime, job.project, job.project_path, job.generation) == ("claude", "api", "/srv/api", 0)
    assert (job.state, job.started_at, core.state.running) == ("running", core.now, [job_id])


def test_nothing_to_do_is_no_event(core: CoreHarness):
    assert core.do(StartNext()).events == ()


def test_an_agents_own_turn_is_a_job_that_asks_for_no_slot():
    core = CoreHarness(limits=Limits(global_max_running=1))
    core.turn()
    busy = core.say_in("other")
    core.start()
    job_id = core.do(BeginAgentTurn(ME, 0, "t1")).job_id
    assert core.job(job_id).cause == "agent"
    assert core.state.running == [busy, job_id]
    assert core.session().agent_job_id == job_id
    core.complete(job_id)
    assert core.session().agent_job_id is None
    assert answer_entry_id(job_id) in core.state.outbox


def test_while_the_agent_speaks_by_itself_the_next_message_waits(core: CoreHarness):
    core.turn()
    agents = core.do(BeginAgentTurn(ME, 0, "t1")).job_id
    mine = core.say()
    assert core.start() == ""
    core.complete(agents)
    assert core.start() == mine


def test_the_same_turn_is_reported_twice_and_is_one_job(core: CoreHarness):
    core.turn()
    core.do(BeginAgentTurn(ME, 0, "t1"))
    assert core.do(BeginAgentTurn(ME, 0, "t1")).duplicate
    assert core.refuses(BeginAgentTurn(str(thread("none")), 0, "t1")) == Code.E_SESSION_NOT_FOUND


def test_an_agent_of_a_talk_that_was_reset_is_not_heard_any_more(core: CoreHarness):
    core.turn()
    core.do(ResetSession(ME, OWNER))
    assert core.refuses(BeginAgentTurn(ME, 0, "t1")) == Code.E_SESSION_NOT_FOUND
    assert core.do(BeginAgentTurn(ME, 1, "t2")).job_id


def test_progress_is_recorded_while_a_job_lives(core: CoreHarness):
    job_id = core.say()
    core.start()
    assert core.do(ReportProgress(job_id, 2)).events == (JobProgress(job_id, 2),)
    core.complete(job_id)
    assert core.do(ReportProgress(job_id, 3)).events == ()


@pytest.mark.req("A8", "A18")
def test_fairlead_tries_a_job_again_once(core: CoreHarness):
    job_id = core.say()
    again = TryAgain(job_id, Code.E_AGENT_ERROR, "overloaded")
    assert core.refuses(again) == Code.E_JOB_NOT_RETRYABLE
    core.start()
    assert core.do(again).job_id == job_id
    assert core.job(job_id).state == "running"
    assert core.refuses(again) == Code.E_JOB_NOT_RETRYABLE


@pytest.mark.req("A8")
def test_after_a_permission_was_granted_there_is_no_second_attempt(core: CoreHarness):
    job_id = core.say()
    core.start()
    core.do(RespondToQuestion(question_id=core.ask(job_id), person=OWNER, verdict="allow"))
    core.start()
    assert core.refuses(TryAgain(job_id, Code.E_AGENT_ERROR, "overloaded")) == Code.E_JOB_NOT_RETRYABLE


@pytest.mark.req("A17")
def test_the_constants_are_those_of_the_specification():
    assert (LIMITS.max_queue_per_session, LIMITS.global_max_running, LIMITS.max_result_excerpt_chars) == (20, 2, 400)
    assert (LIMITS.max_waiting, LIMITS.question_timeout_sec) == (8, 600)


@pytest.mark.req("A9")
def test_a_key_that_no_answer_ever_came_with_may_be_forgotten(core: CoreHarness):
    core.say()
    job_id = core.start()
    core.do(LearnResumeKey(job_id, "k1"))
    assert core.do(ForgetResumeKey(job_id)).events
    assert core.session().resume_keys == {}


@pytest.mark.req("A9")
def test_a_talk_that_somebody_may_remember_is_never_quietly_begun_again(core: CoreHarness):
    core.say()
    first = core.start()
    core.do(LearnResumeKey(first, "k1"))
    core.complete(first)
    core.say()
    second = core.start()
    assert core.do(ForgetResumeKey(second)).events == ()
    assert list(core.session().resume_keys.values()) == ["k1"]
