"""The lines of an ACP agent: which go to the SDK, which to the listener, and that none is lost unseen."""

import asyncio
import json
from typing import Any, cast

import pytest

from fairlead.kit.framing import LineTooLong
from fairlead.kit.processes import OwnedProcess, StdinClosed, StdinStuck
from fairlead.runtimes.acp import wire
from fairlead.runtimes.acp.transport import REQUEST_ID, AgentTransport
from tests.runtimes.acp.harness import FakePipes, Heard

pytestmark = [pytest.mark.anyio, pytest.mark.req("B4", "B8")]

UPDATE = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello"}}
READ = wire.AgentText(content=wire.Content(type="text", text="hello"))


def notice(update: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}


async def received(*lines: bytes | str | dict[str, Any] | LineTooLong) -> tuple[list[dict[str, Any]], Heard]:
    """What the SDK gets of these lines, and what the listener heard."""
    pipes, heard = FakePipes(), Heard()
    transport = AgentTransport(cast("OwnedProcess", pipes), heard)
    for line in (*lines, None):
        pipes.print(line)
    messages: list[dict[str, Any]] = []
    while (message := await transport.receive()) is not None:
        messages.append(message)
    return messages, heard


async def test_updates_go_to_the_listener_in_their_order_and_requests_to_the_sdk():
    request = {"id": 0, "method": "fs/read_text_file", "params": {"path": "/etc/hosts"}}
    first, second = UPDATE, {"sessionUpdate": "plan_removed", "planId": "p"}
    messages, heard = await received(notice(first), request, notice(second))
    assert heard.all == [("update", READ), ("update", wire.PlanRemoved(plan_id="p"))]
    assert [message["method"] for message in messages] == ["fs/read_text_file"]


async def test_an_update_is_one_however_the_agent_writes_its_line():
    swapped = json.dumps(
        {"params": {"update": {**UPDATE, "unknownField": {"x": "y" * 500}}}, "method": "session/update"}
    )
    escaped = json.dumps(notice(UPDATE)).replace("/", "\\/")
    spaced = json.dumps(notice(UPDATE), indent=None, separators=(" , ", " : ")) + "\r"
    messages, heard = await received(swapped, escaped, spaced)
    assert (messages, heard.all) == ([], 3 * [("update", READ)])


async def test_a_request_carries_its_id_to_its_handler():
    with_meta = {"id": "abc", "method": "m", "params": {"a": 1, "_meta": {"b": 2}}}
    without = {"id": 7, "method": "m"}
    odd = {"id": 8, "method": "m", "params": [1, 2]}
    messages, _ = await received(with_meta, without, odd)
    assert [message["params"] for message in messages] == [
        {"a": 1, "_meta": {"b": 2, REQUEST_ID: "abc"}},
        {"_meta": {REQUEST_ID: "7"}},
        {"_meta": {REQUEST_ID: "8"}},
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"{",
        b"[]",
        b"null",
        b"42",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"jsonrpc": "2.0"}',
        b'{"id": 987654, "result": {}}',
        b'{"id": "nobody", "error": {"code": -1, "message": "nobody asked"}}',
        b'{"id": {"a": 1}, "result": {}}',
        b'{"id": 1.5, "result": {}}',
        b'{"method": 42, "params": {}}',
        b'{"method": "_auth/status_update", "params": {}}',
        json.dumps(notice({"sessionUpdate": "from-the-future"})).encode(),
        json.dumps(notice({"sessionUpdate": 42})).encode(),
        json.dumps(notice({})).encode(),
        json.dumps(notice({"sessionUpdate": "agent_message_chunk"})).encode(),
        b'{"method": "session/update"}',
        b'{"method": "session/update", "params": 5}',
    ],
)
async def test_a_line_that_means_nothing_is_kept_as_an_oddity_and_hides_no_other(line: bytes):
    messages, heard = await received(line, notice(UPDATE))
    [(kind, words), after] = heard.all
    expected = "unknown update" if b'"session/update"' in line else "oddity"
    assert (messages, kind, after) == ([], expected, ("update", READ))
    assert line[:20].decode(errors="replace") in words
    assert len(words) < 500


async def test_empty_lines_are_nothing():
    assert (await received(b"", b"  \r"))[1].all == []


async def test_a_line_over_the_limit_is_told():
    messages, heard = await received(LineTooLong(10, 11), notice(UPDATE))
    assert messages == []
    assert heard.all[0][0] == "lost line"
    assert "10 bytes" in heard.all[0][1]
    assert heard.all[1] == ("update", READ)


async def test_a_withdrawn_request_is_named_by_its_id():
    lines = [
        {"method": "$/cancel_request", "params": params} for params in ({"requestId": 4}, {"requestId": "x"}, None)
    ]
    assert (await received(*lines))[1].all == [("withdrawal", "4"), ("withdrawal", "x"), ("withdrawal", "None")]


async def test_a_response_is_taken_once_and_only_to_a_request_that_was_made():
    pipes, heard = FakePipes(), Heard()
    transport = AgentTransport(cast("OwnedProcess", pipes), heard)
    await transport.send({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {}})
    for line in (b'{"id": 4, "result": {}}', b'{"id": 3, "result": {"a": 1}}', b'{"id": 3, "result": {"a": 2}}', None):
        pipes.print(line)
    assert await transport.receive() == {"id": 3, "result": {"a": 1}}
    assert await transport.receive() is None
    assert [kind for kind, _ in heard.all] == ["oddity", "oddity"]


@pytest.mark.parametrize("told", ["boom", 5, [1], {"code": "x", "message": 7}, {"data": "only"}])
async def test_an_error_of_any_shape_is_an_error_with_words(told: Any):
    pipes = FakePipes()
    transport = AgentTransport(cast("OwnedProcess", pipes), Heard())
    await transport.send({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {}})
    pipes.print({"id": 3, "error": told})
    message = await transport.receive()
    assert message is not None
    error = message["error"]
    assert (type(error["code"]), type(error["message"])) == (int, str)


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ({"result": {"a": 1}, "error": None}, {"result": {"a": 1}}),
        ({"result": None, "error": {"code": 5, "message": "no"}}, {"error": {"code": 5, "message": "no"}}),
        ({"error": None}, {"result": None}),
        ({}, {"result": None}),
    ],
)
async def test_a_response_with_a_result_and_an_error_is_an_error(line: dict[str, Any], outcome: dict[str, Any]):
    pipes = FakePipes()
    transport = AgentTransport(cast("OwnedProcess", pipes), Heard())
    await transport.send({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {}})
    pipes.print({"id": 3, **line})
    assert await transport.receive() == {"id": 3, **outcome}


async def test_a_request_and_its_response_may_not_be_one_line():
    """A line with a method and the id of a request of ours would leave the request waiting for ever."""
    pipes, heard = FakePipes(), Heard()
    transport = AgentTransport(cast("OwnedProcess", pipes), heard)
    await transport.send({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {}})
    for line in ({"id": 3, "method": 42}, {"id": 3, "result": {}}, None):
        pipes.print(line)
    assert await transport.receive() == {"id": 3, "result": {}}


class BrokenPipes(FakePipes):
    def __init__(self, fault: Exception) -> None:
        super().__init__()
        self.fault = fault

    async def write(self, data: bytes) -> None:
        raise self.fault


@pytest.mark.parametrize("fault", [StdinClosed("gone"), StdinStuck("the child has not read its input for 30 s")])
async def test_an_agent_that_takes_nothing_is_no_connection(fault: Exception):
    transport = AgentTransport(cast("OwnedProcess", BrokenPipes(fault)), Heard())
    with pytest.raises(ConnectionError, match=str(fault)):
        await transport.send({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {}})


async def test_an_answer_that_the_agent_no_longer_takes_disturbs_nobody():
    transport = AgentTransport(cast("OwnedProcess", BrokenPipes(StdinClosed("gone"))), Heard())
    async with asyncio.timeout(5):
        await transport.send({"jsonrpc": "2.0", "id": 3, "result": {}})
