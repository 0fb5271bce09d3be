"""The row about agents that reach back: from a call in the agent's tool server to the message at a person's client."""

import asyncio
import itertools
import statistics
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from benchmarks.journal import append_durably, open_journal
from benchmarks.rows import Row, at_most
from fairlead.api import Client
from fairlead.api.wire import Done, Failed, SentInfo, StreamEvent
from fairlead.app import run_daemon
from fairlead.core.ids import SessionKeyText
from fairlead.kit.files import make_private_directory
from fairlead.kit.processes import OwnedProcess
from fairlead.runtimes.tool_server import ToolServer
from fairlead.settings import load_settings

TIMES: Final = 40
_MARK: Final = "bench:tools"
_CALLER: Final = """
import asyncio, sys, time
from fairlead.cli.tool_calls import ToolCalls, read_capability
async def main():
    calls = ToolCalls(read_capability())
    await calls.list_tools()
    print("ready", flush=True)
    for line in sys.stdin:
        began = time.perf_counter()
        await calls.call("send_message", {"text": line.strip()})
        print(began, flush=True)
asyncio.run(main())
"""


async def tool_call_row(home: Path) -> Row:
    """Both processes read the same clock. The floor is one durable append in the same loop, between the calls."""
    make_private_directory(home)
    make_private_directory(home / "floor")
    make_private_directory(home / "tools")
    (home / "project").mkdir()
    settings = load_settings(STATE_DIR=str(home / "state"), LOG_DIR=str(home / "logs"), DISCORD_TOKEN="").replace(
        http_port=0, projects=(str(home / "project"),), agent_calls_per_minute=10_000, agent_tools=("send_message",)
    )
    measured: list[float] = []
    floor: list[float] = []
    numbers = itertools.count(1)
    async with open_journal(home / "floor") as journal, run_daemon(settings) as daemon:
        tools = ToolServer(home / "tools")
        tools.prepare()
        serving = asyncio.create_task(tools.run(daemon.flow.agent_calls))
        async with Client(daemon.http_url, daemon.token) as client:
            key = await _begin_session(client)
            heard = aiter(client.session_events("bench"))
            await anext(heard)
            grant = tools.grant(_MARK, str(home / "project"))
            assert grant is not None
            grant.bind(key, 0)
            argv = (sys.executable, "-c", _CALLER)
            async with OwnedProcess.spawn(
                argv, cwd=home, env={"PATH": "/usr/bin:/bin", **grant.env}, mark=_MARK
            ) as agent:
                said = aiter(agent.lines())
                await anext(said)
                for number in range(TIMES):
                    await agent.write(b"message %d\n" % number)
                    arrived = await _hear_sent(heard)
                    measured.append(arrived - float(await anext(said)))
                    began = time.perf_counter()
                    await append_durably(journal, numbers)
                    floor.append(time.perf_counter() - began)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
    return at_most(
        "tool call of an agent → message on the wire",
        statistics.median(measured) * 1e3,
        statistics.median(floor) * 1e3,
        floor_name="one durable append",
        unit="ms",
        factor=3,
    )


async def _begin_session(client: Client) -> SessionKeyText:
    accepted = await client.submit("bench", "hello", tool="echo")
    async for event in client.events(accepted.job_id):
        if isinstance(event, Done | Failed):
            break
    return SessionKeyText(accepted.session_key)


async def _hear_sent(heard: AsyncIterator[StreamEvent | None]) -> float:
    while not isinstance(await anext(heard), SentInfo):
        pass
    return time.perf_counter()
