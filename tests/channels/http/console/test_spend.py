"""*Spend* over HTTP: real jobs cost something, the owner sets a budget, a guest may not."""

from pathlib import Path

import pytest

from tests.channels.harness import run_daemon_in
from tests.channels.http.console.harness import a_browser

pytestmark = [pytest.mark.anyio, pytest.mark.req("G9")]


async def test_what_a_job_cost_is_on_the_page_as_soon_as_it_has_ended(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        async with browser.changes("/console/spend") as changes:
            await daemon.until(await daemon.begin("alice", "/usage 1200 300 0.75"), "done")
            async for _, event, data in changes:
                if event == "swap" and "$0.75" in data[0]:
                    break
        by_agent = (await browser.open("/console/spend?what=tokens&by=agent")).text
    assert "echo · 1.5k</title>" in by_agent


async def test_the_owner_sets_and_removes_a_budget_with_plain_forms(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        project = daemon.flow.view.projects()[0].name
        form = {"project": project, "usd": "2.50", "tokens": "1,000"}
        made = await browser.post("/console/spend/budget", form)
        assert (made.status, made.headers["Location"]) == (303, "/console/spend")
        assert "$0.00 of $2.50, 0 of 1,000 tokens" in (await browser.open("/console/spend")).text
        for wrong in ({"usd": "much"}, {"tokens": "-5"}, {"tokens": "٣"}, {}):
            refused = await browser.post("/console/spend/budget", {"project": project, **wrong})
            assert (refused.status, "E_INVALID_ARGS" in refused.text) == (400, True)
        assert (await browser.post("/console/spend/budget/clear", {"project": project})).status == 303
        assert "of $2.50" not in (await browser.open("/console/spend")).text


async def test_a_guest_sees_the_budgets_and_changes_none(tmp_path: Path):
    async with (
        run_daemon_in(tmp_path, FAIRLEAD_ALLOWED_USER_IDS=("4711",), DISCORD_OWNER_ID="1") as daemon,
        a_browser(daemon) as browser,
    ):
        assert (await browser.log_in("4711")).status == 303
        page = await browser.open("/console/spend")
        assert (page.status, "Budgets of today" in page.text, "spend-chart" in page.text) == (200, True, False)
        refused = await browser.post("/console/spend/budget", {"project": "proj", "usd": "1"})
        assert refused.status == 403
