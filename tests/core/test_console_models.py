"""What needs somebody, the list of sessions, and what became of messages: for each caller what they may see."""

import pytest

from fairlead.core.console_models import BOARD_ROWS, board, message_page, session_jobs, session_page
from fairlead.core.decide.job_ends import Failure
from fairlead.core.decide.steering import BeginSteering
from fairlead.core.requests import Caller
from fairlead.errors import Code
from tests.core.harness import FRIEND, OWNER, CoreHarness, conversation_ref, key_of, permission


def caller(person: str = OWNER, *, pre_authorised: bool = False) -> Caller:
    return Caller(
        person=person,
        conversation=conversation_ref(person, "console"),
        session_key=key_of(person),
        pre_authorised=pre_authorised,
    )


def busy_scene() -> CoreHarness:
    """The owner's job asks, and the friend's has failed."""
    made = CoreHarness()
    made.say("hello", session_key=key_of(OWNER), conversation=conversation_ref("owner"))
    made.ask(made.start(), permission())
    made.say("build", session_key=key_of(FRIEND), conversation=conversation_ref("friend"), person=FRIEND)
    made.end(made.start(), Failure(Code.E_RUNTIME_HUNG, "hung"))
    return made


@pytest.mark.req("G1")
def test_the_board_has_what_asks_runs_and_failed():
    made = busy_scene()
    shown = board(made.state, caller(), made.now)
    assert [q.question.detail for q in shown.questions] == ["rm -rf build"]
    assert [(row.job.state, row.prompt) for row in shown.running] == [("waiting", "hello")]
    assert [(row.job.error_code, row.title) for row in shown.failed] == [("E_RUNTIME_HUNG", FRIEND)]


@pytest.mark.req("G4")
def test_a_guest_sees_their_own_and_not_the_owners():
    made = busy_scene()
    shown = board(made.state, caller(FRIEND), made.now)
    assert (shown.questions, shown.running) == ((), ())
    assert [row.title for row in shown.failed] == [FRIEND]
    assert [line.session_key for line in session_page(made.state, caller(FRIEND), "", "", 50).sessions] == [
        key_of(FRIEND).text
    ]
    assert message_page(made.state, caller(FRIEND), "refused").lines == ()


@pytest.mark.req("G4")
def test_a_guest_is_not_told_how_much_others_say():
    made = busy_scene()
    assert message_page(made.state, caller(FRIEND), "waiting").counted == 0
    assert message_page(made.state, caller(FRIEND), "failed").counted == 1
    assert message_page(made.state, caller(), "waiting").counted == 1


@pytest.mark.req("G1", "G4")
def test_a_guest_sees_their_failure_though_many_others_failed_later():
    made = busy_scene()
    for number in range(BOARD_ROWS + 1):
        made.later(seconds=60)
        made.say("x", session_key=key_of(f"user{number}"), conversation=conversation_ref(f"c{number}"))
        made.end(made.start(), Failure(Code.E_RUNTIME_HUNG, "hung"))
    assert [row.title for row in board(made.state, caller(FRIEND), made.now).failed] == [FRIEND]


@pytest.mark.req("G2")
def test_sessions_come_in_pages_and_are_found_by_their_words():
    made = CoreHarness()
    for number in range(5):
        made.later(seconds=60)
        made.say(f"hello {number}", session_key=key_of(f"user{number}"), conversation=conversation_ref(f"c{number}"))
    first = session_page(made.state, caller(), "", "", 2)
    second = session_page(made.state, caller(), "", first.following, 2)
    last = session_page(made.state, caller(), "", second.following, 2)
    titles = [line.title for page in (first, second, last) for line in page.sessions]
    assert titles == ["user4", "user3", "user2", "user1", "user0"]
    assert (first.total, last.following) == (5, "")
    assert [line.title for line in session_page(made.state, caller(), "USER3 api", "", 9).sessions] == ["user3"]
    assert [job.prompt for job in session_jobs(made.state, key_of("user3").text)] == ["hello 3"]
    assert session_jobs(made.state, "agent:fairlead:user:nobody") == []


@pytest.mark.req("G2", "F6")
def test_a_text_on_its_way_into_a_turn_is_among_the_jobs_of_its_session():
    made = CoreHarness()
    into = made.say("first")
    made.start()
    text = made.say("and this", steers=True)
    made.do(BeginSteering(text, into))
    assert [job.job_id for job in session_jobs(made.state, made.job(text).session_key)] == [into, text]


@pytest.mark.req("G6")
def test_each_number_of_the_account_has_its_list():
    made = busy_scene()
    owner = caller(pre_authorised=True)
    assert [line.detail for line in message_page(made.state, owner, "failed").lines] == ["E_RUNTIME_HUNG"]
    assert message_page(made.state, owner, "waiting").counted == 1
    assert message_page(made.state, owner, "answered").lines == ()
