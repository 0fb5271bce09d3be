"""What init and doctor learn from a token, without connecting."""

from urllib.parse import parse_qs, urlsplit

import discord
import pytest
from loopback_discord import Allow, LoopbackDiscord

from fairlead.channels.discord.gateway import client
from fairlead.channels.discord.setup import findings, invite_link, look
from fairlead.errors import Code, FairleadError

pytestmark = pytest.mark.anyio


@pytest.mark.req("A22")
async def test_application_owner_servers_and_intents_are_found_by_the_token_alone() -> None:
    async with LoopbackDiscord.start() as server:
        guild = server.guild("harbour")
        guild.bot_permissions |= Allow.MANAGE_THREADS
        seen = await look(server.token, api_base=server.api)
        assert (seen.bot_id, seen.owner_id) == (str(server.world.bot.id), str(server.owner.id))
        assert [(g.name, g.missing) for g in seen.guilds] == [("harbour", ())]
        assert all(f.ok for f in findings(seen, owner_id=seen.owner_id))
        assert server.gateway.identifies == []
        assert server.violations == []


@pytest.mark.req("A22")
async def test_what_is_missing_is_named_with_what_to_do() -> None:
    async with LoopbackDiscord.start() as server:
        server.guild("harbour").bot_permissions &= ~Allow.ATTACH_FILES
        server.world.application.message_content_intent = False
        seen = await look(server.token, api_base=server.api)
        wrong = [f for f in findings(seen, owner_id=seen.owner_id) if not f.ok]
        assert len(wrong) == 2
        assert "MESSAGE CONTENT is off" in wrong[0].text
        assert "attach_files" in wrong[1].text
        assert "https://discord.com/oauth2/authorize?" in wrong[1].next_step
        alone = [f for f in findings(seen, owner_id=seen.owner_id, guild_id="42") if not f.ok]
        assert alone[-1].text == "The bot is not in server 42."


async def test_a_refused_token_and_a_discord_that_is_down_are_told_apart() -> None:
    async with LoopbackDiscord.start() as server:
        with pytest.raises(FairleadError, match="refuses this token") as refused:
            await look("wrong", api_base=server.api)
        assert refused.value.code == Code.E_CONFIG
        await server.go_down()
        with pytest.raises(FairleadError, match="cannot be reached"):
            await look(server.token, api_base=server.api)
        await server.come_back()


@pytest.mark.req("A22")
@pytest.mark.parametrize("webhook_identity", [False, True])
def test_the_invite_link_asks_for_exactly_what_is_needed(*, webhook_identity: bool) -> None:
    asked = parse_qs(urlsplit(invite_link("123", webhook_identity=webhook_identity)).query)
    given = {name for name, value in discord.Permissions(int(asked["permissions"][0])) if value}
    assert given == {
        "read_messages", "send_messages", "read_message_history", "create_public_threads", "send_messages_in_threads",
        "manage_threads", "use_application_commands", "embed_links", "attach_files", "add_reactions",
    } | ({"manage_webhooks"} if webhook_identity else set())  # fmt: skip
    assert asked["scope"] == ["bot applications.commands"]


@pytest.mark.req("A22")
def test_the_intents_are_those_and_no_others() -> None:
    assert {name for name, value in client.INTENTS if value} == {
        "guilds", "guild_messages", "dm_messages", "message_content", "guild_reactions", "dm_reactions",
    }  # fmt: skip
