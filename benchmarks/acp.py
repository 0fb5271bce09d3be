"""Rows about agents that speak the Agent Client Protocol: a prompt's way in, an update's way out, a whole turn.

The floors of the last two are the official SDK alone: its own client, with the same agent or the same lines.
"""

import asyncio
import itertools
import os
import statistics
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import acp
from acp.client.connection import ClientSideConnection
from acp.schema import ClientCapabilities

from benchmarks.acp_agent import BenchAgent, write_updates
from benchmarks.agents import daemon_with, make_invocation, submit_message, until_at_rest
from benchmarks.journal import BY_A_THREAD, append_durably, open_journal
from benchmarks.rows import Row, at_most, forget_earlier_rows
from fairlead.core.engine import EngineEvent, ResumeKeyFound, TextDelta, TurnEnded
from fairlead.kit.files import make_private_directory
from fairlead.kit.processes import OwnedProcess
from fairlead.runtimes.acp import wire
from fairlead.runtimes.acp.known_agents import AcpAgent
from fairlead.runtimes.acp.runtime import AcpRuntime, AcpSettings
from fairlead.runtimes.acp.translate import UpdateTranslator
from fairlead.runtimes.acp.transport import AgentTransport

PROMPTS: Final = 60
STREAMED: Final = 42_000
REPEATS: Final = 5
TURNS: Final = 100
_ENVIRONMENT: Final = {"PATH": "/usr/bin:/bin"}
_LINE_LIMIT: Final = 2**24


async def acp_rows(directory: Path) -> list[Row]:
    return [
        await prompt_row(directory / "prompt"),
        await update_row(directory / "updates"),
        await turn_row(directory / "turn"),
    ]


# --- the way in ------------------------------------------------------------------------------------------------------


async def prompt_row(home: Path) -> Row:
    """From the moment a message is acknowledged to the agent's own clock when it has read the prompt. The durable
    appends of the floor are made between the messages, so that the disk of the moment meets both."""
    agent = BenchAgent(home)
    ours: list[float] = []
    floor: list[float] = []
    numbers = itertools.count(1)
    make_private_directory(home / "floor")
    async with (
        daemon_with(home, {"agent_command": (str(agent.program),)}) as daemon,
        open_journal(home / "floor", slow_sec=BY_A_THREAD) as journal,
    ):
        for number in range(PROMPTS + 1):
            accepted = await submit_message(daemon, number, "acp")
            await until_at_rest(daemon)
            ours.append(agent.last_prompt_at() - accepted)
            began = time.perf_counter()
            await append_durably(journal, numbers)
            floor.append(time.perf_counter() - began)
    del ours[0]  # the first prompt starts the agent
    return at_most(
        "prompt accepted → session/prompt read, warm agent",
        statistics.median(ours) * 1e6,
        statistics.median(floor) * 1e6,
        floor_name="one durable append, by a thread",
        unit="µs",
        factor=2,
    )


# --- the way out -----------------------------------------------------------------------------------------------------


async def update_row(home: Path) -> Row:
    """Both read the same lines from the same kind of pipe, to the last one."""
    make_private_directory(home)
    path = home / "updates.jsonl"
    write_updates(path, STREAMED)
    forget_earlier_rows()
    taken = [(await _translate(path), await _read_with_sdk(path)) for _ in range(REPEATS)]
    return at_most(
        "update on stdout → engine event",
        min(ours for ours, _ in taken) / STREAMED * 1e6,
        min(sdk for _, sdk in taken) / STREAMED * 1e6,
        floor_name="the SDK alone",
        unit="µs",
        factor=1.2,
    )


class _Translating:
    """The listener of a process in a turn, without the process: what is heard becomes engine events."""

    def __init__(self) -> None:
        self._translator = UpdateTranslator()
        self.events: list[EngineEvent] = []
        self.updates = 0

    def hear_update(self, update: wire.Update, session_id: str) -> None:  # noqa: ARG002 - the listener's shape
        self.updates += 1
        self.events += self._translator.translate(update)

    def hear_withdrawal(self, request_id: str) -> None:
        raise AssertionError(request_id)

    def hear_unknown_update(self, words: str) -> None:
        raise AssertionError(words)

    def hear_oddity(self, words: str) -> None:
        raise AssertionError(words)

    def hear_lost_line(self, words: str) -> None:
        raise AssertionError(words)


async def _translate(path: Path) -> float:
    listener = _Translating()
    mark = f"bench{os.getpid()}:updates"
    async with OwnedProcess.spawn(("cat", str(path)), cwd=path.parent, env=_ENVIRONMENT, mark=mark) as process:
        began = time.perf_counter()
        assert await AgentTransport(process, listener).receive() is None
        taken = time.perf_counter() - began
    assert listener.updates == STREAMED
    return taken


class _SdkClient:
    """The least that the SDK asks of a client. `until_heard` returns after so many updates."""

    def __init__(self) -> None:
        self._left = 0
        self._has_heard = asyncio.Event()

    async def until_heard(self, updates: int) -> None:
        self._left = updates
        await self._has_heard.wait()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:  # noqa: ARG002 - the SDK's shape
        self._left -= 1
        if self._left == 0:
            self._has_heard.set()

    async def request_permission(self, **_: Any) -> Any:
        raise acp.RequestError.method_not_found("session/request_permission")

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - the SDK's shape
        raise acp.RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        pass


@asynccontextmanager
async def _sdk_connection(client: _SdkClient, *argv: str) -> AsyncGenerator[ClientSideConnection]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, env=_ENVIRONMENT, limit=_LINE_LIMIT)
    connection = acp.connect_to_agent(client, process.stdin, process.stdout)  # pyright: ignore[reportArgumentType]
    try:
        yield connection
    finally:
        await connection.close()
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _read_with_sdk(path: Path) -> float:
    client = _SdkClient()
    async with _sdk_connection(client, "cat", str(path)):
        began = time.perf_counter()
        await client.until_heard(STREAMED)
        return time.perf_counter() - began


# --- a whole turn ----------------------------------------------------------------------------------------------------


async def turn_row(home: Path) -> Row:
    """A turn of a warm agent: the prompt, forty updates, the response."""
    agent = BenchAgent(home)
    runtime = AcpRuntime(
        AcpAgent(name="bench", command=(str(agent.program),)),
        settings=AcpSettings(),
        environment=_ENVIRONMENT,
        job_logs=lambda _: _NoLog(),
    )
    ours: list[float] = []
    floor: list[float] = []
    try:
        async with _sdk_connection(_SdkClient(), str(agent.program)) as connection:
            await connection.initialize(protocol_version=acp.PROTOCOL_VERSION, client_capabilities=ClientCapabilities())
            session = await connection.new_session(cwd=str(home))
            await _our_turn(runtime, home, 0)
            for number in range(1, TURNS + 1):
                ours.append(await _our_turn(runtime, home, number))
                began = time.perf_counter()
                await connection.prompt(session_id=session.session_id, prompt=[acp.text_block("hello")])
                floor.append(time.perf_counter() - began)
    finally:
        await runtime.aclose()
    return at_most(
        "a whole turn of an ACP agent",
        statistics.median(ours) * 1e3,
        statistics.median(floor) * 1e3,
        floor_name="the SDK's own client",
        unit="ms",
        factor=1.3,
    )


class _NoLog:
    def write(self, stream: str, data: bytes) -> None:
        pass

    def close(self) -> None:
        pass


async def _our_turn(runtime: AcpRuntime, home: Path, number: int) -> float:
    resume = "bench" if number else None
    began, heard = time.perf_counter(), 0
    async with aclosing(runtime.invoke(make_invocation(home, number, resume=resume))) as events:
        async for event in events:
            heard += isinstance(event, TextDelta)
            if isinstance(event, TurnEnded):
                assert heard, "the agent said nothing"
                return time.perf_counter() - began
            assert not isinstance(event, ResumeKeyFound) or event.key == "bench"
    raise RuntimeError("the agent did not answer")
