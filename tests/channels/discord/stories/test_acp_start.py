"""`/agent start` on Discord: the agent is there before its thread; one that cannot be started leaves nothing behind."""

from pathlib import Path

import pytest
from loopback_discord import Conversation

from tests.channels.discord.answers import answer_to, words_of
from tests.channels.discord.harness import Stage, a_stage
from tests.support.configured_agents import ScriptedAgent, configure

pytestmark = [pytest.mark.anyio, pytest.mark.req("B1", "B4", "B7")]


async def start(stage: Stage, tool: str) -> str:
    """What the owner reads after `/agent start`."""
    asked = stage.owner.slash(stage.text_channel, "agent start", project_id=1, tool=tool)
    return (await asked.reply(timeout=60)).content


def the_thread(stage: Stage) -> Conversation:
    [thread] = stage.text_channel.threads()
    return thread


async def test_the_agent_that_was_started_before_the_thread_serves_the_first_prompt(tmp_path: Path) -> None:
    agent = ScriptedAgent(tmp_path, "goose")
    configure(tmp_path / "state", agent)
    async with a_stage(tmp_path) as stage:
        text = await start(stage, "goose")
        thread = the_thread(stage)
        assert text == f"Session started: <#{thread.id}>\nsession_id: {thread.id}"
        [session] = agent.received("session/new")
        assert session["cwd"] == str(stage.daemon.project)
        said = stage.owner.say(thread, "hello")
        assert words_of(await answer_to(thread, said)) == "You said: hello"
        assert agent.prompts() == ["hello"]
        assert agent.processes_with("session/new") == agent.processes_with("session/prompt")


FAILURES = {
    "exits": ({"initialize": "exits", "stderr": "no config"}, "E_ACP_CONNECTION", "no config"),
    "version": ({"protocol": 2}, "E_ACP_CONNECTION", "speaks version 2"),
    "login": ({"auth": "required"}, "E_CLI_NOT_LOGGED_IN", "login"),
    "refuses": ({"new": "error -32603 no model is set"}, "E_ACP_CONNECTION", "no model is set"),
    "gone": ({}, "E_CLI_NOT_FOUND", "was not found"),
}


async def test_an_agent_that_cannot_be_started_leaves_no_thread_and_no_session(tmp_path: Path) -> None:
    agents = {name: ScriptedAgent(tmp_path, name, **switches) for name, (switches, _, _) in FAILURES.items()}
    configure(tmp_path / "state", *agents.values())
    agents["gone"].program.unlink()
    async with a_stage(tmp_path) as stage:
        before = stage.daemon.journal()
        for name, (_, code, words) in FAILURES.items():
            text = await start(stage, name)
            assert text.startswith(f"{code}: "), text
            assert words in text
            posts = [m for m in stage.text_channel.from_bot if not m.ephemeral]
            assert (stage.text_channel.threads(), posts) == ([], [])
        after = stage.daemon.journal()[len(before) :]
        assert {e["type"] for e in after} <= {"PersonSeen"}
