"""The agents' own sessions in words: short enough for a phone, and nothing in them formats or hides."""

import pytest

from fairlead.core import replies as r
from fairlead.core.agent_sessions import Exchange
from fairlead.render.agent_sessions import count_words, exchange_rows, shortest_keys
from fairlead.render.replies import reply_lines

pytestmark = pytest.mark.req("F8", "F9")


def test_a_key_is_shortened_as_far_as_it_stays_the_only_one():
    assert shortest_keys(["01a1eca7-3e59", "01a1eca7-4444", "99999999-aaaa"]) == [
        "01a1eca7-3",
        "01a1eca7-4",
        "99999999",
    ]
    assert shortest_keys(["short", "same-same", "same-same"]) == ["short", "same-same", "same-same"]
    assert shortest_keys([]) == []


def test_a_list_says_what_each_session_is_and_who_uses_it():
    rows = (
        r.StoredSessionRow(key="aaaaaaaa-1", tool="claude", first_words="fix it", exchanges=1, changed_at="T1"),
        r.StoredSessionRow(key="bbbbbbbb-1", tool="codex", first_words="x", exchanges=7, has_more=True, here=True),
        r.StoredSessionRow(key="cccccccc-1", tool="codex", first_words="y\u202e\nz", session_id="other"),
    )
    offered = r.StoredSessionCatalogue("/srv/api", rows, {"opencode": "It does not start."})
    assert reply_lines(r.SessionAdoption(offered=offered), "en") == [
        "The sessions of opencode could not be listed: It does not start.",
        "Sessions in the agents' own records (/session adopt ID goes on with one here):",
        "aaaaaaaa · claude · T1 · 1 exchange · fix it",
        "bbbbbbbb · codex · 7+ exchanges · this session · x",
        "cccccccc · codex · used by other · y z",
    ]
    assert reply_lines(r.StoredSessionCatalogue("/srv/api", ()), "en") == [
        "The agents' own records have no session for /srv/api."
    ]


def test_exchanges_are_shown_short_and_without_what_hides():
    long = "\n".join(f"line {n}" for n in range(20))
    shown = exchange_rows((Exchange("a\x1b[2J question\nin lines", long), Exchange("and?", "")))
    assert shown == (
        "> a[2J question in lines",
        *(f"  line {n}" for n in range(6)),
        "  …",
        "> and?",
    )


def test_nobody_counts_what_nobody_knows():
    assert count_words(0, "en", has_more=True) == ""
    assert count_words(1, "en", has_more=True) == "1+ exchanges"


@pytest.mark.parametrize("lang", ["en", "ja", "zh-CN", "zh-TW"])
def test_every_end_of_a_hand_off_has_words(lang: str):
    row = r.StoredSessionRow(key="k", tool="claude", exchanges=2)
    handed_off = r.SessionHandOff(
        session_id="s", tool="claude", resume_key="k", handed_off=True, command="cd /srv && claude", pending=1
    )
    back = r.SessionHandOff(session_id="s", tool="claude", resume_key="k", handed_off=False, exchanges=2, pending=1)
    unread = r.SessionHandOff(session_id="s", tool="claude", resume_key="k", handed_off=False, unread=True)
    unchanged = r.SessionHandOff(session_id="s", tool="claude", resume_key="k", handed_off=False)
    adopted = r.SessionAdoption(adopted=row, before="old")
    said = [tuple(reply_lines(reply, lang)) for reply in (handed_off, back, unread, unchanged, adopted)]
    assert len(set(said)) == len(said)
    assert said[0][-1] == "cd /srv && claude"
    assert "old" in said[-1][-1]
