"""*Schedules* over HTTP, with the forms that its page has."""

from pathlib import Path

import pytest

from tests.channels.harness import DaemonHarness, run_daemon_in
from tests.channels.http.console.harness import GUESTS, a_browser, press

pytestmark = [pytest.mark.anyio, pytest.mark.req("G9")]


async def add_schedule(daemon: DaemonHarness, user: str, text: str) -> int:
    status, reply = await daemon.post("/v1/schedules", {"userId": user, "when": "0 9 * * 1-5", "text": text})
    assert status == 200, reply
    return reply["schedule"]["number"]


async def test_a_schedule_is_paused_resumed_run_and_removed_by_its_buttons(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        number = await add_schedule(daemon, "alice", "look <b>at</b> it")
        page = (await browser.open("/console/schedules")).text
        assert ("look &lt;b&gt;at&lt;/b&gt; it" in page, page.count(" 09:00 ")) == (True, 3)
        assert await press(browser, f"/console/schedules/{number}/pause") == 303
        assert f"/console/schedules/{number}/resume" in (await browser.open("/console/schedules")).text
        assert await press(browser, f"/console/schedules/{number}/resume") == 303
        async with browser.changes("/console/schedules") as changes:
            assert await press(browser, f"/console/schedules/{number}/run") == 303
            async for _, event, _data in changes:
                if event == "swap":
                    break
        assert await press(browser, f"/console/schedules/{number}/remove") == 303
        assert "There are no schedules" in (await browser.open("/console/schedules")).text
        assert await press(browser, f"/console/schedules/{number}/remove") == 404
        assert await press(browser, "/console/schedules/x/pause") == 404
        assert await press(browser, f"/console/schedules/{number}/explode") == 400


async def test_a_guest_sees_no_schedule_of_another_persons_session(tmp_path: Path):
    async with run_daemon_in(tmp_path, **GUESTS) as daemon, a_browser(daemon) as guest:
        await guest.log_in("4711")
        number = await add_schedule(daemon, "alice", "secret plans")
        assert "secret plans" not in (await guest.open("/console/schedules")).text
        assert await press(guest, f"/console/schedules/{number}/run") == 404
