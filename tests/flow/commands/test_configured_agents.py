"""The commands about configured agents: what `fairlead agent` asks of a daemon that runs."""

import pytest

from fairlead.core import replies as told
from fairlead.core import requests as ask
from fairlead.core.agents import ConfiguredAgent
from fairlead.errors import Code
from tests.flow.commands.harness import refused
from tests.flow.harness import run_flow, virtually
from tests.flow.test_agent_runtimes import PlayedCatalogue

pytestmark = pytest.mark.req("B4")

GOOSE = ask.AgentAdd(
    name="goose",
    command=("/agents/goose/1.2.0/goose", "acp"),
    env=("GOOSE_PROVIDER",),
    version="1.2.0",
    digest="sha256:1",
    source="registry:goose",
)


@virtually
async def test_an_agent_that_a_command_adds_is_a_fact_and_can_be_asked_at_once():
    async with run_flow(make_catalogue=PlayedCatalogue) as flow:
        assert await flow.command(GOOSE) == told.AgentAdded("goose", ("api",))
        assert await flow.command(ask.AgentList()) == told.AgentCatalogue(
            (
                ConfiguredAgent(
                    name="goose",
                    command=("/agents/goose/1.2.0/goose", "acp"),
                    env=("GOOSE_PROVIDER",),
                    version="1.2.0",
                    digest="sha256:1",
                    source="registry:goose",
                ),
            )
        )
        await flow.answered("hello")
        await flow.command(ask.Tool("goose"))
        assert (await flow.answered("who are you?")).result_excerpt == "/agents/goose/1.2.0/goose acp"


@virtually
async def test_an_agent_in_use_is_removed_only_by_force_and_its_users_are_named():
    async with run_flow(make_catalogue=PlayedCatalogue) as flow:
        await flow.command(GOOSE)
        await flow.answered("hello")
        await flow.command(ask.Tool("goose"))
        job_id = (await flow.say("wait")).job_id
        await flow.world.runtimes["goose"].began.wait()
        assert await refused(flow.command(ask.AgentRemove(name="goose"))) == Code.E_AGENT_IN_USE
        session = flow.state.jobs[job_id].session_key
        name = f"session {flow.state.sessions[session].session_id}"
        removed = await flow.command(ask.AgentRemove(name="goose", even_if_used=True))
        assert removed == told.AgentWasRemoved("goose", (name,), (job_id,))
        assert await flow.command(ask.AgentList()) == told.AgentCatalogue(())
        assert await refused(flow.command(ask.AgentRemove(name="goose"))) == Code.E_AGENT_NOT_FOUND


@virtually
async def test_a_release_whose_files_changed_is_refused_and_the_agent_stays_as_it_was():
    async with run_flow(make_catalogue=PlayedCatalogue) as flow:
        await flow.command(GOOSE)
        await flow.command(ask.AgentRemove(name="goose"))
        changed = ask.AgentAdd(
            name="goose", command=("goose",), version="1.2.0", digest="sha256:2", source="registry:goose"
        )
        assert await refused(flow.command(changed)) == Code.E_AGENT_DIGEST
        assert flow.choices("any_tool") == ["echo"]


@virtually
async def test_only_the_owner_adds_and_removes_agents():
    async with run_flow(make_catalogue=PlayedCatalogue) as flow:
        guest = flow.caller("guest", pre_authorised=False)
        for request in (GOOSE, ask.AgentRemove(name="goose"), ask.AgentList()):
            assert await refused(flow.gate.command(request, guest)) == Code.E_OWNER_ONLY
