"""Where a completion goes is the router's decision: into the bound thread and nowhere else. In one process, because
the bindings are made directly."""

from pathlib import Path

import pytest
from loopback_discord import Conversation, LoopbackDiscord

from fairlead.app import run_daemon
from fairlead.core.conversation import ConversationRef
from fairlead.settings import load_settings
from fairlead.settings_values import Secret
from tests.channels.discord.harness import without_pace

pytestmark = pytest.mark.anyio


def ref(conversation: Conversation) -> ConversationRef:
    parent = conversation.channel.parent_id
    return ConversationRef("discord", "fairlead", str(conversation.id), None if parent is None else str(parent))


@pytest.mark.req("D6", "D2", "D3")
async def test_two_bound_sessions_of_one_channel_never_post_twice_or_into_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "api"
    project.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    async with LoopbackDiscord.start() as discord:
        without_pace(discord)
        guild = discord.guild()
        discord.world.join(guild, discord.owner.user)
        parent = discord.text_channel(guild)
        settings = load_settings().replace(
            state_dir=tmp_path / "state", log_dir=tmp_path / "logs", projects=(str(project),), http=False, drain_sec=0,
            discord_token=Secret(discord.token), discord_owner_id=str(discord.owner.id), discord_api_base=discord.api,
            discord_gateway_url=discord.gateway_url,
        )  # fmt: skip
        async with run_daemon(settings) as daemon:
            await discord.gateway.ready(timeout=60)
            await discord.wait_for(lambda: discord.world.commands[None], what="commands")
            for name in ("one", "two"):
                thread = discord.owner.begin_thread(parent, name)
                said = discord.owner.tell_bot(thread, f"begin {name}")
                await thread.wait_for_answer(after=said)
            one, two = parent.threads()
            said = discord.owner.tell_bot(parent, "the channel's own")
            await parent.wait_for_answer(after=said)
            sessions = {s.conversation.conversation_id: s for s in daemon.flow.ledger.state.sessions.values()}
            await daemon.flow.bindings.bind(
                target_session_key=sessions[str(one.id)].session_key, target_kind="session", conversation=ref(two)
            )
            said = discord.owner.say(two, "which session hears this?")
            answer = await two.wait_for_answer(lambda m: "which session" in m.content, after=said)
            assert f":{one.id}: which session" in answer.content
            everywhere = [m.content for p in (parent, one, two) for m in p.from_bot if "which session" in m.content]
            assert len(everywhere) == 1
        assert discord.violations == []
