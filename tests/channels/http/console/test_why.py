"""The account and the stories, in the browser."""

from pathlib import Path

import pytest

from tests.channels.harness import run_daemon_in
from tests.channels.http.console.harness import a_browser, tags_in

pytestmark = pytest.mark.anyio


@pytest.mark.req("G6")
async def test_each_number_of_the_account_leads_to_its_list_and_each_message_to_its_story(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        await daemon.say("alice", "hello")
        await daemon.say("alice", "/fail E_RUNTIME_HUNG")
        await daemon.say("alice", "   ")
        page = (await browser.open("/console/why")).text
        assert "The numbers add up" in page
        lists = [a["href"] or "" for tag, a in tags_in(page) if "outcome=" in (a.get("href") or "")]
        assert len(lists) == 24, "each word and each number"
        answered = (await browser.open("/console/why?outcome=answered")).text
        (story,) = [
            a["href"] or "" for _, a in tags_in(answered) if (a.get("href") or "").startswith("/console/why/job")
        ]
        told = (await browser.open(story)).text
        assert [word for word in ("JobEnqueued", "JobStarted", "JobCompleted") if word not in told] == []
        assert "E_RUNTIME_HUNG" in (await browser.open("/console/why?outcome=failed")).text
        assert "E_EMPTY_MESSAGE" in (await browser.open("/console/why?outcome=refused")).text
        assert (await browser.open("/console/why?outcome=nonsense")).status == 200
        assert (await browser.open("/console/why?subject=job_20990101_9999")).status == 404
        assert "JobCompleted" in (await browser.open("/console/why?subject=1")).text


@pytest.mark.req("G2")
async def test_sessions_are_listed_and_found(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        assert "There are no sessions yet." in (await browser.open("/console/sessions")).text
        for user in ("alice", "bob", '<b>"x'):
            await daemon.say(user, "hello")
        page = (await browser.open("/console/sessions")).text
        assert "There are no sessions yet." not in page
        rows = [a["id"] for tag, a in tags_in(page) if (a.get("id") or "").startswith("session-")]
        assert len(rows) == 3
        found = (await browser.open("/console/sessions?q=bob+proj")).text
        assert [a["id"] for _, a in tags_in(found) if (a.get("id") or "").startswith("session-")] == [
            "session-agent:fairlead:user:bob"
        ]
        assert "No session fits." in (await browser.open('/console/sessions?q="><script>')).text
