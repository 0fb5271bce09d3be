"""*Projects* over HTTP, with the forms that its page has."""

from pathlib import Path

import pytest

from tests.channels.harness import run_daemon_in
from tests.channels.http.console.harness import GUESTS, a_browser, press

pytestmark = [pytest.mark.anyio, pytest.mark.req("G9")]


async def test_the_owner_adds_changes_and_removes_a_project(tmp_path: Path):
    (tmp_path / "shop").mkdir()
    async with run_daemon_in(tmp_path) as daemon, a_browser(daemon) as browser:
        await browser.log_in()
        assert await press(browser, "/console/projects/add", path=str(tmp_path / "shop")) == 303
        assert await press(browser, "/console/projects/add", path=str(tmp_path / "nowhere")) == 400
        assert await press(browser, "/console/projects/worktree", project="shop", worktree="yes") == 409, (
            "no git is there"
        )
        assert await press(browser, "/console/projects/worktree", project="shop", worktree="no") == 303
        assert await press(browser, "/console/projects/rename", project="shop", name="store") == 303
        assert await press(browser, "/console/projects/use", project="store") == 303
        page = (await browser.open("/console/projects")).text
        assert [
            word for word in ("store", "new sessions work in the directory itself", "yours") if word not in page
        ] == []
        assert await press(browser, "/console/projects/remove", project="store") == 303
        assert ">store<" not in (await browser.open("/console/projects")).text
        assert await press(browser, "/console/projects/explode", project="proj") == 400


async def test_a_guest_uses_a_project_and_changes_none(tmp_path: Path):
    async with run_daemon_in(tmp_path, **GUESTS) as daemon, a_browser(daemon) as guest:
        await guest.log_in("4711")
        project = daemon.flow.view.projects()[0].name
        page = (await guest.open("/console/projects")).text
        assert [form for form in ("projects/rename", "projects/remove", "projects/add") if form in page] == []
        assert await press(guest, "/console/projects/rename", project=project, name="mine") == 403
        assert await press(guest, "/console/projects/remove", project=project) == 403
        assert await press(guest, "/console/projects/use", project=project) == 303
