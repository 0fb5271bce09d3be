"""What becomes of what people send: exactly one fact each, none for strangers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.decide.job_ends import CancelQueued, MarkInterrupted, WithdrawJob
from fairlead.core.decide.messages import AmendJob, RetryJob, SkipMessage, Submit, prompt_of
from fairlead.core.decide.projects import UpdateProject
from fairlead.core.decide.scheduling import BeginAgentTurn
from fairlead.core.decide.sessions import ResetSession
from fairlead.core.events import JobEnqueued, JobWithdrawn, MessageRefused, ProjectSwitched, SessionCreated, ToolChanged
from fairlead.core.inbound import Attachment, clean_text
from fairlead.core.limits import Limits
from fairlead.errors import Code
from tests.core.harness import (
    BEGINNING,
    FRIEND,
    LIMITS,
    OWNER,
    STRANGER,
    CoreHarness,
    conversation_ref,
    directory,
    key_of,
    thread,
)


def last(core: CoreHarness) -> object:
    return core.journal[-1].payload


# --- taken


@pytest.mark.req("A8")
def test_the_first_message_makes_the_session_binds_the_conversation_and_queues_the_job(core: CoreHarness):
    before = len(core.journal)
    job_id = core.say("fix the tests")
    assert core.types(before) == ["SessionCreated", "BindingBound", "JobEnqueued"]
    assert job_id == "job_20260301_0001"
    assert core.session().queue == [job_id]
    assert (core.job(job_id).prompt, core.job(job_id).state) == ("fix the tests", "queued")


@pytest.mark.req("A8")
def test_the_second_message_only_queues_behind_the_first(core: CoreHarness):
    first = core.say()
    before = len(core.journal)
    second = core.say()
    assert core.types(before) == ["JobEnqueued"]
    assert core.session().queue == [first, second]


def test_job_numbers_never_restart_while_the_date_goes_on_and_back(core: CoreHarness):
    core.say()
    core.later(days=1)
    assert core.say() == "job_20260302_0002"
    core.later(days=-1)
    assert core.say() == "job_20260301_0003"


def test_a_message_to_a_bound_conversation_goes_to_the_bound_session(core: CoreHarness):
    core.start_thread("build")
    job_id = core.say(conversation=conversation_ref("build"), session_key=key_of())
    assert core.job(job_id).session_key == str(thread("build"))


@pytest.mark.req("C3")
def test_people_have_their_own_sessions_and_share_that_of_a_thread(core: CoreHarness):
    mine = core.say()
    theirs = core.say(person=FRIEND, session_key=key_of(FRIEND), conversation=conversation_ref("theirs"))
    assert core.job(mine).session_key != core.job(theirs).session_key
    one = core.say_in("shared")
    other = core.say_in("shared", person=FRIEND)
    assert core.job(one).session_key == core.job(other).session_key


def test_a_quotation_goes_before_the_words_and_is_marked(core: CoreHarness):
    job_id = core.say("is this true?", quote="the earth\nis flat")
    assert core.job(job_id).prompt == "> the earth\n> is flat\n\nis this true?"


@given(st.text(st.characters(), max_size=30), st.text(st.characters(), max_size=30))
def test_every_prompt_can_be_written_to_the_journal(text: str, quote: str):
    prompt = prompt_of(CoreHarness().inbound(text, quote=quote))
    assert prompt.encode("utf-8").decode("utf-8") == prompt
    assert "\x00" not in prompt
    assert prompt.endswith(clean_text(text))


def test_a_lone_surrogate_is_taken_and_written_as_a_question_mark(core: CoreHarness):
    assert core.job(core.say("bad \ud800 text")).prompt == "bad ? text"


# --- seen before


@pytest.mark.req("A8")
def test_the_same_message_twice_is_one_job(core: CoreHarness):
    inbound = core.inbound()
    first = core.do(Submit(inbound))
    again = core.do(Submit(inbound))
    assert (again.events, again.job_id, again.duplicate) == ((), first.job_id, True)
    assert core.state.account.received == 1


def test_the_same_id_in_another_conversation_is_another_message(core: CoreHarness):
    core.say(message_id="5")
    assert core.say(message_id="5", conversation=conversation_ref("elsewhere"))


@pytest.mark.req("C5")
def test_the_same_key_with_the_same_body_is_the_same_job_and_with_another_a_mismatch(core: CoreHarness):
    job_id = core.say(message_id="key-1", body_digest="aa")
    same = core.submit(message_id="key-1", body_digest="aa")
    other = core.submit("changed", message_id="key-1", body_digest="bb")
    assert (same.refusal, same.job_id) == (None, job_id)
    assert other.refusal is not None
    assert (other.refusal.code, other.events, other.job_id) == (Code.E_IDEMPOTENCY_MISMATCH, (), job_id)


@pytest.mark.req("A17")
def test_a_message_refused_for_lack_of_room_does_not_come_back_hours_later_and_run():
    core = CoreHarness(limits=Limits(max_queue_per_session=1))
    first = core.say()
    inbound = core.inbound("too much")
    full = core.do(Submit(inbound))
    assert full.refusal is not None
    assert full.refusal.code == Code.E_QUEUE_FULL
    assert last(core) == MessageRefused(
        conversation=conversation_ref(), message_id=inbound.message_id, person=OWNER, error_code="E_QUEUE_FULL"
    )
    core.do(CancelQueued(first, OWNER))
    again = core.do(Submit(inbound))
    assert again.refusal is not None
    assert (again.refusal.code, again.duplicate, again.events) == (Code.E_QUEUE_FULL, True, ())


@pytest.mark.req("A17")
def test_a_queue_takes_twenty_while_one_runs(core: CoreHarness):
    core.say()
    core.start()
    for _ in range(20):
        core.say()
    refusal = core.submit().refusal
    assert refusal is not None
    assert refusal.code == Code.E_QUEUE_FULL


def test_a_skipped_message_is_never_run_later(core: CoreHarness):
    inbound = core.inbound()
    assert core.do(SkipMessage(inbound, "too old")).refusal is None
    again = core.do(Submit(inbound))
    assert (again.events, again.duplicate, again.job_id) == ((), True, "")
    assert core.do(SkipMessage(inbound, "too old")).duplicate
    assert core.state.account.skipped == 1


def test_nothing_at_or_below_the_floor_is_taken(core: CoreHarness):
    core.state.dedupe_floors[conversation_ref().address] = 5000
    at_floor = core.submit(message_id="5000")
    assert (at_floor.events, at_floor.duplicate) == ((), True)
    assert core.submit(message_id="4999").duplicate
    assert core.say(message_id="5001")
    assert core.say(message_id="4000", conversation=conversation_ref("elsewhere"))
    assert core.say(message_id="not-a-number")


def test_an_absurdly_long_number_is_no_rising_id(core: CoreHarness):
    core.state.dedupe_floors[conversation_ref().address] = 5000
    assert core.say(message_id="1" * 5000)


# --- refused


@pytest.mark.req("A13")
def test_strangers_leave_nothing(core: CoreHarness):
    inbound = core.inbound(person=STRANGER)
    before = core.state.seq
    assert core.refuses(Submit(inbound)) == Code.E_OWNER_ONLY
    assert core.refuses(SkipMessage(inbound, "why")) == Code.E_OWNER_ONLY
    assert (core.state.seq, core.state.account.received) == (before, 0)


@pytest.mark.req("A13")
def test_the_owner_the_allow_list_and_the_vouched_for_are_served(core: CoreHarness):
    assert core.say(person=OWNER)
    assert core.say(person=FRIEND)
    assert core.say(person=STRANGER, pre_authorised=True)


@pytest.mark.req("A13")
def test_without_an_owner_the_nameless_are_not_the_owner(core: CoreHarness):
    core.state.owner_id = ""
    assert core.refuses(Submit(core.inbound(person=""))) == Code.E_OWNER_ONLY


REFUSALS = [
    ({"text": " \n"}, Code.E_EMPTY_MESSAGE),
    ({"text": "x" * (LIMITS.max_message_bytes + 1)}, Code.E_MESSAGE_TOO_LARGE),
    ({"text": "é" * (LIMITS.max_message_bytes // 2 + 1)}, Code.E_MESSAGE_TOO_LARGE),
    ({"attachments": (Attachment(name="a"),) * 11}, Code.E_INVALID_ARGS),
    ({"project": "nowhere"}, Code.E_PROJECT_NOT_FOUND),
    ({"runtime": "gemini"}, Code.E_TOOL_NOT_ENABLED),
]


@pytest.mark.req("A12", "A18")
@pytest.mark.parametrize(("given", "code"), REFUSALS, ids=lambda v: v if isinstance(v, str) else None)
def test_a_refused_message_leaves_exactly_its_refusal(core: CoreHarness, given: dict, code: Code):
    decision = core.submit(**given)
    assert decision.refusal is not None
    assert decision.refusal.code == code
    assert [type(e) for e in decision.events] == [MessageRefused]
    assert (core.state.account.received, core.state.account.refused) == (1, 1)
    assert core.state.sessions == {}


def test_a_file_without_words_is_a_message(core: CoreHarness):
    assert core.say("", attachments=(Attachment(name="a.png"),))


@pytest.mark.req("B15")
def test_without_a_project_the_refusal_says_how_to_get_one():
    refusal = CoreHarness(projects=()).submit().refusal
    assert refusal is not None
    assert refusal.code == Code.E_PROJECT_NOT_SELECTED
    assert "project add" in refusal.message


# --- project and tool that come with a message


@pytest.mark.req("B15")
def test_project_and_tool_of_a_first_message_both_hold():
    core = CoreHarness(projects=("/srv/api", "/srv/web"))
    core.say(project="web", runtime="codex")
    assert (core.session().project, core.session().runtime) == ("web", "codex")
    assert core.state.people[OWNER].project == "web"


@pytest.mark.req("B15")
def test_project_and_tool_of_a_later_message_both_hold():
    core = CoreHarness(projects=("/srv/api", "/srv/web"))
    core.say(project="api")
    core.say(project="2", runtime="claude")
    assert (core.session().project, core.session().runtime) == ("web", "claude")


def test_a_message_that_names_the_project_it_is_in_switches_nothing(core: CoreHarness):
    core.say(project="api")
    before = len(core.journal)
    core.say(project="api", runtime="echo")
    assert core.types(before) == ["JobEnqueued"]


def test_a_tool_that_comes_with_a_message_is_the_sessions_from_then_on(core: CoreHarness):
    core.say()
    core.say(runtime="claude")
    assert core.session().runtime == "claude"
    assert ToolChanged(str(key_of()), "claude") in [e.payload for e in core.journal]


def test_a_tool_that_the_project_has_lost_is_refused_and_not_replaced_in_silence(core: CoreHarness):
    core.say(runtime="claude")
    core.do(UpdateProject(name="api", directory=directory("/srv/api"), runtimes=("echo",), default_runtime="echo"))
    refusal = core.submit().refusal
    assert refusal is not None
    assert refusal.code == Code.E_TOOL_NOT_ENABLED
    assert core.say(runtime="echo")


def test_switching_by_message_keeps_the_tool_only_where_it_is_enabled(core: CoreHarness):
    core.create("web", runtimes=("codex",), default="codex")
    core.say(project="api", runtime="claude")
    core.say(project="web")
    assert last(core) == JobEnqueued(
        job_id="job_20260301_0002",
        session_key=str(key_of()),
        conversation=conversation_ref(),
        message_id="1002",
        person=OWNER,
        prompt="hello",
        project="web",
    )
    assert core.journal[-2].payload == ProjectSwitched(str(key_of()), OWNER, "web", "codex")


@pytest.mark.req("A12")
def test_a_job_runs_in_the_project_its_message_asked_for_wherever_the_session_has_gone(core: CoreHarness):
    """Two terminals in two directories share one session: what was typed in one must not run in the other."""
    core.create("web", runtimes=("codex",), default="codex")
    first, second, third = core.say(project="api"), core.say(project="web"), core.say(project="api")
    for job_id in (first, second, third):
        assert core.start() == job_id
        core.fail(job_id)
    done = [(core.job(job_id).project, core.job(job_id).project_path) for job_id in (first, second, third)]
    assert done == [("api", "/srv/api"), ("web", "/srv/web"), ("api", "/srv/api")]
    assert core.job(second).runtime == "codex"
    again = core.retry(second).job_id
    core.start()
    assert (core.job(again).project, core.job(again).runtime) == ("web", "codex")


# --- amended and withdrawn


@pytest.mark.req("A16")
def test_a_queued_job_is_amended_and_a_running_one_is_not(core: CoreHarness):
    job_id = core.say("fix it")
    assert core.do(AmendJob(job_id, "fix it well")).job_id == job_id
    assert core.job(job_id).prompt == "fix it well"
    core.start()
    assert core.do(AmendJob(job_id, "no, stop")).events == ()


@pytest.mark.req("A16")
def test_a_link_preview_is_no_edit(core: CoreHarness):
    plain = core.say("see example.org")
    quoting = core.say("see example.org", quote="where?")
    stored = core.do(Submit(core.inbound("long"), prompt_blob="b1")).job_id
    assert core.do(AmendJob(plain, "see example.org")).events == ()
    assert core.do(AmendJob(quoting, "see example.org")).events == ()
    assert core.do(AmendJob(stored, "long", prompt_blob="b1")).events == ()
    assert core.do(AmendJob(plain, "  ")).events == ()
    assert core.do(AmendJob("job_none", "x")).events == ()


def test_an_edit_changes_the_words_and_keeps_the_quotation(core: CoreHarness):
    job_id = core.say("is it?", quote="it is")
    core.do(AmendJob(job_id, "really?"))
    assert core.job(job_id).prompt == "> it is\n\nreally?"


def test_an_edit_may_grow_past_the_line_and_shrink_again(core: CoreHarness):
    job_id = core.say("is it?", quote="it is")
    core.do(AmendJob(job_id, "very long", prompt_blob="b2"))
    assert (core.job(job_id).prompt, core.job(job_id).prompt_blob) == ("> it is\n\n", "b2")
    core.do(AmendJob(job_id, "short"))
    assert (core.job(job_id).prompt, core.job(job_id).prompt_blob) == ("> it is\n\nshort", "")


def test_an_edit_that_is_too_large_is_refused(core: CoreHarness):
    job_id = core.say()
    assert core.refuses(AmendJob(job_id, "x" * (LIMITS.max_message_bytes + 1))) == Code.E_MESSAGE_TOO_LARGE


@pytest.mark.req("A16")
def test_a_deleted_message_withdraws_its_queued_job_and_nobody_is_owed_a_line(core: CoreHarness):
    job_id = core.say()
    core.do(WithdrawJob(job_id, "deleted"))
    assert core.job(job_id).state == "withdrawn"
    assert last(core) == JobWithdrawn(job_id, "deleted")
    assert (core.state.outbox, core.state.ready) == ({}, {})
    assert core.do(WithdrawJob(job_id, "deleted")).events == ()


# --- retried


@pytest.mark.req("A12", "A16")
def test_a_retry_is_a_new_job_with_the_next_attempt_and_the_same_images(core: CoreHarness):
    image = (Attachment(name="a.png", blob="b1"),)
    old = core.say(attachments=image)
    core.start()
    core.fail(old)
    new = core.retry(old).job_id
    job = core.job(new)
    assert (job.attempt, job.retry_of, job.cause, job.attachments) == (2, old, "retry", image)
    assert core.job(old).state == "failed"
    core.start()
    core.fail(new)
    assert core.job(core.retry(new).job_id).attempt == 3


@pytest.mark.req("A16")
def test_a_job_lost_in_a_crash_can_be_retried(core: CoreHarness):
    job_id = core.say()
    core.start()
    core.do(MarkInterrupted())
    assert core.retry(job_id).refusal is None


@pytest.mark.req("A16", "A18")
@pytest.mark.parametrize("state", ["queued", "running", "waiting", "success", "cancelled", "withdrawn"])
def test_nothing_else_can_be_retried(core: CoreHarness, state: str):
    job_id = core.say()
    core.job(job_id).state = state
    refusal = core.decide(RetryJob(core.job(job_id), "again", OWNER)).refusal
    assert refusal is not None
    assert refusal.code == Code.E_JOB_NOT_RETRYABLE
    assert state in refusal.message


@pytest.mark.req("A8", "A16")
def test_a_job_is_retried_once_and_the_second_wish_names_the_first(core: CoreHarness):
    old = core.failed_job()
    new = core.retry(old).job_id
    again = core.retry(old)
    assert again.refusal is not None
    assert (again.refusal.code, again.events) == (Code.E_JOB_NOT_RETRYABLE, ())
    assert f"/retry {new}." in again.refusal.next_step, "as a person types it"


def test_a_retry_needs_room_and_a_session():
    core = CoreHarness(limits=Limits(max_queue_per_session=1))
    old = core.failed_job()
    core.say()
    assert core.retry(old).refusal.code == Code.E_QUEUE_FULL
    lost = core.job(old)
    core.state.sessions.clear()
    assert core.refuses(RetryJob(lost, "again", OWNER)) == Code.E_SESSION_NOT_FOUND


def test_what_the_agent_began_by_itself_has_no_prompt_to_retry(core: CoreHarness):
    core.turn()
    job_id = core.do(BeginAgentTurn(str(key_of()), core.session().generation, "t1")).job_id
    core.fail(job_id)
    assert core.refuses(RetryJob(core.job(job_id), "", OWNER)) == Code.E_JOB_NOT_RETRYABLE


# --- the account


def test_the_account_names_every_fate(core: CoreHarness):
    core.turn()
    core.failed_job()
    for end in (core.cancel, lambda job_id: core.do(MarkInterrupted())):
        job_id = core.say()
        core.start()
        end(job_id)
    core.do(WithdrawJob(core.say(), "deleted"))
    core.submit(" ")
    core.do(SkipMessage(core.inbound(), "old"))
    account = core.state.account
    assert (account.answered, account.failed, account.cancelled, account.unknown) == (1, 1, 1, 1)
    assert (account.withdrawn, account.refused, account.skipped) == (1, 1, 1)
    assert account.received == account.settled_total == 7


def test_a_session_belongs_to_its_first_conversation(core: CoreHarness):
    core.say()
    created = next(e.payload for e in core.journal if isinstance(e.payload, SessionCreated))
    assert created == SessionCreated(
        session_key=str(key_of()),
        session_id=str(key_of()),
        project="api",
        runtime="echo",
        conversation=conversation_ref(),
        person=OWNER,
    )
    assert core.session().created_at == BEGINNING
    core.do(ResetSession(str(key_of()), OWNER))
    assert core.session().conversation == conversation_ref()
