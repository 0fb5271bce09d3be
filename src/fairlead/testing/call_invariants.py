"""What must be true of the calls that agents made of Fairlead's own tools, after any simulation."""

from collections import Counter

from fairlead.core import events as e
from fairlead.store.lines import JournalLine
from fairlead.testing.world import World


def judge_calls(world: World, facts: list[JournalLine]) -> None:
    called = [f.payload for f in facts if isinstance(f.payload, e.AgentToolCalled)]
    _every_call_is_done_once(world, called)
    _words_stay_in_their_session(world, facts)
    _questions_hold_nothing(world, facts)
    _every_response_begins_one_turn(world, facts)


def _every_call_is_done_once(world: World, called: list[e.AgentToolCalled]) -> None:
    times = Counter(fact.call_id for fact in called)
    for call_id, count in times.items():
        if count != 1:
            world.accuse(f"{call_id} was done {count} times")
    for made in world.made_calls:
        if made.call_id not in times:
            world.accuse(f"{made.call_id} was acknowledged, and the journal does not know it")


def _words_stay_in_their_session(world: World, facts: list[JournalLine]) -> None:
    """What a session's agent sends goes to a conversation of that session."""
    places: dict[str, set[str]] = {}
    owed: dict[str, e.DeliveryOwed] = {}
    for fact in (f.payload for f in facts):
        match fact:
            case e.JobEnqueued():
                places.setdefault(fact.session_key, set()).add(fact.conversation.address)
            case e.BindingBound():
                places.setdefault(fact.target_session_key, set()).add(fact.conversation.address)
            case e.DeliveryOwed(kind="sent"):
                owed[fact.entry_id] = fact
            case _:
                pass
    for post in world.history.posts:
        entry = owed.get(post.entry_id)
        if entry is None:
            continue
        if post.address not in places.get(entry.session_key, ()) or not post.text.endswith(entry.session_key):
            world.accuse(f"{post.entry_id} of {entry.session_key} was seen at {post.address}")


def _questions_hold_nothing(world: World, facts: list[JournalLine]) -> None:
    """The end of a job closes no question whose response is a message."""
    by_message = {
        f.payload.question_id for f in facts if isinstance(f.payload, e.QuestionAsked) and f.payload.by_message
    }
    for fact in (f.payload for f in facts if isinstance(f.payload, e.QuestionClosed)):
        if fact.question_id in by_message and fact.reason == "job_ended":
            world.accuse(f"{fact.question_id} was closed with its job, although its agent did not wait")


def _every_response_begins_one_turn(world: World, facts: list[JournalLine]) -> None:
    by_message = {
        f.payload.question_id for f in facts if isinstance(f.payload, e.QuestionAsked) and f.payload.by_message
    }
    begun = Counter(f.payload.message_id for f in facts if isinstance(f.payload, e.JobEnqueued))
    for fact in (f.payload for f in facts if isinstance(f.payload, e.QuestionAnswered)):
        if fact.question_id not in by_message or fact.verdict != "allow":
            continue
        count = begun[f"answer-{fact.question_id}"]  # type: ignore[index]
        if count != 1:
            world.accuse(f"{fact.question_id} was answered, and {count} turns began for it")
