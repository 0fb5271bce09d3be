"""`fairlead mcp` as an agent starts it, spoken to by the official client: list, call, and a capability that is gone."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.cli.mcp_server import tool_schema
from fairlead.core.agent_tools import TOOL_NAMES
from fairlead.runtimes.tool_server import COMMAND
from tests.runtimes.test_tool_server import ONE, Handler, agent, first_line, grant_to, serving

_CLIENT = f"""
import asyncio, json, os
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
async def main():
    own = StdioServerParameters(command={COMMAND[0]!r}, args={list(COMMAND[1:])!r}, env=dict(os.environ))
    async with stdio_client(own) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        listed = await session.list_tools()
        called = await session.call_tool("send_message", {{"text": "hello"}})
        print(json.dumps([[tool.name for tool in listed.tools], called.content[0].text, called.is_error]), flush=True)
asyncio.run(main())
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_the_official_client_lists_and_calls(tmp_path: Path):
    handler = Handler()
    async with serving(tmp_path, handler) as server:
        grant = grant_to(server, ONE)
        async with agent(grant, tmp_path, ONE, sys.executable, "-c", _CLIENT) as process:
            said = await first_line(process)
            assert said, process.stderr_tail.decode()
            assert json.loads(said) == [["send_message"], "s1: hello", False]
    assert len(handler.calls) == 1


@pytest.mark.anyio
async def test_without_a_capability_it_says_so_and_ends(tmp_path: Path):
    done = await asyncio.to_thread(
        subprocess.run, COMMAND, env={"PATH": "/usr/bin:/bin"}, cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"names no capability of a running agent" in done.stderr


@pytest.mark.parametrize("name", TOOL_NAMES)
def test_a_tools_arguments_are_one_plain_object(name: str):
    schema = tool_schema(name)
    assert schema["type"] == "object"
    assert "$ref" not in json.dumps(schema)
    assert set(schema["required"]) <= set(schema["properties"])
