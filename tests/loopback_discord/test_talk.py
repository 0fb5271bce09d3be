"""An unmodified discord.py client talks through the loopback Discord: messages, threads, files, reactions."""

import asyncio
import sys
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import aiohttp
import discord
import pytest
from loopback_discord import Allow, Fault, LoopbackDiscord, Upload
from loopback_discord.bare_client import BareClient, connected

pytestmark = pytest.mark.anyio
ECHO_BOT = Path(__file__).parents[2] / "loopback_discord" / "echo_bot.py"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def server() -> AsyncIterator[LoopbackDiscord]:
    async with LoopbackDiscord.start() as started:
        yield started
        assert started.violations == []


@pytest.mark.parametrize("compression", ["zlib-stream", "zstd-stream"])
async def test_a_bot_in_its_own_process_hears_and_answers(server: LoopbackDiscord, compression: str) -> None:
    guild = server.guild()
    conversation = server.text_channel(guild)
    ada = server.person("ada")
    bot = await asyncio.create_subprocess_exec(
        sys.executable, str(ECHO_BOT), server.api, server.gateway_url, server.token, compression
    )
    try:
        await server.gateway.ready(timeout=20)
        said = ada.say(conversation, "hello ✨ " + "x" * 1000)
        answer = await conversation.wait_for_answer(after=said)
        assert answer.content == "heard: hello ✨ " + "x" * 1000
        assert [each.compression for each in server.gateway.identifies] == [compression]
    finally:
        bot.terminate()
        await bot.wait()


async def test_login_finds_application_guilds_and_the_gateway(server: LoopbackDiscord) -> None:
    guild = server.guild("harbour")
    async with connected(server) as client:
        info = await client.application_info()
        assert info.flags.gateway_message_content_limited
        assert [each.name for each in client.guilds] == ["harbour"]
        assert [each.id async for each in client.fetch_guilds()] == [guild.id]
        assert (await client.fetch_user(server.owner.id)).name == "owner"
        assert (await client.fetch_guild(guild.id)).owner_id == server.owner.id
        data = await client.http.get_bot_gateway()
        assert data[1] == server.gateway_url
        assert client.user is not None
        assert client.user.id == server.world.bot.id


async def test_edits_deletions_and_reactions_reach_the_client(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    ada = server.person("ada")
    async with connected(server) as client:
        said = ada.say(conversation, "first")
        heard = await client.hears("message")
        assert heard.content == "first"
        ada.edit(said, "second")
        edited = await client.hears("raw_message_edit")
        assert edited.message.content == "second"
        ada.react(said, "🔁")
        assert (await client.hears("raw_reaction_add")).emoji.name == "🔁"
        await heard.add_reaction("👀")
        await heard.remove_reaction("👀", client.user)
        await heard.add_reaction("✅")
        assert said.reactions == {"🔁": [ada.id], "✅": [server.world.bot.id]}
        ada.delete(said)
        assert (await client.hears("raw_message_delete")).message_id == said.id
        with pytest.raises(discord.NotFound) as gone:
            await heard.edit(content="too late")
        assert gone.value.code == 10008


async def test_replies_carry_what_they_answer_and_mentions_obey_allowed_mentions(
    server: LoopbackDiscord,
) -> None:
    conversation = server.text_channel(server.guild())
    ada = server.person("ada")
    async with connected(server) as client:
        first = ada.say(conversation, "the question")
        ada.say(conversation, "see above", reply_to=first)
        reply = await client.hears("message", times=2)
        assert reply.reference.resolved.content == "the question"
        sent = await reply.reply(f"@everyone {ada.mention}", allowed_mentions=discord.AllowedMentions.none())
        stored = conversation.channel.messages[sent.id]
        assert (stored.mentions, stored.mention_everyone) == ([], False)
        assert stored.reference == (conversation.id, reply.id)


async def test_history_pages_before_after_and_around_without_nonces(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    ada = server.person("ada")
    said = [ada.say(conversation, str(number)) for number in range(10)]
    async with connected(server) as client:
        channel = client.get_channel(conversation.id)
        after = [each.content async for each in channel.history(after=said[6], oldest_first=True)]
        before = [each.content async for each in channel.history(before=said[3], limit=2)]
        around = [each.content async for each in channel.history(around=said[5], limit=3)]
        assert (after, before, around) == (["7", "8", "9"], ["2", "1"], ["6", "5", "4"])
        await channel.send("mine", nonce="n1")
        raw = await client.http.get_message(channel.id, conversation.from_bot[0].id)
        assert "nonce" not in raw


async def test_a_direct_message_opens_once_and_announces_itself(server: LoopbackDiscord) -> None:
    ada = server.person("ada")
    async with connected(server) as client:
        user = await client.fetch_user(ada.id)
        await user.send("hello")
        assert ada.dm.texts == ["hello"]
        ada.say(ada.dm, "hi")
        heard = await client.hears("message", times=2)
        assert isinstance(heard.channel, discord.DMChannel)
        ada.user.accepts_dms = False
        with pytest.raises(discord.Forbidden) as closed:
            await user.send("again")
        assert closed.value.code == 50007


async def test_the_echo_of_an_own_message_carries_its_nonce(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    async with connected(server) as client:
        await client.get_channel(conversation.id).send("hello", nonce="abcd1234")
        assert (await client.hears("message")).nonce == "abcd1234"


async def test_an_enforced_nonce_posts_once_until_it_is_forgotten(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    async with connected(server) as client:
        channel = client.get_channel(conversation.id)
        first = await channel.send("one", nonce="same")
        second = await channel.send("one", nonce="same")
        assert (second.id, len(conversation.messages)) == (first.id, 1)
        server.clock.advance(181)
        third = await channel.send("one", nonce="same")
        assert third.id != first.id


async def test_a_thread_from_a_message_has_its_id_and_a_second_try_says_so(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    async with connected(server) as client:
        opening = await client.get_channel(conversation.id).send("opening")
        thread = await opening.create_thread(name="work", auto_archive_duration=60)
        assert thread.id == opening.id
        with pytest.raises(discord.HTTPException) as twice:
            await opening.create_thread(name="work")
        assert (twice.value.status, twice.value.code) == (400, 160004)
        alone = await client.get_channel(conversation.id).create_thread(
            name="alone", type=discord.ChannelType.public_thread
        )
        active = await thread.guild.active_threads()
        assert [each.id for each in active] == [thread.id, alone.id]
        assert [each.id for each in await thread.fetch_members()] == [server.world.bot.id]


async def test_an_archived_thread_refuses_edits_and_is_reopened_by_a_message(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    async with connected(server) as client:
        opening = await client.get_channel(conversation.id).send("opening")
        thread = await opening.create_thread(name="work", auto_archive_duration=60)
        sent = await thread.send("inside")
        server.clock.advance(3601)
        room = server.conversation(thread.id)
        assert room.thread.archived
        assert (await client.hears("raw_thread_update")).data["thread_metadata"]["archived"]
        with pytest.raises(discord.HTTPException) as archived:
            await sent.edit(content="changed")
        assert archived.value.code == 50083
        await thread.send("back")
        assert not room.thread.archived


async def test_a_locked_a_deleted_and_a_hidden_conversation_each_give_their_code(server: LoopbackDiscord) -> None:
    guild = server.guild()
    conversation, secret = server.text_channel(guild), server.text_channel(guild, "secret")
    async with connected(server) as client:
        channel, hidden = client.get_channel(conversation.id), client.get_channel(secret.id)
        thread = await (await channel.send("opening")).create_thread(name="work")
        server.conversation(thread.id).lock()
        secret.deny(Allow.VIEW_CHANNEL)
        codes = [await code_of(thread.send("x")), await code_of(hidden.send("x"))]
        server.conversation(thread.id).delete()
        codes.append(await code_of(thread.send("x")))
        conversation.deny(Allow.SEND_MESSAGES)
        codes.append(await code_of(channel.send("x")))
        assert codes == [160005, 50001, 10003, 50013]


async def code_of(sending: object) -> int:
    with pytest.raises(discord.HTTPException) as refused:
        await sending  # type: ignore[misc]
    return refused.value.code


async def test_files_go_up_and_come_down_until_their_address_expires(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    ada = server.person("ada")
    async with connected(server) as client:
        ada.say(conversation, "look", files=[Upload("a b.png", b"\x89PNG", "image/png")])
        heard = await client.hears("message")
        assert heard.attachments[0].content_type == "image/png"
        assert await heard.attachments[0].read() == b"\x89PNG"
        files = [
            discord.File(BytesIO(b"one"), "1.txt"),
            discord.File(BytesIO(b"two"), "2.txt", description="2nd"),
        ]
        sent = await heard.channel.send("two files", files=files)
        assert [(each.filename, each.description) for each in sent.attachments] == [
            ("1.txt", None),
            ("2.txt", "2nd"),
        ]
        assert await sent.attachments[1].read() == b"two"
        server.clock.advance(25 * 3600)
        with pytest.raises(discord.NotFound):
            await sent.attachments[1].read()
        again = await heard.channel.fetch_message(sent.id)
        assert await again.attachments[1].read() == b"two"


async def test_the_cdn_redirects_when_told_to(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    said = server.person("ada").say(conversation, files=[Upload("a.txt", b"text")])
    server.faults.next("GET", "/attachments/*", Fault.redirect("http://127.0.0.1:9/elsewhere"))
    url = server.world.message_body(said)["attachments"][0]["url"]
    async with aiohttp.ClientSession() as session, session.get(url, allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (302, "http://127.0.0.1:9/elsewhere")


async def test_a_webhook_posts_into_a_thread_under_its_own_name(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    async with connected(server) as client:
        channel = client.get_channel(conversation.id)
        thread = await (await channel.send("opening")).create_thread(name="work")
        hook = await channel.create_webhook(name="agents")
        assert [each.id for each in await channel.webhooks()] == [hook.id]
        sent = await hook.send("by hook", username="claude", thread=thread, wait=True)
        await sent.edit(content="by hook, edited")
        stored = server.conversation(thread.id).messages[-1]
        assert (stored.content, stored.author.username) == ("by hook, edited", "claude")
        assert (await hook.fetch_message(sent.id, thread=thread)).content == "by hook, edited"


async def test_without_the_content_intent_strangers_words_are_blank(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    ada = server.person("ada")
    quiet = BareClient(server, intents=discord.Intents(guilds=True, guild_messages=True))
    async with connected(server, quiet) as client:
        ada.say(conversation, "not for you")
        ada.tell_bot(conversation, "for you")
        await client.hears("message", times=2)
        assert [bool(each.content) for each in client.of("message")] == [False, True]


async def test_the_rarer_calls_answer_in_discords_shape(server: LoopbackDiscord) -> None:
    conversation, ada = server.text_channel(server.guild()), server.person("ada")
    async with connected(server) as client:
        channel = await client.fetch_channel(conversation.id)
        assert [each.id for each in await channel.guild.fetch_channels()] == [conversation.id]
        assert (await channel.guild.fetch_member(ada.id)).name == "ada"
        thread = await channel.create_thread(name="work", type=discord.ChannelType.public_thread)
        await thread.leave()
        await thread.join()
        await thread.add_user(ada_as_seen := await client.fetch_user(ada.id))
        assert sorted(server.conversation(thread.id).thread.members) == sorted([ada.id, server.world.bot.id])
        await thread.edit(name="done", archived=True)
        assert [each.name async for each in channel.archived_threads()] == ["done"]
        await thread.edit(archived=False)
        hook = await channel.create_webhook(name="agents")
        assert (await hook.fetch(prefer_auth=False)).name == "agents"
        sent = await hook.send("by hook", wait=True)
        await sent.delete()
        await hook.delete()
        mine = await channel.send("mine")
        await mine.add_reaction("✅")
        assert [each.id async for each in (await channel.fetch_message(mine.id)).reactions[0].users()] == [
            client.user.id
        ]
        await mine.delete()
        assert await code_of(ada_as_seen.send("")) == 50006
        assert [each.type for each in conversation.messages] == [18]  # the notice of the thread


async def test_typing_is_noted(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    async with connected(server) as client:
        async with client.get_channel(conversation.id).typing():
            await conversation.wait_for_typing()


async def test_embeds_buttons_with_emoji_selects_and_layouts_keep_their_shape(
    server: LoopbackDiscord,
) -> None:
    conversation = server.text_channel(server.guild())
    embed = discord.Embed(title="Title", description="text", colour=0x123456, timestamp=discord.utils.utcnow())
    embed.add_field(name="name", value="value").set_footer(text="foot").set_author(name="me", url="https://a.test/")
    view = discord.ui.View()
    view.add_item(discord.ui.Button(label="Go", emoji="\N{WHITE HEAVY CHECK MARK}", custom_id="go"))
    view.add_item(discord.ui.Button(label="Docs", url="https://a.test/docs"))
    options = [discord.SelectOption(label="One", emoji="1\ufe0f\u20e3", description="first")]
    view.add_item(discord.ui.Select(custom_id="pick", placeholder="which?", options=options))
    layout = discord.ui.LayoutView()
    box: discord.ui.Container[discord.ui.LayoutView] = discord.ui.Container(accent_colour=0xFF0000)
    section = discord.ui.Section("some **text**", accessory=discord.ui.Button(label="Yes", custom_id="yes"))
    layout.add_item(box.add_item(section).add_item(discord.ui.Separator()))
    async with connected(server) as client:
        channel = client.get_channel(conversation.id)
        plain = await channel.send(embed=embed, view=view)
        assert plain.embeds[0].fields[0].value == "value"
        assert conversation.messages[0].custom_ids() == ["go", "pick"]
        await plain.edit(embed=None, view=None, content="bare")
        laid_out = await channel.send(view=layout)
        assert conversation.messages[1].custom_ids() == ["yes"]
        await laid_out.edit(attachments=[discord.File(BytesIO(b"x"), "x.bin")])
        assert [each.filename for each in conversation.messages[1].attachments] == ["x.bin"]
