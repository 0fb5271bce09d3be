"""Orders that call Fairlead's own tools, with the capability that the agent was started with."""

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .turn import Turn


def call_own_tool(turn: "Turn", rest: str) -> None:
    """`own: send_message {"text": "hello"}`: the reply is said."""
    tool, _, arguments = rest.partition(" ")
    turn.say(asyncio.run(_call(tool, arguments)))


async def _call(tool: str, arguments: str) -> str:
    # An agent that starts bare, to start quickly, has no such module; it cannot follow this order.
    from fairlead.cli.tool_calls import CapabilityMissing, ToolCalls, read_capability

    try:
        calls = ToolCalls(read_capability())
    except CapabilityMissing:
        return "No capability."
    reply = await calls.call(tool, json.loads(arguments))
    calls.close()
    return f"Own tool: {reply.text}"


WITH_REST = {"own": call_own_tool}
ALONE: dict[str, Callable[["Turn"], None]] = {}
