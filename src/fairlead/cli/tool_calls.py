"""The calls of an agent's tool server to the daemon, over the daemon's socket. Knows nothing of MCP."""

import asyncio
import os
import uuid
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlead.runtimes.tool_wire import GRANT_VARIABLE, MAX_LINE, Asked, CallReply, CallTool, Grant, ListTools

PATIENCE_SEC: Final = 10.0
_PAUSE_SEC: Final = 0.1


class CapabilityMissing(Exception):  # noqa: N818 - says what is wrong
    """This process was not started by an agent of Fairlead's, or that agent has ended."""


def read_capability() -> Grant:
    name = os.environ.get(GRANT_VARIABLE, "")
    try:
        return msgspec.json.decode(Path(name).read_bytes(), type=Grant)
    except (OSError, msgspec.DecodeError) as fault:
        raise CapabilityMissing(
            f"{GRANT_VARIABLE} names no capability of a running agent. Only agents that Fairlead starts have one."
        ) from fault


class ToolCalls:
    """One connection, made when it is needed. A call that was interrupted is sent again under the same id, so that it
    is carried out once."""

    def __init__(self, grant: Grant) -> None:
        self._grant = grant
        self._lock = asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def list_tools(self) -> tuple[str, ...]:
        return (await self._ask(ListTools(self._grant.token))).tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> CallReply:
        call_id = uuid.uuid4().hex
        return await self._ask(CallTool(self._grant.token, call_id, tool, arguments))

    async def _ask(self, asked: Asked) -> CallReply:
        deadline = asyncio.get_running_loop().time() + PATIENCE_SEC
        async with self._lock:
            while True:
                try:
                    return await self._exchange(asked)
                except (OSError, EOFError):
                    self.close()
                    if asyncio.get_running_loop().time() > deadline:
                        return CallReply(ok=False, text="Fairlead is not running, so nothing was done.")
                    await asyncio.sleep(_PAUSE_SEC)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _exchange(self, asked: Asked) -> CallReply:
        if self._streams is None:
            self._streams = await asyncio.open_unix_connection(self._grant.socket, limit=MAX_LINE)
        reader, writer = self._streams
        writer.write(msgspec.json.encode(asked) + b"\n")
        await writer.drain()
        line = await reader.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        return msgspec.json.decode(line, type=CallReply)
