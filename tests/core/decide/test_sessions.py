"""Sessions, their tools and generations, and the conversations bound to them."""

import pytest

from fairlead.core import timestamps
from fairlead.core.decide.job_ends import Cancelled, Completed, EndJob, MarkInterrupted
from fairlead.core.decide.scheduling import LearnResumeKey
from fairlead.core.decide.sessions import (
    BeginService,
    Bind,
    ChangeRuntime,
    ChooseModel,
    FoundState,
    ResetSession,
    SeePerson,
    TitleSession,
    Touch,
    Unbind,
)
from fairlead.core.events import BindingEnded, PersonSeen, TitledBy
from fairlead.core.questions import RespondToQuestion
from fairlead.core.state import session_state
from fairlead.errors import Code
from tests.core.harness import BEGINNING, OWNER, CoreHarness, conversation_ref, key_of, thread

ME = str(key_of())
HOUR = 3_600_000


# --- the owner and other people


def test_a_state_is_founded_once(core: CoreHarness):
    assert core.state.state_id == "abcd"
    assert core.do(FoundState("efgh", "2.0")).events == ()


def test_every_start_is_recorded_and_a_new_owner_too(core: CoreHarness):
    assert [type(e).__name__ for e in core.do(BeginService("1.1", 2, OWNER)).events] == ["DaemonStarted"]
    assert [type(e).__name__ for e in core.do(BeginService("1.1", 3)).events] == ["DaemonStarted"]
    core.do(BeginService("1.1", 4, "43"))
    assert core.state.owner_id == "43"


def test_a_persons_locale_is_written_when_it_changes(core: CoreHarness):
    assert core.do(SeePerson(OWNER, "ja")).events == (PersonSeen(OWNER, "ja"),)
    assert core.do(SeePerson(OWNER, "ja")).events == ()
    core.do(SeePerson(OWNER, "de"))
    assert core.state.people[OWNER].locale == "de"


# --- started, changed


@pytest.mark.req("A12")
def test_a_started_session_has_its_project_its_tool_and_its_conversation(core: CoreHarness):
    core.start_thread("build", project="1", runtime="claude")
    session = core.session(thread("build"))
    assert (session.project, session.runtime, session.session_id) == ("api", "claude", "build")
    assert core.state.session_at(conversation_ref("build"), core.now) is session


@pytest.mark.req("A12", "A18")
def test_a_session_cannot_start_without_a_project_or_with_a_foreign_tool(core: CoreHarness):
    assert core.start_thread("t", project="nowhere").refusal.code == Code.E_PROJECT_NOT_FOUND
    assert core.start_thread("t", runtime="emacs").refusal.code == Code.E_TOOL_NOT_ENABLED
    assert core.state.sessions == {}


def test_starting_the_same_session_again_counts_as_done(core: CoreHarness):
    core.start_thread("build")
    again = core.start_thread("build")
    assert (again.events, again.duplicate) == ((), True)


def test_a_child_knows_its_parent(core: CoreHarness):
    core.start_thread("child", parent_session_key=ME, target_kind="subagent")
    assert core.session(thread("child")).parent_session_key == ME
    assert core.state.bindings["bind_1"].target_kind == "subagent"


@pytest.mark.req("A12")
def test_another_tool_keeps_the_queue_and_holds_from_the_next_job_on(core: CoreHarness):
    first, second = core.say(), core.say()
    core.start()
    core.do(ChangeRuntime(ME, "claude"))
    assert (core.job(first).runtime, core.session().queue) == ("echo", [second])
    core.complete(first)
    core.start()
    assert core.job(second).runtime == "claude"


@pytest.mark.req("A12", "A18")
def test_a_tool_is_changed_only_in_a_session_and_to_one_that_is_enabled(core: CoreHarness):
    assert core.refuses(ChangeRuntime(ME, "claude")) == Code.E_NOT_IN_MANAGED_THREAD
    core.say()
    assert core.refuses(ChangeRuntime(ME, "emacs")) == Code.E_TOOL_NOT_ENABLED
    assert core.do(ChangeRuntime(ME, "echo")).events == ()


def test_a_model_is_chosen_per_tool(core: CoreHarness):
    assert core.refuses(ChooseModel(ME, "claude", "opus")) == Code.E_NO_ACTIVE_SESSION
    core.say()
    core.do(ChooseModel(ME, "claude", "opus"))
    core.do(ChooseModel(ME, "codex", "five"))
    assert core.session().models == {"claude": "opus", "codex": "five"}


# --- resume keys


def learn(core: CoreHarness, key: str) -> None:
    job_id = core.say()
    core.start()
    core.do(LearnResumeKey(job_id, key))
    core.complete(job_id)


def next_resume_key(core: CoreHarness) -> str:
    job_id = core.say()
    core.start()
    core.complete(job_id)
    return core.job(job_id).resume_key


@pytest.mark.req("A9")
def test_switching_tool_and_project_and_back_resumes_every_talk(core: CoreHarness):
    learn(core, "api-echo")
    core.create("web", runtimes=("echo", "claude"))
    core.do(ChangeRuntime(ME, "claude"))
    learn(core, "api-claude")
    core.say(project="web")
    core.complete(core.start())
    learn(core, "web-claude")
    assert next_resume_key(core) == "web-claude"
    core.say(project="api")
    assert core.job(core.start()).resume_key == "api-claude"
    core.complete(core.session().running_job_id)
    core.do(ChangeRuntime(ME, "echo"))
    assert next_resume_key(core) == "api-echo"


@pytest.mark.req("A5", "A9")
def test_threads_of_one_project_have_their_own_resume_keys(core: CoreHarness):
    for name in ("one", "two"):
        job_id = core.say_in(name)
        core.start()
        core.do(LearnResumeKey(job_id, f"key of {name}"))
        core.complete(job_id)
    resumed = [core.say_in(name) for name in ("two", "one")]
    core.start()
    core.start()
    assert [core.job(j).resume_key for j in resumed] == ["key of two", "key of one"]


def test_a_known_key_needs_no_second_line_and_a_queued_job_has_none(core: CoreHarness):
    job_id = core.say()
    assert core.do(LearnResumeKey(job_id, "k")).events == ()
    core.start()
    assert core.do(LearnResumeKey(job_id, "k")).events
    assert core.do(LearnResumeKey(job_id, "k")).events == ()
    assert core.do(LearnResumeKey("job_none", "k")).events == ()
    core.complete(job_id)
    assert core.do(LearnResumeKey(job_id, "other")).events == ()


# --- reset


@pytest.mark.req("C4")
def test_reset_cancels_the_queue_forgets_the_talk_and_keeps_the_history(core: CoreHarness):
    learn(core, "old")
    running, queued = core.say(), core.say()
    core.start()
    core.do(ResetSession(ME, OWNER))
    session = core.session()
    assert (session.generation, session.resume_keys, session.queue) == (1, {}, [])
    assert core.job(queued).state == "cancelled"
    assert f"debt_{queued}" in core.state.outbox
    assert session.running_job_id == running
    core.end(running, Cancelled(OWNER, "reset"))
    assert len(session.ended) == 3


@pytest.mark.req("C4")
def test_late_facts_of_an_older_generation_change_nothing(core: CoreHarness):
    job_id = core.say()
    core.start()
    asked = core.ask(job_id)
    core.do(ResetSession(ME, OWNER))
    assert core.do(LearnResumeKey(job_id, "late")).events == ()
    core.do(RespondToQuestion(question_id=asked, person=OWNER, verdict="allow", for_session=True))
    assert (core.session().resume_keys, core.session().rules) == ({}, [])
    core.do(EndJob(job_id, Completed("late")))
    assert next_resume_key(core) == ""
    assert core.session().generation == 1


@pytest.mark.req("C4")
def test_reset_takes_back_the_questions_a_crash_left_behind(core: CoreHarness):
    job_id = core.say()
    core.start()
    asked = core.ask(job_id)
    core.do(MarkInterrupted())
    core.do(ResetSession(ME, OWNER))
    assert core.state.questions[asked].closed_reason == "withdrawn"


@pytest.mark.req("C4", "A18")
def test_there_must_be_a_session_to_reset(core: CoreHarness):
    assert core.refuses(ResetSession(ME, OWNER)) == Code.E_NOT_IN_MANAGED_THREAD


# --- what a session is doing


@pytest.mark.req("A16")
def test_a_sessions_state_follows_its_jobs(core: CoreHarness):
    def seen() -> str:
        return session_state(core.state, core.session())

    first = core.say()
    assert seen() == "queued"
    core.start()
    second = core.say()
    assert seen() == "running"
    asked = core.ask(first)
    assert seen() == "waiting"
    core.do(RespondToQuestion(question_id=asked, person=OWNER, verdict="allow"))
    core.start()
    core.fail(first)
    assert seen() == "queued"
    core.start()
    core.fail(second)
    assert seen() == "failed"
    third = core.say()
    core.start()
    core.do(MarkInterrupted())
    assert seen() == "unknown_after_crash"
    core.retry(third)
    core.complete(core.start())
    assert seen() == "idle"


def test_sessions_are_found_by_key_and_by_the_id_shown_to_people(core: CoreHarness):
    core.start_thread("build")
    assert core.state.session_named("build") is core.session(thread("build"))
    assert core.state.session_named(str(thread("build"))) is core.session(thread("build"))
    assert core.state.session_named("nowhere") is None
    assert core.session(thread("build")).key == thread("build")


# --- bindings


@pytest.fixture
def bound(core: CoreHarness) -> CoreHarness:
    core.start_thread("one")
    core.start_thread("two")
    return core


def bind(core: CoreHarness, thread_name: str, where: str, **more) -> str:
    return core.do(
        Bind(
            target_session_key=str(thread(thread_name)),
            target_kind="session",
            conversation=conversation_ref(where),
            **more,
        )
    ).binding_id


@pytest.mark.req("D1")
def test_a_binding_has_all_its_fields(bound: CoreHarness):
    binding_id = bind(bound, "one", "porch", metadata={"colour": "red"}, ttl_ms=HOUR)
    record = bound.state.bindings[binding_id]
    assert (record.target_session_key, record.target_kind, record.status) == (str(thread("one")), "session", "active")
    assert (record.conversation, record.metadata, record.ttl_ms) == (conversation_ref("porch"), {"colour": "red"}, HOUR)
    assert (record.bound_at, record.expires_at) == (BEGINNING, timestamps.plus(BEGINNING, 3600))


@pytest.mark.req("D1")
def test_binding_a_bound_conversation_ends_the_older_binding_as_rebound(bound: CoreHarness):
    older = bound.state.bound[conversation_ref("one").address]
    newer = bind(bound, "two", "one")
    assert BindingEnded(older, "rebound") in [e.payload for e in bound.journal]
    assert older not in bound.state.bindings
    assert bound.state.bound[conversation_ref("one").address] == newer
    assert bound.state.session_at(conversation_ref("one"), bound.now) is bound.session(thread("two"))


@pytest.mark.req("D1")
def test_binding_where_a_binding_had_run_out_ends_it_as_expired(bound: CoreHarness):
    older = bind(bound, "one", "porch", ttl_ms=HOUR)
    bound.later(seconds=3601)
    bind(bound, "two", "porch")
    assert BindingEnded(older, "expired") in [e.payload for e in bound.journal]


@pytest.mark.req("D1", "A18")
def test_only_a_session_can_be_bound(bound: CoreHarness):
    assert (
        bound.refuses(
            Bind(target_session_key="agent:fairlead:user:none", target_kind="session", conversation=conversation_ref())
        )
        == Code.E_SESSION_NOT_FOUND
    )


@pytest.mark.req("D1")
def test_a_touch_moves_the_expiry_by_the_whole_time_to_live(bound: CoreHarness):
    binding_id = bind(bound, "one", "porch", ttl_ms=HOUR)
    bound.later(seconds=1800)
    bound.do(Touch(binding_id))
    assert bound.state.bindings[binding_id].expires_at == timestamps.plus(bound.now, 3600)
    bound.do(Touch(binding_id, at=timestamps.plus(bound.now, 60)))
    assert bound.state.bindings[binding_id].expires_at == timestamps.plus(bound.now, 3660)


@pytest.mark.req("D1")
def test_a_touch_neither_shortens_nor_revives_nor_limits(bound: CoreHarness):
    binding_id = bind(bound, "one", "porch", ttl_ms=HOUR)
    for_good = bound.state.bound[conversation_ref("one").address]
    assert bound.do(Touch(binding_id, at=timestamps.plus(bound.now, -60))).events == ()
    assert bound.do(Touch(for_good)).events == ()
    assert bound.do(Touch("bind_none")).events == ()
    bound.later(seconds=3600)
    assert bound.do(Touch(binding_id)).events == ()
    assert bound.state.session_at(conversation_ref("porch"), bound.now) is None


@pytest.mark.req("D1")
def test_a_binding_or_a_whole_session_is_unbound_with_a_reason_that_is_given_back(bound: CoreHarness):
    porch, attic = bind(bound, "one", "porch"), bind(bound, "one", "attic")
    own = bound.state.bound[conversation_ref("one").address]
    assert bound.do(Unbind("moved", binding_id=porch)).events == (BindingEnded(porch, "moved"),)
    ended = bound.do(Unbind("done", target_session_key=str(thread("one")))).events
    assert set(ended) == {BindingEnded(own, "done"), BindingEnded(attic, "done")}
    assert bound.do(Unbind("nothing named")).events == ()
    assert list(bound.state.bound) == [conversation_ref("two").address]


def test_a_message_to_a_conversation_whose_binding_ran_out_binds_it_again(bound: CoreHarness):
    bind(bound, "one", "porch", ttl_ms=HOUR)
    bound.later(seconds=3601)
    job_id = bound.say(conversation=conversation_ref("porch"))
    assert bound.job(job_id).session_key == ME
    assert bound.state.session_at(conversation_ref("porch"), bound.now) is bound.session()


# --- what a session is called


def test_a_persons_title_stands_and_an_agents_comes_before_that_of_the_first_prompt(core: CoreHarness):
    core.say()
    session = core.session()
    key = session.session_key

    def called(title: str, by: TitledBy) -> tuple[str, str]:
        core.do(TitleSession(key, title, by))
        return session.title, session.titled_by

    assert called("the first prompt", "prompt") == ("the first prompt", "prompt")
    assert called("a later prompt", "prompt") == ("the first prompt", "prompt")
    assert called("by the agent", "agent") == ("by the agent", "agent")
    assert session.title_before == "the first prompt"
    core.do(ResetSession(ME, OWNER))
    assert called("another talk", "prompt") == ("another talk", "prompt")
    assert called("mine", "person") == ("mine", "person")
    assert called("by the agent again", "agent") == ("mine", "person")
    core.do(ResetSession(ME, OWNER))
    assert called("a third talk", "prompt") == ("mine", "person")
