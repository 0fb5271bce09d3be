"""What follows from a snapshot that came late: a card of its own, once, and only for people."""

import pytest

from fairlead.core.decide.delivery import PlanDelivery
from fairlead.core.decide.trees import NoteSnapshot
from fairlead.core.events import DeliveryAcknowledged, DeliveryOwed
from fairlead.core.routing import requester_destination
from fairlead.core.state import card_entry_id
from fairlead.core.trees import FileChange, TreeSnapshot, summarise
from tests.core.harness import CoreHarness, conversation_ref

pytestmark = pytest.mark.req("F3")
CHANGED = summarise((FileChange(path="a.py", kind="added", added=1),), 20)


def note(job_id: str, moment: str, tree: str) -> NoteSnapshot:
    changed = CHANGED if moment == "end" else None
    return NoteSnapshot(job_id=job_id, moment=moment, snapshot=TreeSnapshot(f"c{tree}", tree), changed=changed)  # type: ignore[arg-type]


def begun(core: CoreHarness) -> str:
    job_id = core.say()
    core.start()
    core.do(note(job_id, "start", "1"))
    return job_id


def cards(events: tuple) -> list[str]:
    return [event.kind for event in events if isinstance(event, DeliveryOwed)]


def test_an_end_that_is_known_before_the_answer_needs_no_card_of_its_own(core: CoreHarness):
    job_id = begun(core)
    assert cards(core.do(note(job_id, "end", "2")).events) == []


def test_an_answer_that_is_not_planned_yet_carries_it(core: CoreHarness):
    job_id = begun(core)
    core.complete(job_id)
    assert cards(core.do(note(job_id, "end", "2")).events) == []


def test_behind_an_answer_that_went_out_it_follows_once(core: CoreHarness):
    job_id = begun(core)
    core.complete(job_id)
    core.deliver(job_id)
    assert cards(core.do(note(job_id, "end", "2")).events) == ["card"]
    assert core.do(note(job_id, "end", "2")).events == ()


def test_where_clients_fetch_it_is_settled_with_its_plan(core: CoreHarness):
    job_id = begun(core)
    core.complete(job_id)
    core.deliver(job_id)
    core.do(note(job_id, "end", "2"))
    planned = core.do(PlanDelivery(card_entry_id(job_id), requester_destination(conversation_ref())))
    assert isinstance(planned.events[-1], DeliveryAcknowledged)
    assert card_entry_id(job_id) not in core.state.outbox
