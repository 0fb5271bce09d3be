"""Sessions of the agents' own: adopted, handed off to a terminal, taken back."""

import pytest

from fairlead.core.decide.agent_sessions import AdoptSession, HandOffSession, TakeBackSession
from fairlead.core.decide.scheduling import BeginAgentTurn, LearnResumeKey
from fairlead.core.decide.sessions import ResetSession
from fairlead.core.decide.undos import BeginUndo, job_to_go_back_before
from fairlead.core.events import SessionAdopted, SessionHandedOff, SessionTakenBack
from fairlead.core.state import session_state
from fairlead.errors import Code
from tests.core.harness import OWNER, CoreHarness, conversation_ref, key_of, thread

pytestmark = pytest.mark.req("F8", "F9")
ME = str(key_of())


def adopt(key: str = "k-terminal", runtime: str = "echo", session: str = ME) -> AdoptSession:
    return AdoptSession(session_key=session, runtime=runtime, project_path="/srv/api", key=key, person=OWNER)


def hand_off(key: str = "k1") -> HandOffSession:
    return HandOffSession(
        session_key=ME, runtime="echo", project_path="/srv/api", key=key, person=OWNER, position="bytes:7"
    )


def take_back() -> TakeBackSession:
    return TakeBackSession(session_key=ME, person=OWNER, exchanges=2)


def answered(core: CoreHarness, key: str = "k1") -> None:
    """The session has talked to its agent, which calls its memory `key`."""
    job_id = core.say()
    core.start()
    core.do(LearnResumeKey(job_id, key))
    core.complete(job_id)


def test_a_session_goes_on_with_what_it_adopts_and_remembers_what_it_had(core: CoreHarness):
    answered(core)
    adopted = core.do(adopt()).events[0]
    assert isinstance(adopted, SessionAdopted)
    assert (adopted.before, adopted.generation) == ("k1", 1)
    job_id = core.say("and now?")
    core.start()
    assert core.job(job_id).resume_key == "k-terminal"


def test_an_adopted_session_that_its_agent_does_not_know_is_never_replaced_by_a_new_one(core: CoreHarness):
    core.say()
    core.cancel(core.start())
    core.do(adopt())
    assert core.session(key_of()).proven_key("echo /srv/api") == "k-terminal"


def test_adopting_what_the_session_has_already_changes_nothing(core: CoreHarness):
    answered(core)
    core.do(adopt())
    assert core.do(adopt()).duplicate


@pytest.mark.parametrize("state", ["queued", "running"])
def test_nothing_is_adopted_while_a_message_waits_or_runs(core: CoreHarness, state: str):
    core.say()
    if state == "running":
        core.start()
    assert core.refuses(adopt()) is Code.E_SESSION_STATE


def test_two_sessions_never_go_on_with_the_same_one(core: CoreHarness):
    core.start_thread("build")
    core.do(adopt(session=str(thread("build"))))
    answered(core)
    assert core.refuses(adopt()) is Code.E_SESSION_IN_USE
    core.do(ResetSession(str(thread("build")), OWNER))
    assert core.do(adopt()).events


def test_only_an_agent_of_the_project_is_adopted(core: CoreHarness):
    answered(core)
    assert core.refuses(adopt(runtime="vim")) is Code.E_TOOL_NOT_ENABLED


def test_permissions_for_the_session_end_with_the_agents_session_that_they_were_given_to(core: CoreHarness):
    answered(core)
    core.session(key_of()).rules.append("Bash ls")
    core.do(adopt())
    assert core.session(key_of()).rules == []


def test_while_a_session_is_handed_off_nothing_starts_in_it_and_all_that_waits_runs_afterwards(core: CoreHarness):
    answered(core)
    assert isinstance(core.do(hand_off()).events[0], SessionHandedOff)
    first, second = core.say("one"), core.say("two")
    other = core.say_in("elsewhere")
    assert core.start() == other
    assert core.start() == ""
    assert session_state(core.state, core.session(key_of())) == "handed_off"
    assert isinstance(core.do(take_back()).events[0], SessionTakenBack)
    assert core.start() == first
    core.complete(first)
    assert core.start() == second


def test_a_turn_that_an_agent_begins_by_itself_is_refused_while_its_session_is_handed_off(core: CoreHarness):
    answered(core)
    core.do(hand_off())
    assert core.refuses(BeginAgentTurn(ME, 0, "t1")) is Code.E_SESSION_HANDED_OFF


def test_a_session_is_handed_off_once_and_only_while_nothing_runs(core: CoreHarness):
    answered(core)
    core.say()
    running = core.start()
    assert core.refuses(hand_off()) is Code.E_SESSION_STATE
    core.complete(running)
    assert core.do(hand_off()).events
    assert core.do(hand_off()).duplicate


def test_what_is_handed_off_must_still_be_what_the_session_has(core: CoreHarness):
    answered(core)
    assert core.refuses(hand_off("k0")) is Code.E_SESSION_STATE


def test_only_what_was_handed_off_is_taken_back(core: CoreHarness):
    answered(core)
    assert core.refuses(take_back()) is Code.E_SESSION_STATE


def test_nothing_is_adopted_by_a_session_that_is_handed_off(core: CoreHarness):
    answered(core)
    core.do(hand_off())
    assert core.refuses(adopt()) is Code.E_SESSION_HANDED_OFF


def test_a_reset_ends_a_hand_off_because_the_session_forgets_what_goes_on_there(core: CoreHarness):
    answered(core)
    core.do(hand_off())
    core.do(ResetSession(ME, OWNER))
    job_id = core.say("afresh")
    assert core.start() == job_id


def test_files_are_not_undone_while_a_terminal_works_on_them(core: CoreHarness):
    answered(core)
    core.do(hand_off())
    undo = BeginUndo(
        session_key=ME, job_ids=("job_1",), project_path="/srv/api", person=OWNER, what="files", before="a", after="b"
    )
    assert core.refuses(undo) is Code.E_SESSION_HANDED_OFF


@pytest.mark.parametrize(("exchanges", "goes_back"), [(0, True), (2, False)])
def test_an_agent_is_not_set_back_before_what_was_said_in_a_terminal(
    core: CoreHarness, exchanges: int, goes_back: bool
):
    answered(core)
    core.session(key_of()).points["echo /srv/api"] = "p1"
    core.do(hand_off())
    core.do(TakeBackSession(session_key=ME, person=OWNER, exchanges=exchanges))
    session = core.session(key_of())
    last = core.state.jobs[session.ended[-1]]
    back_before = job_to_go_back_before(core.state, session, last.job_id, [last], and_later=False)
    assert (back_before == last.job_id) is goes_back
    assert ("echo /srv/api" in session.points) is goes_back


def test_a_conversation_without_a_session_has_nothing_to_hand_off(core: CoreHarness):
    assert core.state.session_at(conversation_ref(), core.now) is None
    for command in (adopt(), hand_off(), take_back()):
        assert core.refuses(command) is Code.E_NOT_IN_MANAGED_THREAD
