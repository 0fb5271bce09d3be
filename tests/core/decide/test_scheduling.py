"""What runs next, and how jobs end: FIFO within a session, fair between sessions, and every end owes a line."""

import pytest

from fairlead.core.decide.job_ends import (
    MAX_ERROR_CHARS,
    Cancelled,
    CancelQueued,
    Completed,
    EndJob,
    Failure,
    MarkInterrupted,
    TryAgain,
)
from fairlead.core.decide.scheduling import BeginAgentTurn, ForgetResumeKey, LearnResumeKey, ReportProgress, StartNext
from fairlead.core.decide.sessions import ResetSession
from fairlead.core.events import FileRef, JobProgress, Spent
from fairlead.core.limits import Limits
from fairlead.core.questions import RespondToQuestion
from fairlead.core.state import answer_entry_id
from fairlead.errors import Code
from tests.core.harness import LIMITS, OWNER, CoreHarness, key_of, place, thread

ME = str(key_of())


# --- starting


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


# --- turns the agent begins


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


# --- ending


@pytest.mark.req("A16")
@pytest.mark.parametrize(
    ("outcome", "state", "fact"),
    [
        (Completed("yes"), "success", "JobCompleted"),
        (Failure(Code.E_CLI_TIMEOUT, "too slow"), "failed", "JobFailed"),
        (Cancelled(OWNER, "enough"), "cancelled", "JobCancelled"),
    ],
)
def test_every_end_owes_an_answer_in_the_same_batch(core: CoreHarness, outcome, state: str, fact: str):
    job_id = core.say()
    core.start()
    ended = core.end(job_id, outcome)
    assert [type(e).__name__ for e in ended.events] == [fact, "DeliveryOwed"]
    assert core.job(job_id).state == state
    entry = core.state.outbox[answer_entry_id(job_id)]
    assert (entry.kind, entry.requester, entry.job_id) == ("answer", place(), job_id)
    assert (core.state.running, core.session().running_job_id, core.session().last_job_id) == ([], None, job_id)


@pytest.mark.req("A16")
def test_an_ended_job_ends_no_second_time(core: CoreHarness):
    job_id = core.say()
    assert core.end(job_id, Completed("too early")).events == ()
    core.start()
    core.complete(job_id)
    assert core.end(job_id, Failure(Code.E_INTERNAL, "late")).events == ()
    assert core.do(EndJob("job_none", Completed(""))).events == ()


@pytest.mark.req("A17")
def test_an_answer_keeps_its_excerpt_its_files_and_what_it_cost(core: CoreHarness):
    job_id = core.say()
    core.start()
    files = (FileRef("a.png", "b1"),)
    core.end(job_id, Completed("x" * 1000, files=files, spent=Spent(10, 20, 0, 0.5)))
    job, session = core.job(job_id), core.session()
    assert (len(job.result_excerpt or ""), job.answer, job.files) == (400, "x" * 1000, files)
    assert (job.cost_usd, session.cost_usd, session.input_tokens, session.output_tokens) == (0.5, 0.5, 10, 20)


def test_a_very_long_answer_is_a_blob_and_only_its_excerpt_is_written(core: CoreHarness):
    job_id = core.say()
    core.start()
    core.end(job_id, Completed("y" * 1000, text_blob="b1"))
    job = core.job(job_id)
    assert (job.answer, job.answer_blob, job.result_excerpt) == ("", "b1", "y" * 400)


def test_of_an_endless_error_only_the_head_is_kept(core: CoreHarness):
    job_id = core.say()
    core.start()
    core.end(job_id, Failure(Code.E_CLI_EXIT_NONZERO, "z" * 100_000, "half an answer"))
    job = core.job(job_id)
    assert (job.error_code, len(job.error_message or "")) == ("E_CLI_EXIT_NONZERO", MAX_ERROR_CHARS)
    assert job.answer == "half an answer"


@pytest.mark.req("A8", "A16")
def test_after_a_crash_what_ran_or_waited_is_unknown_and_what_was_queued_still_is(core: CoreHarness):
    running, waiting, queued = core.say_in("one"), core.say_in("two"), core.say_in("one")
    core.start()
    core.start()
    core.ask(waiting)
    core.do(MarkInterrupted())
    states = [core.job(j).state for j in (running, waiting, queued)]
    assert states == ["unknown_after_crash", "unknown_after_crash", "queued"]
    assert {answer_entry_id(running), answer_entry_id(waiting)} <= set(core.state.outbox)
    assert core.do(MarkInterrupted()).events == ()
    assert core.start() == queued


@pytest.mark.req("A16", "A18")
def test_a_queued_job_is_cancelled_and_still_owes_a_line(core: CoreHarness):
    job_id = core.say()
    core.do(CancelQueued(job_id, OWNER, "not needed"))
    assert core.job(job_id).state == "cancelled"
    assert answer_entry_id(job_id) in core.state.outbox
    assert core.refuses(CancelQueued(job_id, OWNER)) == Code.E_NOTHING_TO_CANCEL
    assert core.refuses(CancelQueued("job_none", OWNER)) == Code.E_NOTHING_TO_CANCEL


# --- the one second attempt


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


# --- a talk that the tool does not know


@pytest.mark.req("A9")
def test_a_key_that_no_answer_ever_came_with_may_be_forgotten(core: CoreHarness):
    core.say()
    job_id = core.start()
    core.do(LearnResumeKey(job_id, "k1"))
    assert core.do(ForgetResumeKey(job_id)).events
    assert core.session().resume_keys == {}


@pytest.mark.req("A9")
def test_a_talk_that_somebody_may_remember_is_never_quietly_begun_anew(core: CoreHarness):
    core.say()
    first = core.start()
    core.do(LearnResumeKey(first, "k1"))
    core.complete(first)
    core.say()
    second = core.start()
    assert core.do(ForgetResumeKey(second)).events == ()
    assert list(core.session().resume_keys.values()) == ["k1"]
