"""The commands about projects."""

import asyncio

import pytest

from fairlead.core import replies as told
from fairlead.core import requests as ask
from fairlead.errors import Code
from tests.flow.commands.harness import a_project, refused, two_tools
from tests.flow.harness import run_flow, virtually

pytestmark = pytest.mark.req("A12")


@virtually
async def test_a_project_is_created_with_its_tools_and_arguments():
    async with run_flow(runtimes=two_tools()) as flow:
        request = a_project("web-2", tools=("other", " echo", "other", ""), args={"echo": ("--model", "x y")})
        info = await flow.command(request)
        assert info == told.ProjectInfo(
            number=2,
            name="web-2",
            path="/srv/web",
            enabled_tools=("other", "echo"),
            default_tool="echo",
            created=True,
        )
        assert flow.state.projects["web-2"].default_args == {"echo": ("--model", "x y")}


@pytest.mark.req("B2", "B15")
@virtually
async def test_projects_are_listed_with_numbers_and_the_active_one_is_marked():
    async with run_flow(projects=("/srv/api", "/srv/Web App", "/srv/other/api")) as flow:
        catalogue = await flow.command(ask.ProjectList())
        assert [(p.number, p.name) for p in catalogue.projects] == [(1, "api"), (2, "web-app"), (3, "api-2")]
        selected = await flow.command(ask.ProjectSwitch("2"))
        assert (selected.name, selected.path) == ("web-app", "/srv/Web App")
        catalogue = await flow.command(ask.ProjectList())
        assert [p.active for p in catalogue.projects] == [False, True, False]
        again = await flow.command(ask.ProjectAdd("/srv/api"))
        assert (again.name, again.created) == ("api", False)
        assert (await flow.answered("hello")).project == "web-app"


@virtually
async def test_project_status_counts_what_happens_in_it():
    async with run_flow() as flow:
        await flow.answered("/fail E_AGENT_ERROR", user="a")
        await flow.say("/hang", user="b")
        await flow.until(lambda: len(flow.state.running) == 1)
        await flow.say("waits", user="b")
        failed = next(j for j in flow.state.jobs.values() if j.state == "failed")
        report = await flow.command(ask.ProjectStatus("1"))
        assert report == told.ProjectReport(
            name="api",
            session_total=2,
            running_sessions=1,
            queued_jobs=1,
            failed_jobs_24h=1,
            last_error=f"E_AGENT_ERROR ({failed.job_id})",
        )
        await asyncio.sleep(25 * 3600)
        assert (await flow.command(ask.ProjectStatus("api"))).failed_jobs_24h <= 1


@virtually
async def test_a_project_is_renamed_and_its_sessions_go_on():
    async with run_flow() as flow:
        await flow.answered("hello")
        assert await flow.command(ask.ProjectRename("1", " shop ")) == told.RenamedProject("api", "shop")
        assert (await flow.answered("and now?")).project == "shop"
        assert (await flow.command(ask.ProjectStatus("shop"))).session_total == 1


@virtually
async def test_a_project_is_removed_and_comes_back_when_it_is_added():
    async with run_flow() as flow:
        job = await flow.answered("hello")
        assert await flow.command(ask.ProjectRemove("api")) == told.RemovedProject("api", "/srv/api", "PROJECTS")
        assert (await flow.command(ask.ProjectList())).projects == ()
        assert await refused(flow.command(ask.ProjectSwitch("api"))) == Code.E_PROJECT_NOT_FOUND
        assert (await flow.command(ask.Why(job.job_id))).steps
        back = await flow.command(ask.ProjectAdd("/srv/api"))
        assert (back.number, back.name, back.created) == (1, "api", True)
        await flow.answered("still there?")
