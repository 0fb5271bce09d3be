"""Real agents on another machine: Claude, Codex, Gemini and agents that speak ACP, found on PATH or added there, behind
a runner, with a daemon that has no agent of its own."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest

from tests.two_machines.harness import Program, Site, site
from tests.two_machines.test_command_line import typed

from .acp_daemon import acp_settings
from .acp_program import acp_agent
from .acp_stage import EXTRA_ENVIRONMENT, KNOWN_AS
from .environment import AgentName, agent_environment, prepare_home
from .install import installed_agents
from .model_server import ModelServer, Reply, Use

pytestmark = [pytest.mark.agents, pytest.mark.anyio]

MakeEnvironment = Callable[[Path, ModelServer], dict[str, str]]
ADDED = "mine"


def make_environment(name: AgentName) -> MakeEnvironment:
    def make(home: Path, server: ModelServer) -> dict[str, str]:
        prepare_home(name, home, server)
        return {**agent_environment(name, home, server), "FAIRLEAD_RUNTIME_ENVIRONMENT": ",".join(EXTRA_ENVIRONMENT)}

    return make


def claude_acp_environment(home: Path, server: ModelServer) -> dict[str, str]:
    return acp_settings(acp_agent("claude-agent-acp", home, server).env, home, "claude-agent-acp")


def added_environment(home: Path, server: ModelServer) -> dict[str, str]:
    """Nothing but Node is on PATH: a person adds the agent by its command."""
    return acp_settings(acp_agent("claude-agent-acp", home, server).env, home)


AGENTS: dict[str, MakeEnvironment] = {
    "claude": make_environment("claude"),
    KNOWN_AS["claude-agent-acp"]: claude_acp_environment,
    ADDED: added_environment,
    "codex": make_environment("codex"),
    "gemini": make_environment("gemini"),
}
ASKING = ("claude", KNOWN_AS["claude-agent-acp"], ADDED)
"""Those that can ask for permission: `codex exec` and `gemini -p` cannot."""


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


@asynccontextmanager
async def run_behind_a_runner(name: str, home: Path, server: ModelServer) -> AsyncGenerator[RemoteAgent]:
    async with site(home) as here:
        home_there = home / "home-of-gpu"
        home_there.mkdir()
        (home / "gpu").mkdir(mode=0o700)
        environment = AGENTS[name](home_there, server)
        here.runner_environment = lambda name: {**environment, "FAIRLEAD_RUNNER_DIR": str(home / name)}
        await here.start_daemon()
        runner = await here.bring_up("gpu")
        if name == ADDED:
            await add_there(here)
        yield RemoteAgent(here, name, runner)


async def add_there(here: Site) -> None:
    """A person types it on gpu, while the runner runs."""
    program = str(installed_agents().bin_dir / "claude-agent-acp")
    code, said = await typed(here, here.runner_environment("gpu"), "runner", "agent", "add", ADDED, "--", program)
    assert code == 0, said
    while ADDED not in (await here.machine("gpu")).agents:
        await asyncio.sleep(0.05)


@pytest.fixture(params=ASKING)
async def remote(request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> AsyncIterator[RemoteAgent]:
    async with run_behind_a_runner(request.param, tmp_path, server) as agent:
        yield agent


@pytest.fixture(params=list(AGENTS))
async def any_remote(request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> AsyncIterator[RemoteAgent]:
    async with run_behind_a_runner(request.param, tmp_path, server) as agent:
        yield agent


@pytest.mark.req("H3")
async def test_a_session_on_another_machine_remembers_also_after_the_runner_was_started_again(any_remote: RemoteAgent):
    await any_remote.say("my name is Alice")
    assert await any_remote.say("what is my name?") == "Your name is Alice."
    here = any_remote.here
    await any_remote.runner.end()
    await here.start_runner("gpu")
    assert await any_remote.say("what is my name?") == "Your name is Alice."


@pytest.mark.req("H3")
@pytest.mark.parametrize("verdict", ["allow", "deny"])
async def test_a_plan_is_approved_or_sent_back_here(
    tmp_path: Path, server: ModelServer, verdict: Literal["allow", "deny"]
):
    async with run_behind_a_runner("claude", tmp_path, server) as remote, remote.here.client() as client:
        await remote.say("tool: EnterPlanMode {}")
        plan = 'tool: ExitPlanMode {"plan": "1. look 2. leap"}'
        taken = await client.submit("local", plan, project="gpu/gpu-project", tool="gpu/claude")
        while not (questions := await client.questions("local")):
            await asyncio.sleep(0.05)
        assert (questions[0].kind, questions[0].detail, questions[0].machine) == ("plan", "1. look 2. leap", "gpu")
        await client.respond(questions[0].question_id, verdict, user="local", message="look twice")
        job = await remote.here.end_of(taken.job_id)
    assert ("approved" if verdict == "allow" else "look twice") in job.answer


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
