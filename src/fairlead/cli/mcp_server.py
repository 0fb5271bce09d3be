"""Fairlead's tools as an MCP server on the official SDK. Only `fairlead mcp` imports this module: the SDK takes a
second."""

import asyncio
import os
from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from fairlead import __version__
from fairlead.cli.tool_calls import CapabilityMissing, ToolCalls, read_capability
from fairlead.core.agent_tools import ARGUMENTS
from fairlead.runtimes.tool_wire import NAMES_VARIABLE

__all__ = ["CapabilityMissing", "make_server", "run_server", "tool_schema"]

INSTRUCTIONS: Final = (
    "Tools to reach the person you work for, who reads you in a chat. Your final answer is sent to them anyway."
)


def run_server() -> None:
    """Until the agent closes its end. Raises CapabilityMissing."""
    calls = ToolCalls(read_capability())
    asyncio.run(_serve(make_server(calls)))


async def _serve(server: Server[Any]) -> None:
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def make_server(calls: ToolCalls) -> Server[Any]:
    shown_as = dict(pair.split("=", 1) for pair in os.environ.get(NAMES_VARIABLE, "").split(",") if "=" in pair)
    called = {shown: name for name, shown in shown_as.items()}

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        names = [name for name in await calls.list_tools() if name in ARGUMENTS]
        return types.ListToolsResult(tools=[_describe(name, shown_as.get(name, name)) for name in names])

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        reply = await calls.call(called.get(params.name, params.name), dict(params.arguments or {}))
        return types.CallToolResult(content=[types.TextContent(type="text", text=reply.text)], is_error=not reply.ok)

    return Server(
        "fairlead",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _describe(name: str, shown_as: str) -> types.Tool:
    words = " ".join((ARGUMENTS[name].__doc__ or "").split())
    # These only talk to the person: what they send, the agent could as well say in its answer.
    is_talk = name in {"send_message", "send_file", "ask_user", "set_title"}
    harmless = types.ToolAnnotations(read_only_hint=is_talk, destructive_hint=False, open_world_hint=False)
    return types.Tool(name=shown_as, description=words, input_schema=dict(tool_schema(name)), annotations=harmless)


def tool_schema(name: str) -> Mapping[str, Any]:
    """The JSON schema of a tool's arguments, without references."""
    kind = ARGUMENTS[name]
    whole = msgspec.json.schema(kind)
    return {key: value for key, value in whole["$defs"][kind.__name__].items() if key not in {"title", "description"}}
