"""A session that goes on in a terminal, as people on Discord see it: what waits says so, and it comes back."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from loopback_discord import Conversation

from tests.channels.discord.answers import answer_to, words_of
from tests.channels.discord.harness import Stage, a_stage
from tests.support.configured_agents import ScriptedAgent, configure

pytestmark = [pytest.mark.anyio, pytest.mark.req("F8", "F9")]


@pytest.fixture
def agent(tmp_path: Path) -> ScriptedAgent:
    return ScriptedAgent(tmp_path, "goose", name="OpenCode")


@pytest.fixture
async def stage(tmp_path: Path, agent: ScriptedAgent) -> AsyncIterator[Stage]:
    configure(tmp_path / "state", agent)
    async with a_stage(tmp_path) as ready:
        yield ready


@pytest.fixture
async def thread(stage: Stage) -> Conversation:
    before = {each.id for each in stage.text_channel.threads()}
    await stage.owner.slash(stage.text_channel, "start", project_name="api", tool="goose").reply(timeout=60)
    return next(each for each in stage.text_channel.threads() if each.id not in before)


async def asked(stage: Stage, thread: Conversation, command: str, **typed: str) -> str:
    reply = await stage.owner.slash(thread, command, **typed).reply(timeout=60)
    assert reply.ephemeral, "what was said in a terminal is shown to the one who asks"
    return reply.content


async def test_a_talk_that_was_reset_is_adopted_handed_off_and_comes_back(
    stage: Stage, thread: Conversation, agent: ScriptedAgent
) -> None:
    await answer_to(thread, stage.owner.say(thread, "the first thing"))
    key = agent.received("session/prompt")[0]["sessionId"]
    await asked(stage, thread, "reset")
    listed = await asked(stage, thread, "session adopt")
    assert key[:8] in listed
    assert "goose" in listed
    offered = await stage.owner.autocomplete(thread, "session adopt", "id", "").choices()
    assert key in [choice["value"] for choice in offered]
    adopted = await asked(stage, thread, "session adopt", id=key)
    assert "the first thing" in adopted
    await answer_to(thread, stage.owner.say(thread, "the second thing"))
    assert agent.received("session/prompt")[-1]["sessionId"] == key

    handed_off = await asked(stage, thread, "handoff")
    assert f"opencode --session {key}" in handed_off
    waiting = stage.owner.say(thread, "meanwhile")
    note = await thread.wait_for_message(lambda m: "handed off" in m.content)
    assert "/handoff back" in note.content
    assert len(agent.prompts()) == 2
    back = await asked(stage, thread, "handoff", action="back")
    assert "Nothing was said in the terminal meanwhile" in back
    assert "meanwhile" in words_of(await answer_to(thread, waiting))
    assert len(agent.prompts()) == 3


async def test_a_guest_is_told_nothing_of_what_was_said_in_a_terminal(tmp_path: Path, agent: ScriptedAgent) -> None:
    configure(tmp_path / "state", agent)
    async with a_stage(tmp_path, up=False) as stage:
        guest = stage.discord.person("guest")
        stage.daemon.settings["FAIRLEAD_ALLOWED_USER_IDS"] = str(guest.id)
        await stage.daemon.up()
        thread = await stage.start_thread()
        for command in ("session adopt", "handoff"):
            reply = await guest.slash(thread, command).reply()
            assert reply.content.startswith("E_OWNER_ONLY")
