"""What a fork begins with, where it is, and what it has of the session that it was forked from."""

import pytest

from fairlead.core import events as e
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.forks import ForkSession, SwitchSession
from fairlead.core.decide.job_ends import Completed, EndJob
from fairlead.core.decide.scheduling import LearnResumeKey
from fairlead.core.engine import ForkOrigin
from fairlead.core.ids import JobId, ResumeKey
from fairlead.core.keys import SessionKey
from fairlead.errors import Code
from tests.core.harness import OWNER, CoreHarness, conversation_ref, encoded, folded, key_of, thread

pytestmark = pytest.mark.req("F7")

TOWN = conversation_ref("town")
THREAD = ConversationRef("toy", "fairlead", "t1", "town")


def turn(core: CoreHarness, text: str, point: str) -> str:
    job_id = core.say(text)
    core.start()
    core.do(LearnResumeKey(job_id, ResumeKey("k")))
    core.do(EndJob(job_id, Completed("done", point=point)))
    return job_id


def command(core: CoreHarness, *, at: ConversationRef | None = None, key: SessionKey | None = None, **more: object):
    given = {
        "asked_by": "9",
        "forked_from": core.session().session_key,
        "conversation": at or conversation_ref(),
        "session_key": key or key_of(),
        "person": OWNER,
        "has_points": True,
    }
    return ForkSession(**given | more)  # type: ignore[arg-type]


def test_the_point_is_where_the_last_turn_ended_also_while_another_one_runs(core: CoreHarness):
    turn(core, "one", "p1")
    core.say("two")
    core.start()
    planned = [event for event in core.do(command(core)).events if isinstance(event, e.ForkPlanned)]
    assert [event.fork for event in planned] == [ForkOrigin(ResumeKey("k"), "p1")]
    assert encoded(folded(core.journal)) == encoded(core.state)


def test_an_agent_without_points_is_asked_for_the_whole(core: CoreHarness):
    first = turn(core, "one", "p1")
    turn(core, "two", "p2")
    assert core.refuses(command(core, after=JobId(first), has_points=False)) is Code.E_FORK_UNAVAILABLE
    planned = [e_ for e_ in core.do(command(core, has_points=False)).events if isinstance(e_, e.ForkPlanned)]
    assert [event.fork for event in planned] == [ForkOrigin(ResumeKey("k"))]


def test_after_an_earlier_turn_is_where_that_turn_ended(core: CoreHarness):
    first = turn(core, "one", "p1")
    turn(core, "two", "p2")
    planned = [x for x in core.do(command(core, after=JobId(first))).events if isinstance(x, e.ForkPlanned)]
    assert [event.fork for event in planned] == [ForkOrigin(ResumeKey("k"), "p1")]


def test_in_a_thread_the_fork_grows_beside_it_and_the_opening_says_what_it_begins_with(core: CoreHarness):
    turn(core, "one", "p1")
    decision = core.do(command(core, at=THREAD, key=thread("t1"), has_threads=True))
    [owed] = decision.events
    assert isinstance(owed, e.DeliveryOwed)
    assert owed.opening is not None
    assert owed.opening.fork is not None
    assert (owed.requester, owed.opening.fork.origin) == (TOWN, ForkOrigin(ResumeKey("k"), "p1"))
    assert core.do(command(core, at=THREAD, key=thread("t1"), has_threads=True)).duplicate


def test_a_session_without_an_answer_has_nothing_to_begin_with(core: CoreHarness):
    core.say("one")
    assert core.refuses(command(core)) is Code.E_FORK_UNAVAILABLE


def test_a_conversation_goes_on_only_with_sessions_of_its_own(core: CoreHarness):
    turn(core, "one", "p1")
    core.do(command(core))
    own = core.session().session_key
    forked = next(s.session_key for s in core.state.sessions.values() if s.forked_from == own)
    here = conversation_ref()
    assert core.state.session_at(here, core.now) is core.state.sessions[forked]
    core.do(SwitchSession(conversation=here, session_key=own))
    assert core.state.session_at(here, core.now) is core.session()
    assert core.do(SwitchSession(conversation=here, session_key=own)).events == ()
    assert core.refuses(SwitchSession(conversation=TOWN, session_key=forked)) is Code.E_SESSION_NOT_FOUND
