"""A call to the daemon survives a connection that breaks, and is not carried out twice for that."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairlead.cli import tool_calls
from fairlead.cli.tool_calls import CapabilityMissing, ToolCalls, read_capability
from fairlead.runtimes.tool_wire import GRANT_VARIABLE, CallReply, CallTool, Grant

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_call_is_sent_again_under_the_same_id_after_the_connection_broke(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    heard: list[CallTool] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(msgspec.json.decode(await reader.readline(), type=CallTool))
        if len(heard) > 1:
            writer.write(msgspec.json.encode(CallReply(text="done")) + b"\n")
            await writer.drain()
        writer.close()

    monkeypatch.chdir(tmp_path)  # a short path for the socket
    async with await asyncio.start_unix_server(serve, "s"):
        calls = ToolCalls(Grant("s", "token"))
        reply = await calls.call("send_message", {"text": "x"})
        calls.close()
    assert reply == CallReply(text="done")
    assert heard[0] == heard[1]


async def test_where_no_daemon_listens_the_agent_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tool_calls, "PATIENCE_SEC", 0.0)
    reply = await ToolCalls(Grant(str(tmp_path / "none"), "token")).call("send_message", {})
    assert not reply.ok
    assert "not running" in reply.text


@pytest.mark.parametrize("content", [None, b"no json"])
def test_without_a_file_there_is_no_capability(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: Any):
    if content is not None:
        (tmp_path / "grant").write_bytes(content)
    monkeypatch.setenv(GRANT_VARIABLE, str(tmp_path / "grant"))
    with pytest.raises(CapabilityMissing):
        read_capability()
