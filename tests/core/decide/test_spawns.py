"""Decisions about sessions for a task: which batch is written, and where the completion is owed to."""

import pytest

from fairlead.core import events as e
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.delivery import AbandonDelivery, Acknowledge, MarkPieceSent, PlanDelivery
from fairlead.core.decide.spawns import FinishReturn, SpawnSession, thread_place
from fairlead.core.events import Piece
from fairlead.core.inbound import Attachment
from fairlead.core.keys import channel_key, thread_key, user_key
from fairlead.core.limits import Limits
from fairlead.core.routing import requester_destination
from fairlead.errors import Code
from tests.core.harness import OWNER, CoreHarness, conversation_ref, key_of

pytestmark = pytest.mark.req("D4")

TOWN = ConversationRef("chat", "acc", "7")
THREAD = ConversationRef("chat", "acc", "77", "7")
IN_THREAD = thread_key(agent_id="fairlead", space_id="1", thread_id="77")


def order(task: str = "count", **different) -> SpawnSession:
    usual = {
        "asked_by": "900",
        "task": task,
        "person": OWNER,
        "parent": IN_THREAD.text,
        "conversation": THREAD,
        "session_key": IN_THREAD,
        "has_threads": True,
    }
    return SpawnSession(**(usual | different))


def scene(**limits) -> CoreHarness:
    made = CoreHarness(limits=Limits(**limits))
    made.say(conversation=THREAD, session_key=IN_THREAD)
    return made


def types(decision) -> list[str]:
    return [type(event).__name__ for event in decision.events]


def opened(made: CoreHarness) -> str:
    """The opening message stands as 1001, and its thread too."""
    entry_id = made.do(order()).entry_id
    pieces = (Piece("opening"), Piece("", thread="count"))
    made.do(PlanDelivery(entry_id, requester_destination(TOWN), pieces))
    made.do(MarkPieceSent(entry_id, 0, "1001"))
    made.do(MarkPieceSent(entry_id, 1, "1001"))
    return entry_id


def test_a_session_without_a_thread_begins_in_one_batch_with_its_task():
    made = scene()
    assert types(made.do(order())) == ["SessionCreated", "SessionSpawned", "JobEnqueued"]


def test_a_session_with_a_thread_begins_with_its_opening_and_its_task_comes_with_the_thread():
    made = scene(spawn_threads=True)
    entry_id = made.do(order()).entry_id
    made.do(PlanDelivery(entry_id, requester_destination(TOWN), (Piece("opening"), Piece("", thread="count"))))
    first = made.do(MarkPieceSent(entry_id, 0, "1001"))
    assert types(first) == ["PieceDelivered", "SessionCreated", "SessionSpawned", "BindingBound"]
    second = made.do(MarkPieceSent(entry_id, 1, "1001"))
    assert types(second) == ["PieceDelivered", "JobEnqueued", "DeliveryOwed"]
    [link] = [event for event in second.events if isinstance(event, e.DeliveryOwed)]
    assert (link.kind, link.requester, link.link) == ("link", THREAD, "1001")


@pytest.mark.parametrize(
    ("conversation", "key", "place"),
    [
        (TOWN, channel_key(agent_id="fairlead", space_id="1", channel_id="7"), TOWN),
        (THREAD, IN_THREAD, TOWN),
        (ConversationRef("chat", "acc", "77"), IN_THREAD, None),
        (conversation_ref(), user_key(agent_id="fairlead", user_id="42"), None),
        (THREAD, thread_key(agent_id="fairlead", space_id="spawn", thread_id="spawn-1"), None),
    ],
)
def test_a_thread_grows_in_a_channel_or_beside_a_thread_and_nowhere_else(conversation, key, place):
    assert thread_place(conversation, key) == place


@pytest.mark.req("D2", "D3")
def test_the_completion_of_a_threads_task_is_owed_there_and_fails_closed():
    made = scene(spawn_threads=True, global_max_running=2)
    opened(made)
    made.start()
    task = made.start()
    made.complete(task)
    entry = made.state.outbox[f"debt_{task}"]
    assert (entry.fail_closed, entry.requester, entry.asker) == (True, THREAD, "")


def test_a_thread_that_cannot_be_made_takes_its_session_along_and_says_so():
    made = scene(spawn_threads=True)
    entry_id = made.do(order()).entry_id
    made.do(PlanDelivery(entry_id, requester_destination(TOWN), (Piece("opening"), Piece("", thread="count"))))
    made.do(MarkPieceSent(entry_id, 0, "1001"))
    given_up = made.do(AbandonDelivery(entry_id, Code.E_THREAD_ACCESS_FAILED, "forbidden"))
    assert types(given_up) == ["BindingEnded", "SessionDiscarded", "DeliveryOwed", "DeliveryAbandoned"]
    assert (made.state.spawns, made.state.spawn_requests) == ({}, {})


def test_a_completion_that_an_agent_waits_for_is_for_its_session_alone():
    made = scene(global_max_running=2)
    made.do(order(by_agent=True))
    made.start()
    task = made.start()
    made.complete(task)
    entry_id = f"debt_{task}"
    assert list(made.state.returning) == [entry_id]
    assert not made.state.outbox[entry_id].awaits_fetching
    made.do(Acknowledge(entry_id))  # a client that looked at the job has not brought it to the session
    assert list(made.state.returning) == [entry_id]
    made.do(FinishReturn(entry_id))
    assert (made.state.returning, entry_id in made.state.outbox) == ({}, False)
    assert made.do(FinishReturn(entry_id)).events == ()


def test_it_waits_however_long_the_session_cannot_take_it():
    made = scene(global_max_running=2)
    made.do(order(by_agent=True))
    made.start()
    task = made.start()
    made.complete(task)
    made.live(40)
    assert list(made.state.returning) == [f"debt_{task}"]


def test_one_that_nobody_can_take_is_told_with_the_next_delivery():
    made = scene(global_max_running=2)
    made.do(order(by_agent=True))
    made.start()
    task = made.start()
    made.complete(task)
    made.do(FinishReturn(f"debt_{task}", Code.E_PROJECT_NOT_FOUND, "removed"))
    assert list(made.state.undelivered[THREAD.address]) == [task]
    assert made.job(task).given_up


@pytest.mark.req("E10")
def test_a_message_of_a_child_has_no_images_and_needs_its_session():
    made = scene()
    picture = Attachment(name="cat.png", media_type="image/png", blob="b")
    lost = made.submit("done", cause="child", session_key=key_of("gone"), attachments=(picture,))
    assert lost.refusal is not None
    assert lost.refusal.code is Code.E_SESSION_NOT_FOUND
    job_id = made.say("done", cause="child", conversation=THREAD, session_key=IN_THREAD, attachments=(picture,))
    assert made.job(job_id).attachments == ()
