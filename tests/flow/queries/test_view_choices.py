"""What is offered for an argument that is being typed."""

import asyncio

import pytest

from fairlead.core import requests as ask
from fairlead.core.command_spec import Choice
from fairlead.errors import Code, FairleadError
from fairlead.testing.runtime import AgentLog, ScriptedRuntime
from tests.flow.harness import run_flow, virtually

pytestmark = pytest.mark.req("A12")


@virtually
async def test_choices_are_those_that_fit_what_was_typed():
    runtimes = [ScriptedRuntime(AgentLog(), name=name) for name in ("echo", "other")]
    async with run_flow(projects=("/srv/api", "/srv/web"), runtimes=runtimes) as flow:
        caller = flow.caller()
        choices = flow.choices
        assert choices("project", "", caller) == ["api", "web"]
        assert choices("project", " WE ", caller) == ["web"]
        assert flow.view.choices("project_number", "we", caller) == [Choice("2", "2: web")]
        assert choices("tool", "", caller) == ["echo", "other"]
        assert choices("session", "", caller) == []
        assert choices("model", "", caller) == []
        await flow.answered("hello", project="api")
        first = await flow.answered("/fail E_AGENT_ERROR")
        await asyncio.sleep(5)
        second = await flow.answered("/fail E_AGENT_ERROR", user="other", project="web")
        assert choices("retryable", "", caller) == [first.job_id, second.job_id], "those of this session first"
        assert choices("retryable", "", flow.caller("other")) == [second.job_id, first.job_id]
        assert choices("session", "", caller) == ["agent:fairlead:user:other", "agent:fairlead:user:42"]
        assert choices("model", "2", caller) == ["echo-2"]


@pytest.mark.req("B11")
@virtually
async def test_a_disabled_project_is_no_choice():
    from tests.flow.harness import PretendedDirectories

    directories = PretendedDirectories()
    async with run_flow(projects=("/srv/api", "/srv/web"), directories=directories) as flow:
        disk = flow.disk
    directories.gone.add("/srv/web")
    async with run_flow(disk=disk, projects=(), directories=directories) as flow:
        assert flow.choices("project") == ["api"]
        with pytest.raises(FairleadError) as caught:
            await flow.command(ask.ProjectSwitch("web"))
        assert caught.value.code is Code.E_INVALID_PATH
    directories.gone.clear()
    async with run_flow(disk=disk, projects=(), directories=directories) as flow:
        assert flow.choices("project") == ["api", "web"]
