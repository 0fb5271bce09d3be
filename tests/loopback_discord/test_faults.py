"""The loopback Discord at its worst: lost sockets and sessions, rate limits, resets, and wrong bodies."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import discord
import pytest
from loopback_discord import Fault, LoopbackDiscord, Rule, WaitedInVain, schema
from loopback_discord.bare_client import BareClient, connected, point_at
from loopback_discord.server import ROUTES

pytestmark = pytest.mark.anyio
NO_DOCUMENT = not Path(os.environ.get("FAIRLEAD_DISCORD_OPENAPI") or "/nowhere").is_file()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def server() -> AsyncIterator[LoopbackDiscord]:
    async with LoopbackDiscord.start() as started:
        yield started
        assert started.violations == []  # tests that provoke some take them out


def taken_out(server: LoopbackDiscord) -> list[schema.Violation]:
    found, server.violations[:] = list(server.violations), []
    return found


@pytest.fixture(autouse=True)
def no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """discord.py waits a random while before it reconnects; these tests are not about that."""
    monkeypatch.setattr("discord.client.ExponentialBackoff.delay", lambda _self: 0.0)


@pytest.mark.parametrize("how", ["op 7", "op 9 true", "drop", "close 4000"])
async def test_a_resumed_session_gets_what_it_missed(server: LoopbackDiscord, how: str) -> None:
    conversation, ada = server.text_channel(server.guild()), server.person("ada")
    async with connected(server) as client:
        ada.say(conversation, "before")
        await client.hears("message")
        match how:
            case "op 7":
                server.gateway.reconnect()
            case "op 9 true":
                server.gateway.invalidate(resumable=True)
            case "drop":
                server.gateway.drop()
            case _:
                server.gateway.close(4000)
        await server.gateway.disconnected()
        ada.say(conversation, "meanwhile")
        await server.gateway.resumed()
        ada.say(conversation, "after")
        await client.hears("message", times=3)
        assert [each.content for each in client.of("message")] == ["before", "meanwhile", "after"]
        assert len(server.gateway.identifies) == 1


async def test_an_invalid_session_is_begun_again_and_misses_what_was_said(server: LoopbackDiscord) -> None:
    conversation, ada = server.text_channel(server.guild()), server.person("ada")
    async with connected(server) as client:
        server.gateway.invalidate(resumable=False)
        await server.gateway.disconnected()
        missed = ada.say(conversation, "meanwhile")
        await server.gateway.ready(identifies=2)
        ada.say(conversation, "after")
        await client.hears("message")
        assert [each.content for each in client.of("message")] == ["after"]
        assert missed.id in [each.id async for each in client.get_channel(conversation.id).history()]


async def test_a_forgotten_session_is_not_resumed(server: LoopbackDiscord) -> None:
    server.guild()
    async with connected(server):
        server.gateway.forget_sessions()
        server.gateway.drop()
        await server.gateway.ready(identifies=2)
        assert [each.outcome for each in server.gateway.resumes] == ["op9 false"]


async def test_a_silent_gateway_is_noticed_by_its_missing_acks(server: LoopbackDiscord) -> None:
    server.guild()
    server.gateway.heartbeat_interval_ms = 50
    async with connected(server, BareClient(server, heartbeat_timeout=0.3)):
        server.gateway.acks = False
        await server.gateway.disconnected()
        server.gateway.acks = True
        await server.gateway.resumed()


async def test_a_wrong_token_and_forbidden_intents_end_the_connection(server: LoopbackDiscord) -> None:
    point_at(server)
    with pytest.raises(discord.LoginFailure):
        async with BareClient(server) as client:
            await client.login("wrong")
    server.world.application.message_content_intent = False
    async with BareClient(server) as client:
        await client.login(server.token)
        with pytest.raises(discord.PrivilegedIntentsRequired):
            await client.connect()
        server.world.application.message_content_intent = True
        client.http.token = "rotated"
        with pytest.raises(discord.ConnectionClosed) as closed:
            await client.connect()
    assert closed.value.code == 4004
    assert [each.outcome for each in server.gateway.identifies] == ["4014", "4004"]
    assert server.invalid_requests == 1


async def test_a_bucket_is_announced_so_that_the_client_never_meets_a_429(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    server.limits.rules["POST /channels/{channel_id}/messages"] = Rule(2, 0.3)
    async with connected(server) as client:
        channel = client.get_channel(conversation.id)
        await asyncio.gather(*(channel.send(str(number)) for number in range(6)))
        assert (len(conversation.messages), server.count(429)) == (6, 0)


async def test_a_429_is_waited_out_and_counted(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    async with connected(server) as client:
        server.faults.next("POST", "/channels/*/messages", Fault.rate_limit(0.05), for_times=2)
        server.faults.next("POST", "/channels/*/messages", Fault.rate_limit(0.05, is_global=True))
        await client.get_channel(conversation.id).send("patience")
        assert (conversation.texts, server.count(429), server.invalid_requests) == (["patience"], 3, 3)


async def test_the_global_limit_and_the_rename_limit_answer_429(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    thread = server.owner.begin_thread(conversation, "work")
    thread.thread.owner_id = server.world.bot.id
    headers = {"Authorization": f"Bot {server.token}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        for number in range(3):
            url = f"{server.api}/channels/{thread.id}"
            async with session.patch(url, json={"name": f"name {number}"}) as response:
                body = await response.json()
        assert (response.status, body["retry_after"] > 500, response.headers["Via"]) == (
            429,
            True,
            "1.1 google",
        )
        server.limits.global_rule = Rule(3, 60)
        async with session.get(f"{server.api}/users/@me") as response:
            assert (response.status, (await response.json())["global"]) == (429, True)


async def test_work_done_before_a_500_is_not_doubled_by_the_retry(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    async with connected(server) as client:
        server.faults.next("POST", "/channels/*/messages", Fault.after_work(500))
        await client.get_channel(conversation.id).send("once", nonce="n")
        assert conversation.texts == ["once"]
        assert [each.status for each in server.calls("POST", "/channels/*/messages")] == [500, 200]


async def test_a_503_and_a_reset_are_raised_at_once(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    async with connected(server) as client:
        channel = client.get_channel(conversation.id)
        server.faults.next("POST", "/channels/*/messages", Fault.status(503))
        with pytest.raises(discord.DiscordServerError):
            await channel.send("one")
        server.faults.next("POST", "/channels/*/messages", Fault.reset())
        with pytest.raises(OSError):
            await channel.send("two")
        server.faults.next("POST", "/channels/*/messages", Fault.reset_after_work())
        with pytest.raises(OSError):
            await channel.send("three")
        assert conversation.texts == ["three"]


async def test_a_hung_request_goes_on_when_released(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    async with connected(server) as client:
        order = server.faults.next("POST", "*/messages", Fault.hang(), when=lambda body: body["content"] == "slow")
        sending = asyncio.create_task(client.get_channel(conversation.id).send("slow"))
        await server.wait_for_call("POST", "*/messages")
        assert conversation.texts == []
        order.fault.release()
        await sending
        assert conversation.texts == ["slow"]


async def test_the_server_goes_down_and_comes_back_on_its_port(server: LoopbackDiscord) -> None:
    conversation, ada = server.text_channel(server.guild()), server.person("ada")
    async with connected(server) as client:
        await server.go_down()
        ada.say(conversation, "anybody there?")
        with pytest.raises(OSError):
            await client.get_channel(conversation.id).send("no")
        await server.come_back()
        await server.gateway.resumed()
        assert (await client.hears("message")).content == "anybody there?"


@pytest.mark.skipif(NO_DOCUMENT, reason="FAIRLEAD_DISCORD_OPENAPI names no document")
async def test_a_wrong_shape_is_caught_on_either_side(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    async with connected(server) as client:
        route = discord.http.Route("POST", "/channels/{channel_id}/messages", channel_id=conversation.id)
        with pytest.raises(discord.HTTPException) as refused:
            await client.http.request(route, json={"content": 5})
        assert refused.value.code == 50035
        server.person("ada").say(conversation, "fine").content = 7  # type: ignore[assignment]
        await client.http.logs_from(conversation.id, 10)
        found = taken_out(server)
        assert [each.side for each in found] == ["request", "response"]
        assert found[0].problem.startswith("at /content: 5 is not of types")


@pytest.mark.skipif(NO_DOCUMENT, reason="FAIRLEAD_DISCORD_OPENAPI names no document")
@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ({"limit": 101}, "limit=101: at /: 101 is greater"),
        ({"before": "yesterday"}, 'before=yesterday: at /: "yesterday" does not match'),
        ({"newest": "true"}, "this operation takes no parameter newest"),
    ],
)
async def test_what_stands_in_the_address_is_checked_like_a_body(
    server: LoopbackDiscord, query: dict[str, int | str], problem: str
) -> None:
    conversation = server.text_channel(server.guild())
    async with connected(server) as client:
        route = discord.http.Route("GET", "/channels/{channel_id}/messages", channel_id=conversation.id)
        with pytest.raises(discord.HTTPException, match="Invalid Form Body"):
            await client.http.request(route, params=query)
        (found,) = taken_out(server)
        assert found.problem.startswith(problem)


@pytest.mark.skipif(NO_DOCUMENT, reason="FAIRLEAD_DISCORD_OPENAPI names no document")
def test_a_fault_deep_in_a_union_is_named_where_it_is() -> None:
    body = {"components": [{"type": 1, "components": [button("fine"), {**button("a"), "label": 7}]}]}
    template = "/channels/{channel_id}/messages"
    problem = LoopbackDiscord().schema.request_problem("POST", template, body)
    assert problem is not None
    assert problem.startswith("at /components/0/components/1/label: 7 is not of types")


def button(custom_id: str) -> dict[str, object]:
    return {"type": 2, "style": 1, "label": "a", "custom_id": custom_id}


@pytest.mark.parametrize(
    "body",
    [
        {"content": "x" * 2001},
        {"embeds": [{"description": "x" * 3001}, {"description": "x" * 3000}]},
        {"content": "x", "nonce": "n" * 26},
        {"content": "x", "components": [{"type": 1, "components": [button("a"), button("a")]}]},
        {"content": "x", "components": [{"type": 1, "components": [button("a" * 101)]}]},
        {"content": "x", "components": [{"type": 1, "components": [button(each) for each in "abcdef"]}]},
    ],
    ids=["content", "embed total", "nonce", "duplicate custom id", "long custom id", "six buttons"],
)  # fmt: skip
async def test_limits_that_the_document_does_not_state_are_violations_too(
    server: LoopbackDiscord, body: dict[str, object]
) -> None:
    conversation = server.text_channel(server.guild())
    headers = {"Authorization": f"Bot {server.token}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        async with session.post(f"{server.api}/channels/{conversation.id}/messages", json=body) as response:
            assert (response.status, (await response.json())["code"]) == (400, 50035)
    assert len(taken_out(server)) == 1


async def test_a_route_that_is_not_there_is_a_violation(server: LoopbackDiscord) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{server.api}/nowhere") as response:
        assert response.status == 404
    assert len(taken_out(server)) == 1


async def test_waiting_in_vain_says_what_was_there(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    server.person("ada").say(conversation, "something else")
    with pytest.raises(AssertionError, match="something else"):
        await conversation.wait_for_message(lambda message: message.content == "this", timeout=0.01)
    with pytest.raises(WaitedInVain, match="0 gateway sessions"):
        await server.gateway.ready(timeout=0.01)


async def test_a_session_left_for_hours_cannot_be_resumed(server: LoopbackDiscord) -> None:
    server.guild()
    async with connected(server):
        await server.go_down()
        server.clock.advance(6 * 3600)
        await server.come_back()
        await server.gateway.ready(identifies=2)
        assert [each.outcome for each in server.gateway.resumes] == ["op9 false"]


async def test_a_rotated_token_ends_the_connection_and_refuses_the_old_one(server: LoopbackDiscord) -> None:
    server.guild()
    async with connected(server) as client:
        old = server.token
        new = server.rotate_token()
        await client.hears("disconnect")
    async with aiohttp.ClientSession() as session:
        statuses = []
        for token in (old, new):
            headers = {"Authorization": f"Bot {token}"}
            async with session.get(f"{server.api}/users/@me", headers=headers) as response:
                statuses.append(response.status)
    assert statuses == [401, 200]


def test_without_the_document_the_checks_are_skipped_and_say_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("FAIRLEAD_DISCORD_OPENAPI", raising=False)
    schema.say_unchecked.cache_clear()
    servers = [LoopbackDiscord(), LoopbackDiscord()]
    problems = [each.schema.request_problem("POST", "/channels/{channel_id}/messages", 5) for each in servers]
    assert (problems, len(caplog.records)) == ([None, None], 1)


async def test_a_gateway_that_refuses_sockets_leaves_rest_alone(server: LoopbackDiscord) -> None:
    server.gateway.refuse_sockets = True
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(server.gateway_url)
        async with session.get(f"{server.api}/gateway") as response:
            assert await response.json() == {"url": server.gateway_url}


async def test_a_bug_of_the_loopback_itself_is_a_violation(server: LoopbackDiscord) -> None:
    conversation = server.text_channel(server.guild())
    headers = {"Authorization": f"Bot {server.token}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        conversation.channel.messages = None  # type: ignore[assignment]
        async with session.get(f"{server.api}/channels/{conversation.id}/messages") as response:
            assert response.status == 500
    assert [each.side for each in taken_out(server)] == ["loopback"]


@pytest.mark.skipif(NO_DOCUMENT, reason="FAIRLEAD_DISCORD_OPENAPI names no document")
async def test_every_route_is_one_of_discords_document(server: LoopbackDiscord) -> None:
    for route in ROUTES:
        problem = server.schema.request_problem(route.method, route.template, None) or ""
        assert "not in Discord's document" not in problem
