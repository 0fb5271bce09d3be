"""How jobs end: each end once, and every end owes a line."""

import pytest

from fairlead.core.decide.job_ends import (
    MAX_ERROR_CHARS,
    Cancelled,
    CancelQueued,
    Completed,
    EndJob,
    Failure,
    MarkInterrupted,
)
from fairlead.core.events import FileRef, Spent
from fairlead.core.state import answer_entry_id
from fairlead.errors import Code
from tests.core.harness import OWNER, CoreHarness, conversation_ref


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
    assert (entry.kind, entry.requester, entry.job_id) == ("answer", conversation_ref(), job_id)
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
