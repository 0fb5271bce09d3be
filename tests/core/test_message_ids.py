"""Message ids that Fairlead makes: what is on disk stays, and each is read back as what it was made of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core import message_ids
from fairlead.core.message_ids import OfAgentTurn, OfReaction, OfResponse, OfRetry, Plain, parse_message_id


@pytest.mark.parametrize(
    ("made", "on_disk", "parts"),
    [
        (message_ids.retry_id("job_1"), "retry-job_1", OfRetry("job_1")),
        (message_ids.response_id("q_1"), "answer-q_1", OfResponse("q_1")),
        (message_ids.agent_turn_id("t1"), "agent-t1", OfAgentTurn("t1")),
        (message_ids.reaction_id("77"), "reaction-77", OfReaction("77")),
        (message_ids.idempotency_id("my-key"), "my-key", Plain("my-key")),
        (message_ids.idempotency_id("77"), "+77", Plain("+77")),
        (message_ids.idempotency_id("+77"), "++77", Plain("++77")),
        (message_ids.idempotency_id("my-key~2"), "my-key%7E2", Plain("my-key%7E2")),
        (message_ids.idempotency_id("retry-job_1"), "+retry-job_1", Plain("+retry-job_1")),
        (message_ids.idempotency_id("answer-q_1"), "+answer-q_1", Plain("+answer-q_1")),
        (message_ids.id_after_refusals("my-key", 2), "my-key~2", Plain("my-key~2")),
    ],
)
def test_an_id_is_read_as_what_it_was_made_of(made: str, on_disk: str, parts: object):
    assert made == on_disk
    assert parse_message_id(made) == parts


KEYS = st.text(alphabet="a1~+-_retyansw", min_size=1, max_size=12)
OURS = st.builds(
    lambda make, name: make(name),
    st.sampled_from([message_ids.retry_id, message_ids.response_id, message_ids.agent_turn_id, message_ids.command_id]),
    KEYS,
)


@pytest.mark.req("C5")
@given(KEYS, KEYS, OURS, st.integers(2, 50))
def test_no_key_of_a_client_is_another_keys_id_nor_one_of_ours(key: str, other: str, ours: str, number: int):
    made = message_ids.idempotency_id(key)
    assert (made == message_ids.idempotency_id(other)) == (key == other)
    assert made != message_ids.id_after_refusals(message_ids.idempotency_id(other), number)
    assert made != ours


def test_the_message_that_somebody_wrote():
    assert message_ids.written_message("77") == "77"
    assert message_ids.written_message("reaction-77") == "77"
    assert message_ids.written_message("retry-job_1") is None
    assert message_ids.written_message("answer-q_1") is None
    assert message_ids.written_message("agent-t1") is None
