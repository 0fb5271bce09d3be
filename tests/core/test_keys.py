"""C1: building and parsing are exact inverses, and everything else is refused."""

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairlead.core import keys
from fairlead.errors import Code, FairleadError, InputError

pytestmark = pytest.mark.req("C1")

any_text = st.text(max_size=140)
letters = st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters=":")
parts = st.text(letters, min_size=1, max_size=12) | st.sampled_from(["user", "agent", "x" * 128, "two words"])
separated = st.lists(
    st.one_of(st.sampled_from(["agent", "user", "channel", "thread", "", " ", "a\n", "x" * 129]), parts),
    max_size=7,
).map(":".join)
built = st.one_of(
    st.builds(lambda a, u: keys.user_key(agent_id=a, user_id=u), parts, parts),
    st.builds(lambda a, s, c: keys.channel_key(agent_id=a, space_id=s, channel_id=c), parts, parts, parts),
    st.builds(lambda a, s, t: keys.thread_key(agent_id=a, space_id=s, thread_id=t), parts, parts, parts),
)


def test_the_three_shapes_are_those_of_the_specification():
    assert str(keys.user_key(agent_id="fairlead", user_id="42")) == "agent:fairlead:user:42"
    assert str(keys.channel_key(agent_id="fairlead", space_id="1", channel_id="2")) == "agent:fairlead:channel:1:2"
    assert str(keys.thread_key(agent_id="fairlead", space_id="1", thread_id="3")) == "agent:fairlead:thread:1:3"


@given(built)
def test_what_was_built_is_parsed_back(key: keys.SessionKey):
    assert keys.parse_session_key(str(key)) == key


@given(st.one_of(any_text, separated))
@example("agent:fairlead:user:42")
@example("agent:fairlead:thread:1:2")
@example("agent:fairlead:user:1:2")
@example("agent:fairlead:thread:1")
@example("Agent:fairlead:user:42")
@example("agent:fairlead:user:42 ")
@example("agent:fairlead:user:42\n")
@example("agent::user:42")
def test_what_is_parsed_is_exactly_what_would_be_built(text: str):
    key = keys.parse_session_key(text)
    if key is not None:
        assert str(_rebuilt(key)) == text


def _rebuilt(key: keys.SessionKey) -> keys.SessionKey:
    if key.kind == "user":
        return keys.user_key(agent_id=key.agent_id, user_id=key.target_id)
    assert key.space_id is not None
    if key.kind == "channel":
        return keys.channel_key(agent_id=key.agent_id, space_id=key.space_id, channel_id=key.target_id)
    return keys.thread_key(agent_id=key.agent_id, space_id=key.space_id, thread_id=key.target_id)


@given(built, built)
def test_two_keys_never_share_one_name(one: keys.SessionKey, other: keys.SessionKey):
    assert (str(one) == str(other)) == (one == other)


BAD_PARTS = [
    "",
    " ",
    "a:b",
    ":",
    "x" * 129,
    "tab\there",
    "line\nbreak",
    "nul\x00",
    " lead",
    "trail ",
    "\ud800",
    "\u200b",
]


@pytest.mark.parametrize("bad", BAD_PARTS)
def test_a_part_that_would_not_survive_is_refused_by_every_builder(bad: str):
    builders = [
        lambda: keys.user_key(agent_id=bad, user_id="1"),
        lambda: keys.channel_key(agent_id="a", space_id=bad, channel_id="1"),
        lambda: keys.channel_key(agent_id="a", space_id="1", channel_id=bad),
        lambda: keys.thread_key(agent_id="a", space_id=bad, thread_id="1"),
        lambda: keys.thread_key(agent_id="a", space_id="1", thread_id=bad),
    ]
    for build in builders:
        with pytest.raises(InputError) as refusal:
            build()
        assert refusal.value.code == Code.E_INVALID_ARGS


@pytest.mark.parametrize("bad", BAD_PARTS)
def test_a_bad_user_id_is_named_as_such(bad: str):
    with pytest.raises(FairleadError, match="user id") as refusal:
        keys.user_key(agent_id="fairlead", user_id=bad)
    assert refusal.value.code == Code.E_INVALID_USER


@given(any_text)
def test_a_builder_takes_exactly_the_valid_parts(text: str):
    if keys.is_valid_part(text):
        assert keys.user_key(agent_id="fairlead", user_id=text).target_id == text
    else:
        with pytest.raises(FairleadError):
            keys.user_key(agent_id="fairlead", user_id=text)


def test_the_longest_part_is_128_characters():
    assert keys.is_valid_part("x" * 128)
    assert not keys.is_valid_part("x" * 129)


def test_people_see_the_thread_id_for_a_thread_and_the_key_for_the_rest():
    assert keys.thread_key(agent_id="a", space_id="1", thread_id="99").session_id == "99"
    assert keys.user_key(agent_id="a", user_id="7").session_id == "agent:a:user:7"
    assert keys.channel_key(agent_id="a", space_id="1", channel_id="2").session_id == "agent:a:channel:1:2"


@given(built)
def test_a_key_survives_the_wire(key: keys.SessionKey):
    assert msgspec.json.decode(msgspec.json.encode(key), type=keys.SessionKey) == key
