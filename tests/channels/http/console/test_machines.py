"""*Machines* over HTTP, with the forms that its page has."""

from pathlib import Path

import pytest

from fairlead.core.decide.machines import AddMachine, MeetRunner
from fairlead.core.decide.projects import AddProject, DirectoryFacts
from fairlead.core.machines.offers import AgentOffer
from tests.channels.harness import run_daemon_in
from tests.channels.http.console.harness import GUESTS, a_browser, press

pytestmark = [pytest.mark.anyio, pytest.mark.req("H1", "H8")]


async def test_the_owner_sees_renames_and_removes_machines(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        assert "There are no other machines." in (await browser.open("/console/machines")).text
        ledger = daemon.flow.ledger
        await ledger.record_durably(AddMachine("gpu", "42", "a1"))
        assert "has not been connected yet" in (await browser.open("/console/machines")).text
        offer = (AgentOffer(name="codex"),)
        await ledger.record_durably(MeetRunner(machine="gpu", runner_id="r", epoch=1, version="9.9", agents=offer))
        ledger.limits = ledger.limits.__class__(allowed_people=(), runtimes=("echo", "gpu/codex"))
        await ledger.record_durably(AddProject(DirectoryFacts("gpu:/srv/trainer", "gpu:/srv/trainer")))
        page = (await browser.open("/console/machines")).text
        for words in ("not connected", "0 of 1 running, 0 waiting", "Projects: gpu/trainer", "Fairlead 9.9"):
            assert words in page, words
        assert "gpu (not connected)" in (await browser.open("/console/projects")).text
        assert await press(browser, "/console/machines/rename", machine="gpu", name="Big One") == 400
        assert await press(browser, "/console/machines/rename", machine="gpu", name="big") == 303
        assert "Projects: big/trainer" in (await browser.open("/console/machines")).text
        assert await press(browser, "/console/machines/explode", machine="big") == 400
        assert await press(browser, "/console/machines/remove", machine="gpu") == 400
        assert await press(browser, "/console/machines/forget", machine="big") == 303
        assert "There are no other machines." in (await browser.open("/console/machines")).text


async def test_a_guest_sees_no_machines(tmp_path: Path):
    async with run_daemon_in(tmp_path, **GUESTS) as daemon, a_browser(daemon) as guest:
        await guest.log_in("4711")
        assert "/console/machines" not in (await guest.open("/")).text
        assert (await guest.open("/console/machines")).status == 403
        assert await press(guest, "/console/machines/forget", machine="gpu") == 403
