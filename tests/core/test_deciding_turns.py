"""What runs next, and how jobs end: FIFO within a session, fair between sessions, and every end owes a line."""

import pytest
from core_house import LIMITS, OWNER, House, key_of, place, thread

from fairlead.core.decide.job_ends import (
    MAX_ERROR_CHARS,
    Cancelled,
    CancelQueued,
    Completed,
    EndJob,
    Failed,
    MarkInterrupted,
    TryAgain,
)
from fairlead.core.decide.questions import AnswerQuestion
from fairlead.core.decide.scheduling import BeginAgentTurn, ForgetResumeKey, LearnResumeKey, ReportProgress, StartNext
from fairlead.core.decide.sessions import ResetSession
from fairlead.core.events import FileRef, JobProgress, Spent
from fairlead.core.limits import Limits
from fairlead.core.state import answer_debt_id
from fairlead.errors import Code

ME = str(key_of())


# --- starting


@pytest.mark.req("A8")
def test_a_session_runs_its_messages_one_after_the_other_in_order(house: House):
    jobs = [house.say() for _ in range(3)]
    ran = []
    for _ in jobs:
        job_id = house.start()
        assert house.start() == ""
        ran.append(job_id)
        house.complete(job_id)
    assert ran == jobs


@pytest.mark.req("A17")
def test_two_jobs_run_at_once_and_no_third(house: House):
    jobs = [house.say_in(name) for name in ("one", "two", "three")]
    assert [house.start(), house.start(), house.start()] == [jobs[0], jobs[1], ""]
    house.complete(jobs[0])
    assert house.start() == jobs[2]


def test_the_session_that_started_a_job_longest_ago_goes_first():
    house = House(limits=Limits(global_max_running=1))
    a1, a2 = house.say_in("a"), house.say_in("a")
    b1, b2 = house.say_in("b"), house.say_in("b")
    order = []
    for _ in range(4):
        order.append(house.start())
        house.complete(order[-1])
    assert order == [a1, b1, a2, b2]


def test_from_its_start_a_job_knows_tool_project_and_path(house: House):
    job_id = house.say(tool="claude")
    house.start()
    job = house.job(job_id)
    assert (job.tool, job.project, job.project_path, job.generation) == ("claude", "api", "/srv/api", 0)
    assert (job.state, job.started_at, house.state.running) == ("running", house.now, [job_id])


def test_nothing_to_do_is_no_event(house: House):
    assert house.do(StartNext()).events == ()


# --- turns the agent begins


def test_an_agents_own_turn_is_a_job_that_asks_for_no_slot():
    house = House(limits=Limits(global_max_running=1))
    house.turn()
    busy = house.say_in("other")
    house.start()
    job_id = house.do(BeginAgentTurn(ME, 0, "t1")).subject
    assert house.job(job_id).cause == "agent"
    assert house.state.running == [busy, job_id]
    assert house.session().agent_job_id == job_id
    house.complete(job_id)
    assert house.session().agent_job_id is None
    assert answer_debt_id(job_id) in house.state.debts


def test_while_the_agent_speaks_by_itself_the_next_message_waits(house: House):
    house.turn()
    agents = house.do(BeginAgentTurn(ME, 0, "t1")).subject
    mine = house.say()
    assert house.start() == ""
    house.complete(agents)
    assert house.start() == mine


def test_the_same_turn_is_reported_twice_and_is_one_job(house: House):
    house.turn()
    house.do(BeginAgentTurn(ME, 0, "t1"))
    assert house.do(BeginAgentTurn(ME, 0, "t1")).duplicate
    assert house.refuses(BeginAgentTurn(str(thread("none")), 0, "t1")) == Code.E_SESSION_NOT_FOUND


def test_an_agent_of_a_talk_that_was_reset_is_not_heard_any_more(house: House):
    house.turn()
    house.do(ResetSession(ME, OWNER))
    assert house.refuses(BeginAgentTurn(ME, 0, "t1")) == Code.E_SESSION_NOT_FOUND
    assert house.do(BeginAgentTurn(ME, 1, "t2")).subject


def test_progress_is_recorded_while_a_job_lives(house: House):
    job_id = house.say()
    house.start()
    assert house.do(ReportProgress(job_id, 2)).events == (JobProgress(job_id, 2),)
    house.complete(job_id)
    assert house.do(ReportProgress(job_id, 3)).events == ()


# --- ending


@pytest.mark.req("A16")
@pytest.mark.parametrize(
    ("outcome", "state", "fact"),
    [
        (Completed("yes"), "success", "JobCompleted"),
        (Failed(Code.E_CLI_TIMEOUT, "too slow"), "failed", "JobFailed"),
        (Cancelled(OWNER, "enough"), "cancelled", "JobCancelled"),
    ],
)
def test_every_end_owes_an_answer_in_the_same_batch(house: House, outcome, state: str, fact: str):
    job_id = house.say()
    house.start()
    ended = house.end(job_id, outcome)
    assert [type(e).__name__ for e in ended.events] == [fact, "DeliveryOwed"]
    assert house.job(job_id).state == state
    debt = house.state.debts[answer_debt_id(job_id)]
    assert (debt.kind, debt.requester, debt.job_id) == ("answer", place(), job_id)
    assert (house.state.running, house.session().running_job_id, house.session().last_job_id) == ([], None, job_id)


@pytest.mark.req("A16")
def test_an_ended_job_ends_no_second_time(house: House):
    job_id = house.say()
    assert house.end(job_id, Completed("too early")).events == ()
    house.start()
    house.complete(job_id)
    assert house.end(job_id, Failed(Code.E_INTERNAL, "late")).events == ()
    assert house.do(EndJob("job_none", Completed(""))).events == ()


@pytest.mark.req("A17")
def test_an_answer_keeps_its_excerpt_its_files_and_what_it_cost(house: House):
    job_id = house.say()
    house.start()
    files = (FileRef("a.png", "b1"),)
    house.end(job_id, Completed("x" * 1000, files=files, spent=Spent(10, 20, 0, 0.5)))
    job, session = house.job(job_id), house.session()
    assert (len(job.result_excerpt or ""), job.answer, job.files) == (400, "x" * 1000, files)
    assert (job.cost_usd, session.cost_usd, session.input_tokens, session.output_tokens) == (0.5, 0.5, 10, 20)


def test_a_very_long_answer_is_a_blob_and_only_its_excerpt_is_written(house: House):
    job_id = house.say()
    house.start()
    house.end(job_id, Completed("y" * 1000, text_blob="b1"))
    job = house.job(job_id)
    assert (job.answer, job.answer_blob, job.result_excerpt) == ("", "b1", "y" * 400)


def test_of_an_endless_error_only_the_head_is_kept(house: House):
    job_id = house.say()
    house.start()
    house.end(job_id, Failed(Code.E_CLI_EXIT_NONZERO, "z" * 100_000, "half an answer"))
    job = house.job(job_id)
    assert (job.error_code, len(job.error_message or "")) == ("E_CLI_EXIT_NONZERO", MAX_ERROR_CHARS)
    assert job.answer == "half an answer"


@pytest.mark.req("A8", "A16")
def test_after_a_crash_what_ran_or_waited_is_unknown_and_what_was_queued_still_is(house: House):
    running, waiting, queued = house.say_in("one"), house.say_in("two"), house.say_in("one")
    house.start()
    house.start()
    house.ask(waiting)
    house.do(MarkInterrupted())
    states = [house.job(j).state for j in (running, waiting, queued)]
    assert states == ["unknown_after_crash", "unknown_after_crash", "queued"]
    assert {answer_debt_id(running), answer_debt_id(waiting)} <= set(house.state.debts)
    assert house.do(MarkInterrupted()).events == ()
    assert house.start() == queued


@pytest.mark.req("A16", "A18")
def test_a_queued_job_is_cancelled_and_still_owes_a_line(house: House):
    job_id = house.say()
    house.do(CancelQueued(job_id, OWNER, "not needed"))
    assert house.job(job_id).state == "cancelled"
    assert answer_debt_id(job_id) in house.state.debts
    assert house.refuses(CancelQueued(job_id, OWNER)) == Code.E_NOTHING_TO_CANCEL
    assert house.refuses(CancelQueued("job_none", OWNER)) == Code.E_NOTHING_TO_CANCEL


# --- the one second attempt


@pytest.mark.req("A8", "A18")
def test_fairlead_tries_a_job_again_once(house: House):
    job_id = house.say()
    again = TryAgain(job_id, Code.E_AGENT_ERROR, "overloaded")
    assert house.refuses(again) == Code.E_JOB_NOT_RETRYABLE
    house.start()
    assert house.do(again).subject == job_id
    assert house.job(job_id).state == "running"
    assert house.refuses(again) == Code.E_JOB_NOT_RETRYABLE


@pytest.mark.req("A8")
def test_after_a_permission_was_granted_there_is_no_second_attempt(house: House):
    job_id = house.say()
    house.start()
    house.do(AnswerQuestion(house.ask(job_id), OWNER, "allow"))
    house.start()
    assert house.refuses(TryAgain(job_id, Code.E_AGENT_ERROR, "overloaded")) == Code.E_JOB_NOT_RETRYABLE


@pytest.mark.req("A17")
def test_the_constants_are_those_of_the_specification():
    assert (LIMITS.max_queue_per_session, LIMITS.global_max_running, LIMITS.max_result_excerpt_chars) == (20, 2, 400)
    assert (LIMITS.max_waiting, LIMITS.question_timeout_sec) == (8, 600)


# --- a talk that the tool does not know


@pytest.mark.req("A9")
def test_a_key_that_no_answer_ever_came_with_may_be_forgotten(house: House):
    house.say()
    job_id = house.start()
    house.do(LearnResumeKey(job_id, "k1"))
    assert house.do(ForgetResumeKey(job_id)).events
    assert house.session().resume_keys == {}


@pytest.mark.req("A9")
def test_a_talk_that_somebody_may_remember_is_never_quietly_begun_anew(house: House):
    house.say()
    first = house.start()
    house.do(LearnResumeKey(first, "k1"))
    house.complete(first)
    house.say()
    second = house.start()
    assert house.do(ForgetResumeKey(second)).events == ()
    assert list(house.session().resume_keys.values()) == ["k1"]
