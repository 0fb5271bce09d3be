"""What became of a message: kept as a short string, seen as one of three structs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.decide.messages import SkipMessage
from fairlead.core.message_outcomes import Enqueued, MessageOutcome, Refused, Skipped, decode_outcome, encode_outcome
from fairlead.errors import Code
from tests.core.harness import CoreHarness, conversation_ref

ids = st.integers(0, 10**6).map(lambda number: f"job_20260301_{number:04d}")
outcomes = st.builds(Enqueued, ids) | st.builds(Refused, st.sampled_from(list(Code))) | st.builds(Skipped, st.text())


@given(outcomes)
def test_an_outcome_is_read_as_it_was_written(outcome: MessageOutcome):
    assert decode_outcome(encode_outcome(outcome)) == outcome


@pytest.mark.req("A16")
def test_the_state_tells_what_became_of_each_message(core: CoreHarness):
    job_id = core.say(message_id="1")
    core.submit(" ", message_id="2")
    core.do(SkipMessage(core.inbound(message_id="3"), "too old"))
    told = [core.state.outcome_of(conversation_ref(), message_id) for message_id in ("1", "2", "3", "4")]
    assert told == [Enqueued(job_id), Refused(Code.E_EMPTY_MESSAGE), Skipped("too old"), None]
    assert core.state.outcomes_today[conversation_ref().address] == {
        "1": job_id,
        "2": "refused E_EMPTY_MESSAGE",
        "3": "skipped too old",
    }
    assert core.state.job_of(conversation_ref(), "1") is core.job(job_id)
    assert core.state.job_of(conversation_ref(), "2") is None
