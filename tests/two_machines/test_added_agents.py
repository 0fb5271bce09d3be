"""Agents that a person adds on the machine of a runner, with real processes: what is typed there, what people can
choose then, and what they are told where an agent is missing."""

import asyncio
from pathlib import Path

import pytest

from fairlead.core import replies, requests
from fairlead.errors import Code, FairleadError
from tests.runtimes.install.harness import write_npm
from tests.support.configured_agents import ScriptedAgent
from tests.support.package_index.server import PackageIndex
from tests.support.scripted_acp.shim import write_shim
from tests.two_machines.harness import Site, run, site
from tests.two_machines.test_command_line import typed

pytestmark = pytest.mark.req("H3")
PROJECT = "gpu/gpu-project"


async def until_offered(here: Site, name: str, *, is_offered: bool = True) -> replies.MachineRow:
    """Until the daemon has heard from gpu that it has this agent, or has it no more."""
    while (name in (row := await here.machine("gpu")).agents) != is_offered:
        await asyncio.sleep(0.05)
    return row


async def type_there(here: Site, *words: str, **more: str) -> list[str]:
    """`fairlead runner agent …` on gpu, while its runner runs."""
    code, said = await typed(here, here.runner_environment("gpu") | more, "runner", "agent", *words)
    assert code == 0, said
    return said.splitlines()


async def refusal(here: Site, request: requests.Request) -> FairleadError:
    with pytest.raises(FairleadError) as refused:
        await here.ask(request)
    return refused.value


async def say(here: Site, text: str, tool: str = "") -> str:
    """The answer of a job that succeeds; without a tool, that of the session's agent."""
    async with here.client() as client:
        taken = await client.submit("local", text, project=PROJECT, **({"tool": tool} if tool else {}))
    job = await here.end_of(taken.job_id)
    assert job.state == "success", job
    return job.answer


class NpmOfGpu:
    """An npm for the person on gpu, and an index that has opencode in the versions that were published."""

    def __init__(self, home: Path, index: PackageIndex) -> None:
        self._home = home
        self._index = index
        self.settings = index.settings(home) | {"PATH": f"{write_npm(home / 'npm')}:/usr/bin:/bin"}

    def publish(self, version: str) -> None:
        program = write_shim(self._home / "programs", f"opencode-{version}", bare=True, version=version)
        self._index.publish_npm("opencode-ai", version, {"opencode": program})

    def places(self) -> list[str]:
        """The versions whose files are there."""
        return sorted(path.name.partition("-")[0] for path in (self._home / "gpu/agents/opencode").glob("*"))


def test_an_agent_is_installed_there_while_the_runner_runs_chosen_updated_and_removed(tmp_path: Path):
    async def story() -> None:
        with PackageIndex() as index:
            npm = NpmOfGpu(tmp_path, index)
            npm.publish("1.18.1")
            async with site(tmp_path) as here:
                await here.start_daemon()
                await here.bring_up("gpu")
                added = await type_there(here, "add", "opencode", **npm.settings)
                assert added[-2:] == [
                    "opencode 1.18.1 was added on this machine. People choose it with /tool opencode in its projects.",
                    "If it is not logged in yet: Run `opencode auth login`.",
                ]
                await until_offered(here, "opencode")
                assert await say(here, "hello", "gpu/echo")
                await here.ask(requests.Tool("opencode"))
                assert "are you there" in await say(here, "are you there?")
                async with here.client() as client:
                    offered = await client.choices("tool", "tool", "", "local")
                assert "gpu/opencode" in [choice.value for choice in offered]
                code, said = await typed(here, here.runner_environment("gpu"), "runner", "doctor")
                assert (code, "installed  ok   opencode 1.18.1 (npm:opencode-ai), unchanged." in said) == (0, True), (
                    said
                )
                npm.publish("1.18.2")
                assert (await type_there(here, "update", "opencode", **npm.settings))[-2:] == [
                    "opencode: 1.18.1 → 1.18.2.",
                    "The runner may still use the old files; they are removed at its next start.",
                ]
                while here.journal("RunnerMet")[-1]["agents"][-2].get("version") != "1.18.2":
                    await asyncio.sleep(0.05)
                assert "and now" in await say(here, "and now?")
                assert npm.places() == ["1.18.1", "1.18.2"]
                await here.runners["gpu"].end()
                await here.start_runner("gpu")
                assert "after a restart" in await say(here, "after a restart")
                assert npm.places() == ["1.18.2"]
                await type_there(here, "remove", "opencode")
                await until_offered(here, "opencode", is_offered=False)
                gone = await refusal(here, requests.Tool("opencode"))
                assert gone.next_step.startswith("Run `fairlead runner agent add opencode` on gpu")

    run(story())


def test_an_agent_that_was_added_at_the_daemon_alone_is_refused_there_until_it_is_added_there_too(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            mine = ScriptedAgent(tmp_path, "mine")
            await here.start_daemon()
            await here.bring_up("gpu")
            code, said = await typed(here, here.daemon_environment(), "agent", "add", "mine", "--", str(mine.program))
            assert code == 0, said
            await say(here, "hello", "gpu/echo")
            refused = await refusal(here, requests.Tool("mine"))
            assert (refused.code, refused.message, refused.next_step) == (
                Code.E_TOOL_NOT_ENABLED,
                "The machine gpu has no agent mine: it has codex, echo.",
                "Run `fairlead runner agent add mine` on gpu, or choose an agent that it has.",
            )
            async with here.client() as client:
                with pytest.raises(FairleadError, match="The machine gpu has no agent mine"):
                    await client.submit("local", "hello", project=PROJECT, tool="gpu/mine")
            assert len(here.journal("JobEnqueued")) == 1
            await type_there(here, "add", "mine", "--env", "WHERE", "--", str(mine.program), "--acp")
            await until_offered(here, "mine")
            await here.ask(requests.Tool("mine"))
            assert "hello there" in await say(here, "hello there")
            assert mine.prompts() == ["hello there"]

    run(story())


def test_an_added_agent_there_asks_for_permission_and_gets_the_variables_of_its_own_machine(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            mine = ScriptedAgent(tmp_path, "mine")
            here.more, here.runner_more = {"WHERE": "at-the-daemon"}, {"WHERE": "at-gpu", "OTHER": "not-named"}
            await here.start_daemon()
            await here.add("gpu")
            assert (await type_there(here, "add", "mine", "--env", "WHERE", "--", str(mine.program)))[-1] == (
                "No runner runs here. `fairlead runner run` starts it."
            )
            await here.start_runner("gpu")
            await here.presence("gpu", is_there=True)
            await here.ask(requests.ProjectAdd(path=f"gpu:{tmp_path / 'gpu-project'}"))
            async with here.client() as client:
                taken = await client.submit("local", "ask: rm -rf build", project=PROJECT, tool="gpu/mine")
                while not (questions := await client.questions("local")):
                    await asyncio.sleep(0.05)
                assert questions[0].machine == "gpu"
                await client.respond(questions[0].question_id, "allow", user="local")
            assert (await here.end_of(taken.job_id)).state == "success"
            environment = mine.starts()[-1]["environment"]
            assert (environment["WHERE"], "OTHER" in environment) == ("at-gpu", False)

    run(story())


def test_what_cannot_be_added_there_is_refused_with_what_to_type(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            at_gpu = here.base | {"FAIRLEAD_RUNNER_DIR": str(tmp_path / "gpu")}
            code, said = await typed(here, at_gpu, "runner", "agent", "add", "mine", "--", "/bin/true")
            assert (code != 0, "has not joined" in said, "fairlead machine add NAME" in said) == (True, True, True), (
                said
            )
            await here.start_daemon()
            await here.add("gpu")
            for words, expected in {
                ("add", "mine", "--", "/bin/true"): "does not answer as an ACP agent",
                ("add", "claude"): "`fairlead runner agent add claude-acp` adds its ACP version.",
                (
                    "remove",
                    "mine",
                ): "mine was not added on this machine. `fairlead runner agent list` lists its agents.",
                ("update", "mine"): "mine was not added here.",
            }.items():
                code, said = await typed(here, at_gpu, "runner", "agent", *words)
                assert (code != 0, expected in said) == (True, True), said
            assert not (tmp_path / "gpu" / "agents.json").exists()
            assert await type_there(here, "list") == ["codex         built in", "echo          built in"]
            shim = write_shim(tmp_path / "bin", "mine", bare=True)
            code, said = await typed(here, here.daemon_environment() | at_gpu, "agent", "add", "mine", "--", str(shim))
            assert (code, said.splitlines()[-1]) == (0, "`fairlead runner agent add mine` adds it there.")

    run(story())
