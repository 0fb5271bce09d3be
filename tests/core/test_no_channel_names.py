"""D7: the core and the flow name no channel, and a channel nobody has heard of works."""

import re
from pathlib import Path

import pytest

import fairlead
from fairlead.core.conversation import ConversationRef
from fairlead.core.state import answer_entry_id
from tests.core.harness import CoreHarness, conversation_ref, key_of

pytestmark = pytest.mark.req("D7")

PACKAGE = Path(fairlead.__file__).parent
PORTS = [PACKAGE / name for name in ("ports.py", "runtime_ports.py", "channel_ports.py")]
SOURCES = sorted([*(PACKAGE / "core").rglob("*.py"), *(PACKAGE / "flow").rglob("*.py"), *PORTS])
CHANNELS = re.compile(r"discord|\bhttp\b|terminal|telegram|slack|webhook|snowflake|guild|gateway", re.IGNORECASE)


def test_there_are_modules_of_both_to_look_at():
    assert len(SOURCES) > 40


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_neither_core_nor_flow_names_a_channel(source: Path):
    text = source.read_text(encoding="utf-8")
    named = [f"{n}: {line}" for n, line in enumerate(text.splitlines(), 1) if CHANNELS.search(line)]
    assert named == []


@pytest.mark.req("D1", "D2")
def test_a_message_by_pigeon_is_answered_by_pigeon(core: CoreHarness):
    loft = ConversationRef("pigeon", "fairlead", "loft/3", "roof")
    job_id = core.turn("coo", conversation=loft, session_key=key_of("bert"), pre_authorised=True, person="bert")
    planned = next(e.payload for e in core.journal if type(e.payload).__name__ == "DeliveryPlanned")
    assert (planned.destination, planned.route) == (loft, "bound")
    assert core.job(job_id).state == "success"
    assert answer_entry_id(job_id) not in core.state.outbox


@pytest.mark.req("D1")
def test_a_conversation_is_named_by_channel_account_and_id_and_not_by_its_parent():
    assert conversation_ref("den").address == "toy/fairlead/den"
    assert ConversationRef("toy", "fairlead", "den", "elsewhere").address == conversation_ref("den").address
    assert conversation_ref("den", "radio").address != conversation_ref("den").address
