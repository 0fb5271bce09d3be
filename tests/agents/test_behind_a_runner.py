"""Real agents on another machine: Claude and an agent that speaks ACP, behind a runner that knows them, with a daemon
that has no agent of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.two_machines.harness import Program, Site, site

from .acp_daemon import acp_settings
from .acp_program import acp_agent
from .acp_stage import KNOWN_AS
from .environment import agent_environment, prepare_home
from .model_server import ModelServer, Reply, Use

pytestmark = [pytest.mark.agents, pytest.mark.anyio]

MakeEnvironment = Callable[[Path, ModelServer], dict[str, str]]


def claude_environment(home: Path, server: ModelServer) -> dict[str, str]:
    prepare_home("claude", home, server)
    return agent_environment("claude", home, server)


def claude_acp_environment(home: Path, server: ModelServer) -> dict[str, str]:
    return acp_settings(acp_agent("claude-agent-acp", home, server).env, home, "claude-agent-acp")


AGENTS: dict[str, MakeEnvironment] = {
    "claude": claude_environment,
    KNOWN_AS["claude-agent-acp"]: claude_acp_environment,
}


class RemoteAgent:
    def __init__(self, here: Site, name: str, runner: Program) -> None:
        self.here = here
        self.name = name
        self.runner = runner

    async def say(self, text: str) -> str:
        async with self.here.client() as client:
            taken = await client.submit("local", text, project="gpu/gpu-project", tool=f"gpu/{self.name}")
        job = await self.here.end_of(taken.job_id)
        assert job.state == "success", job
        return job.answer


@pytest.fixture(params=list(AGENTS))
async def remote(request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> AsyncIterator[RemoteAgent]:
    async with site(tmp_path) as here:
        home = tmp_path / "home-of-gpu"
        home.mkdir()
        (tmp_path / "gpu").mkdir(mode=0o700)
        environment = AGENTS[request.param](home, server)
        here.runner_environment = lambda name: {**environment, "FAIRLEAD_RUNNER_DIR": str(tmp_path / name)}
        await here.start_daemon()
        runner = await here.bring_up("gpu")
        yield RemoteAgent(here, request.param, runner)


@pytest.mark.req("H3")
async def test_a_session_on_another_machine_remembers_also_after_the_runner_was_started_again(remote: RemoteAgent):
    await remote.say("my name is Alice")
    assert await remote.say("what is my name?") == "Your name is Alice."
    here = remote.here
    await remote.runner.end()
    await here.start_runner("gpu")
    assert await remote.say("what is my name?") == "Your name is Alice."


@pytest.mark.req("H3")
async def test_a_permission_is_asked_here_and_what_it_allows_happens_there(remote: RemoteAgent):
    here = remote.here
    made = here.home / "gpu-project" / "made-by-agent"
    async with here.client() as client:
        taken = await client.submit("local", f"run: touch {made}", project="gpu/gpu-project", tool=f"gpu/{remote.name}")
        while not (questions := await client.questions("local")):
            await asyncio.sleep(0.05)
        assert not made.exists()
        await client.respond(questions[0].question_id, "allow", user="local")
    assert (await here.end_of(taken.job_id)).state == "success"
    assert made.exists()


@pytest.mark.req("H3")
async def test_an_agent_there_sends_a_file_and_asks_with_fairleads_own_tools(remote: RemoteAgent, server: ModelServer):
    here = remote.here
    (here.home / "gpu-project" / "report.txt").write_text("all is well")
    server.script(Reply((Use("mcp__fairlead__send_file", {"path": "report.txt", "caption": "look"}),)))
    assert "Sent." in await remote.say("go on")
    server.script(Reply((Use("mcp__fairlead__ask_user", {"question": "Which colour?", "choices": ["red", "blue"]}),)))
    assert "END YOUR TURN" in await remote.say("go on")
    async with here.client() as client:
        [sent] = await client.unfetched_messages("local")
        assert await client.file(sent.files[0].url) == b"all is well"
        assert [option.label for option in (await client.questions("local"))[0].items[0].options] == ["red", "blue"]
