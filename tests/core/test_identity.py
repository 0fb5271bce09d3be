"""Who somebody is, across channels."""

import unicodedata
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairlead.core.identity import Identities, IdentityDefaults, link_identities
from fairlead.core.keys import is_valid_part, is_visible, normalise_id
from fairlead.errors import Code, FairleadError

OWNER = "4242"
IDENTITY_DEFAULTS = IdentityDefaults("discord", "terminal:local")


def refusal(identities: Identities, channel: str, user: str) -> Code:
    with pytest.raises(FairleadError) as caught:
        identities.person_of(channel, user)
    return caught.value.code


@pytest.mark.req("C6")
def test_the_terminals_local_user_is_the_discord_owner_when_there_is_one():
    assert link_identities({}, IDENTITY_DEFAULTS, owner_id=OWNER).person_of("terminal", "local") == OWNER
    assert link_identities({}, IDENTITY_DEFAULTS).person_of("terminal", "local") == "local"


@pytest.mark.req("C2")
def test_linked_ids_are_one_person_on_every_channel():
    identities = link_identities({OWNER: ["http:alice", "terminal:alice"]}, IDENTITY_DEFAULTS, owner_id=OWNER)
    people = {identities.person_of(channel, user) for channel, user in (("http", "alice"), ("terminal", "alice"))}
    assert people == {OWNER}
    assert identities.person_of("discord", OWNER) == OWNER


@pytest.mark.req("C2")
def test_an_owner_with_a_name_keeps_it_in_the_terminal():
    identities = link_identities({"alice": [f"discord:{OWNER}"]}, IDENTITY_DEFAULTS, owner_id=OWNER)
    assert identities.person_of("terminal", "local") == "alice"
    assert identities.person_of("discord", OWNER) == "alice"


@pytest.mark.req("C5")
@pytest.mark.parametrize("user", [OWNER, "1", "٤٢", "alice", "bob", "local"])
def test_nobody_becomes_somebody_else_by_typing_their_id(user: str):
    identities = link_identities({"alice": ["terminal:bob"]}, IDENTITY_DEFAULTS, owner_id=OWNER)
    assert refusal(identities, "http", user) == Code.E_INVALID_USER


@pytest.mark.req("C5")
@pytest.mark.parametrize("user", ["", " ", "a:b", "a\nb", "x" * 129, " alice", "\u202e", "a\x00"])
def test_a_malformed_id_is_refused(user: str):
    assert refusal(link_identities({}, IDENTITY_DEFAULTS), "http", user) == Code.E_INVALID_USER


def is_acceptable(user: str) -> bool:
    return is_valid_part(user) and is_visible(user) and not user.isdigit()


@pytest.mark.req("C3", "C10")
@example("\u034f", "e\u0301")
@given(st.text(max_size=140), st.text(max_size=140))
def test_two_unlinked_ids_are_two_people_or_none(one: str, other: str):
    accepted = {user for user in (one, other) if is_acceptable(normalise_id(user))}
    people = {link_identities({}, IDENTITY_DEFAULTS).person_of("http", user) for user in accepted}
    assert people == {normalise_id(user) for user in accepted}
    for user in {one, other} - accepted:
        assert refusal(link_identities({}, IDENTITY_DEFAULTS), "http", user) == Code.E_INVALID_USER


def test_every_mistake_in_the_links_is_told_at_once():
    links = {"a:b": ["http:x"], "alice": ["nochannel", "http:x"], "7": [], "bob": ["discord:7"]}
    with pytest.raises(FairleadError) as caught:
        link_identities(links, IDENTITY_DEFAULTS)
    assert caught.value.code == Code.E_CONFIG
    for said in ("'a:b' cannot be", "'nochannel' is not", "'http:x' is claimed", "'discord:7' is claimed"):
        assert said in caught.value.message


@pytest.mark.req("C2")
@given(st.text(min_size=1, max_size=20))
def test_an_id_is_the_same_person_however_its_accents_are_written(user: str):
    people = link_identities({}, IDENTITY_DEFAULTS)

    def person(form: Literal["NFC", "NFD"]) -> str:
        try:
            return people.person_of("http", unicodedata.normalize(form, user))
        except FairleadError as refused:
            return str(refused.code)

    assert person("NFC") == person("NFD")


def test_a_link_counts_however_its_accents_are_written():
    people = link_identities({"jos\u00e9": ["http:rene\u0301"]}, IDENTITY_DEFAULTS)
    assert people.person_of("http", "ren\u00e9") == "jos\u00e9"
    with pytest.raises(FairleadError, match="the same id"):
        link_identities({"jos\u00e9": [], "jose\u0301": []}, IDENTITY_DEFAULTS)


@pytest.mark.req("C5")
@pytest.mark.parametrize("blank", ["\u3164", "\u2800", "a\ufe0f", "\u115f\u1160", "bob\u034f", "\uffa0"])
def test_an_id_that_a_reader_cannot_see_is_refused(blank: str):
    with pytest.raises(FairleadError, match="visible"):
        link_identities({}, IDENTITY_DEFAULTS).person_of("http", blank)
