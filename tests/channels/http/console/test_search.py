"""Search in the browser: sessions and what was said, newest first, a bounded way back, and nothing of other people."""

import re
from pathlib import Path

import pytest

from fairlead.flow.queries import text_search
from tests.channels.harness import run_daemon_in
from tests.channels.http.console.harness import a_browser, tags_in

pytestmark = pytest.mark.anyio


def rows_in(html: str) -> list[str]:
    return re.findall(r'<p class="prompt"><bdi>(.*?)</bdi></p>', html)


@pytest.mark.req("G9", "G3")
async def test_prompts_answers_and_sessions_are_found_and_words_are_marked(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        await daemon.say("alice", "the <b>Lighthouse</b> keeper")
        await daemon.say("bob", "something else")
        page = (await browser.open("/console/search?q=lighthouse+KEEPER")).text
        answer, prompt = rows_in(page)
        assert prompt == "the &lt;b&gt;<mark>Lighthouse</mark>&lt;/b&gt; <mark>keeper</mark>"
        assert answer.startswith("echo agent:fairlead:user:alice: the &lt;b&gt;")
        assert "The whole journal was searched." in page
        link = next(a["href"] or "" for tag, a in tags_in(page) if tag == "a" and "#turn-" in (a.get("href") or ""))
        assert "Lighthouse" in (await browser.open(link.partition("#")[0])).text
        sessions = (await browser.open("/console/search?q=bob")).text
        assert 'id="session-agent:fairlead:user:bob"' in sessions or "session-" in sessions
        assert "Nothing was found" in (await browser.open("/console/search?q=nowhere%5B")).text
        assert rows_in((await browser.open("/console/search?q=")).text) == []


@pytest.mark.req("G9", "G4")
async def test_a_guest_finds_nothing_of_another_persons_session(tmp_path: Path):
    people = {"FAIRLEAD_ALLOWED_USER_IDS": ("4711",), "DISCORD_OWNER_ID": "1"}
    async with run_daemon_in(tmp_path, **people) as daemon, a_browser(daemon) as guest, a_browser(daemon) as owner:
        await guest.log_in("4711")
        await owner.log_in()
        await daemon.say("alice", "treasure")
        await guest.post("/console/session/me/send", {"message": "my own treasure"})
        assert len(rows_in((await owner.open("/console/search?q=treasure")).text)) >= 3
        own = rows_in((await guest.open("/console/search?q=treasure")).text)
        assert own
        assert all("my own" in row for row in own)
        assert "alice" not in (await guest.open("/console/search?q=alice")).text.partition('id="found')[2]


@pytest.mark.req("G9")
async def test_a_page_looks_a_bounded_way_back_and_says_how_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(text_search, "STRETCH_BYTES", 2000)
    monkeypatch.setattr(text_search, "MOST_STRETCHES", 2)
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        await daemon.say("alice", "needle")
        for number in range(8):
            await daemon.say("alice", f"hay {number}")
        path, looks, found = "/console/search?q=needle", 0, list[str]()
        while path:
            page = (await browser.open(path)).text
            found += rows_in(page)
            further = [a["href"] or "" for tag, a in tags_in(page) if "before=" in (a.get("href") or "")]
            assert bool(further) != ("The whole journal was searched." in page)
            path, looks = next(iter(further), ""), looks + 1
        assert (len(found), looks > 1) == (2, True)


@pytest.mark.req("G9")
async def test_a_long_answer_is_found_by_words_at_its_end(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        await daemon.say("alice", "/long 200000\n/tool Bash ls\nlast words: marzipan")
        rows = rows_in((await browser.open("/console/search?q=marzipan")).text)
        assert any(row.startswith("… ") for row in rows), rows


@pytest.mark.req("G9")
async def test_twenty_rows_stand_on_a_page_and_the_next_one_goes_on_behind_them(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        for number in range(12):
            await daemon.say("alice", f"common {number}.")
        first = (await browser.open("/console/search?q=common")).text
        further = next(a["href"] or "" for tag, a in tags_in(first) if "before=" in (a.get("href") or ""))
        rows = [*rows_in(first), *rows_in((await browser.open(further)).text)]
        assert (len(rows_in(first)), len(rows)) == (20, 24)
