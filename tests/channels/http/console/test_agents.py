"""*Agents* over HTTP: checked when the owner asks."""

from pathlib import Path

import pytest

from tests.channels.harness import run_daemon_in
from tests.channels.http.console.harness import a_browser, press

pytestmark = [pytest.mark.anyio, pytest.mark.req("G9")]


async def test_agents_are_checked_when_the_owner_asks(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        assert "Not checked since" in (await browser.open("/console/agents")).text
        assert await press(browser, "/console/agents/check") == 303
        page = (await browser.open("/console/agents")).text
        assert ("Not checked since" in page, "state-success" in page) == (False, True)
        assert await press(browser, "/console/agents/stop", session="nobody") == 404
        assert await press(browser, "/console/agents/explode") == 400
        status, checked = await daemon.post("/v1/agents/check")
        assert (status, checked["agents"][0]["ok"]) == (200, True), checked
