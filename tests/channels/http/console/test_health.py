"""*Health* over HTTP: measured from the start on, and not for guests."""

from pathlib import Path

import pytest

from tests.channels.harness import run_daemon_in
from tests.channels.http.console.harness import GUESTS, a_browser

pytestmark = [pytest.mark.anyio, pytest.mark.req("G9")]


async def test_health_shows_measurements_from_the_start_on(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        await daemon.until(await daemon.begin("alice", "hello"), "done")
        page = (await browser.open("/console/health")).text
        assert [word for word in ("Everything works.", "chart-sync", "polyline") if word not in page] == []


@pytest.mark.parametrize("path", ["/console/agents", "/console/health"])
async def test_a_guest_has_neither_the_pages_that_tell_of_everybody_nor_their_streams(tmp_path: Path, path: str):
    async with run_daemon_in(tmp_path, **GUESTS) as daemon, a_browser(daemon) as guest:
        await guest.log_in("4711")
        assert (await guest.open(path)).status == 403
        assert path not in (await guest.open("/")).text
        assert (await guest.open(f"/console/events?of={path}&since=x:0")).status == 404
        assert (await guest.post("/console/agents/check")).status == 403
