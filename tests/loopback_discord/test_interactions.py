"""Slash commands, buttons, selects, modals and autocomplete between people and a real discord.py client."""

from collections.abc import AsyncIterator
from typing import Any

import discord
import pytest
from discord import app_commands
from loopback_discord import CannotType, Conversation, LoopbackDiscord, Upload
from loopback_discord.bare_client import BareClient, connected

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def server() -> AsyncIterator[LoopbackDiscord]:
    async with LoopbackDiscord.start() as started:
        yield started
        assert started.violations == []


@pytest.fixture
def conversation(server: LoopbackDiscord) -> Conversation:
    return server.text_channel(server.guild())


class Question(discord.ui.Modal, title="Why?"):
    reason = discord.ui.TextInput(label="Reason", custom_id="reason", max_length=20)

    async def on_submit(self, interaction: discord.Interaction) -> None:
        await interaction.response.send_message(f"because {self.reason.value}", ephemeral=True)


class Buttons(discord.ui.View):
    def __init__(self) -> None:
        super().__init__(timeout=None)

    @discord.ui.button(label="Allow", custom_id="allow")
    async def allow(self, interaction: discord.Interaction, _button: object) -> None:
        await interaction.response.edit_message(content="allowed", view=None)

    @discord.ui.button(label="Think", custom_id="think")
    async def think(self, interaction: discord.Interaction, _button: object) -> None:
        await interaction.response.defer()
        await interaction.edit_original_response(content="thought about")

    @discord.ui.button(label="Deny", custom_id="deny")
    async def deny(self, interaction: discord.Interaction, _button: object) -> None:
        await interaction.response.send_modal(Question())

    @discord.ui.select(custom_id="pick", options=[discord.SelectOption(label=each) for each in "abc"])
    async def pick(self, interaction: discord.Interaction, chosen: discord.ui.Select) -> None:
        await interaction.response.send_message(f"picked {chosen.values[0]}")


def bot_with_commands(server: LoopbackDiscord) -> BareClient:
    client = BareClient(server)
    group = app_commands.Group(name="project", description="Projects")

    @group.command(name="create", description="Make one")
    @app_commands.choices(tool=[app_commands.Choice(name="Claude", value="claude")])
    async def create(
        interaction: discord.Interaction,
        name: app_commands.Range[str, 1, 10],
        tool: app_commands.Choice[str] | None = None,
        who: discord.Member | None = None,
        file: discord.Attachment | None = None,
    ) -> None:
        await interaction.response.defer(ephemeral=True)
        parts = [name, tool.value if tool else "-", who.name if who else "-"]
        parts.append((await file.read()).decode() if file else "-")
        await interaction.edit_original_response(content=f"{' '.join(parts)} {interaction.locale.value}")
        await interaction.followup.send("and more")

    @create.autocomplete("name")
    async def names(_interaction: discord.Interaction, current: str) -> list[app_commands.Choice[str]]:
        return [app_commands.Choice(name=each, value=each) for each in ("api", "web") if current in each]

    @client.tree.command(name="ask", description="Buttons")
    async def ask(interaction: discord.Interaction) -> None:
        await interaction.response.send_message("which?", view=Buttons())

    @client.tree.command(name="late", description="Answers when the test lets it")
    async def late(interaction: discord.Interaction) -> None:
        server.clock.advance(3.5)
        await interaction.response.send_message("too late")

    client.tree.add_command(group)
    client.tree.error(swallow)
    return client


async def swallow(interaction: discord.Interaction, error: app_commands.AppCommandError) -> None:
    interaction.client.heard.append(("refused", error.original))  # type: ignore[attr-defined]
    interaction.client.server.board.changed()  # type: ignore[attr-defined]


async def test_a_command_is_deferred_edited_and_followed_up(
    server: LoopbackDiscord, conversation: Conversation
) -> None:
    ada = server.person("ada", locale="ja")
    async with connected(server, bot_with_commands(server), commands=True):
        upload = Upload("note.txt", b"text")
        asked = ada.slash(conversation, "project create", name="api", tool="claude", who=ada, file=upload)
        assert await asked.acknowledged() == 5
        reply = await asked.reply()
        assert (reply.content, reply.ephemeral, reply.reader_id) == ("api claude ada text ja", True, ada.id)
        assert (await asked.followup()).content == "and more"


async def test_what_a_person_could_not_type_is_refused(server: LoopbackDiscord, conversation: Conversation) -> None:
    ada = server.person("ada")
    async with connected(server, bot_with_commands(server), commands=True):
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("nothing", {}),
            ("project", {}),
            ("project destroy", {}),
            ("project create", {}),
            ("project create", {"name": "much too long a name"}),
            ("project create", {"name": "api", "tool": "other"}),
            ("project create", {"name": "api", "colour": "red"}),
        ]
        for path, options in wrong:
            with pytest.raises(CannotType):
                ada.slash(conversation, path, **options)


async def test_autocomplete_gives_choices(server: LoopbackDiscord, conversation: Conversation) -> None:
    ada = server.person("ada")
    async with connected(server, bot_with_commands(server), commands=True):
        asked = ada.autocomplete(conversation, "project create", "name", "w")
        assert await asked.choices() == [{"name": "web", "value": "web"}]


async def test_a_click_updates_its_message(server: LoopbackDiscord, conversation: Conversation) -> None:
    ada = server.person("ada")
    async with connected(server, bot_with_commands(server), commands=True):
        question = await ada.slash(conversation, "ask").reply()
        assert question.custom_ids() == ["allow", "think", "deny", "pick"]
        thought = await ada.click(question, "think").reply()
        assert (thought is question, question.content) == (True, "thought about")
        await ada.click(question, "Allow").reply()
        assert (question.content, question.components) == ("allowed", [])


async def test_a_select_and_a_modal_are_answered(server: LoopbackDiscord, conversation: Conversation) -> None:
    ada = server.person("ada")
    async with connected(server, bot_with_commands(server), commands=True):
        question = await ada.slash(conversation, "ask").reply()
        assert (await ada.select(question, "pick", "b").reply()).content == "picked b"
        clicked = ada.click(question, "Deny")
        assert (await clicked.modal())["title"] == "Why?"
        with pytest.raises(CannotType):
            ada.submit_modal(clicked, reason="x" * 21)
        reply = await ada.submit_modal(clicked, reason="no").reply()
        assert reply.content == "because no"


async def test_after_three_seconds_the_interaction_is_unknown(
    server: LoopbackDiscord, conversation: Conversation
) -> None:
    ada = server.person("ada")
    async with connected(server, bot_with_commands(server), commands=True) as client:
        asked = ada.slash(conversation, "late")
        assert (await client.hears("refused")).code == 10062
        assert asked.failed


async def test_a_second_callback_and_a_token_of_sixteen_minutes_are_refused(
    server: LoopbackDiscord, conversation: Conversation
) -> None:
    ada = server.person("ada")
    async with connected(server, bot_with_commands(server), commands=True) as client:
        asked = ada.slash(conversation, "ask")
        await asked.reply()
        path = f"/interactions/{asked.interaction.id}/{asked.interaction.token}/callback"
        codes = [await code_of(client, "POST", path, {"type": 4, "data": {"content": "again"}})]
        server.clock.advance(16 * 60)
        late = f"/webhooks/{server.world.application.id}/{asked.interaction.token}/messages/@original"
        codes.append(await code_of(client, "PATCH", late, {"content": "late"}))
        assert codes == [40060, 50027]


async def code_of(client: discord.Client, method: str, path: str, body: dict[str, Any]) -> int:
    with pytest.raises(discord.HTTPException) as refused:
        await client.http.request(discord.http.Route(method, path), json=body)
    return refused.value.code


async def test_commands_of_a_guild_keep_their_ids_when_set_again(
    server: LoopbackDiscord, conversation: Conversation
) -> None:
    assert conversation.channel.guild
    guild = discord.Object(conversation.channel.guild.id)
    async with connected(server, bot_with_commands(server)) as client:
        client.tree.copy_global_to(guild=guild)
        first = await client.tree.sync(guild=guild)
        second = await client.tree.sync(guild=guild)
        assert [each.id for each in first] == [each.id for each in second]
        assert sorted(each.name for each in await client.tree.fetch_commands(guild=guild)) == [
            "ask",
            "late",
            "project",
        ]
        assert server.world.commands[None] == []
        client.tree.clear_commands(guild=guild)
        assert await client.tree.sync(guild=guild) == []


async def test_a_stranger_cannot_tap_an_ephemeral_message(server: LoopbackDiscord, conversation: Conversation) -> None:
    ada, eve = server.person("ada"), server.person("eve")
    async with connected(server, bot_with_commands(server), commands=True):
        question = await ada.slash(conversation, "ask").reply()
        question.reader_id = ada.id
        with pytest.raises(AssertionError, match="ephemeral"):
            eve.click(question, "allow")
