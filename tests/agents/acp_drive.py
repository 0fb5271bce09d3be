"""Runs a real ACP agent by hand with the SDK's own client and keeps both directions of the wire. Judges nothing."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import acp
import msgspec
from acp.client.connection import ClientSideConnection
from acp.connection import StreamDirection, StreamEvent
from acp.schema import (
    ClientCapabilities,
    Implementation,
    PermissionOption,
)

from .acp_program import AcpProgram

Body = dict[str, Any]
PATIENCE = 90  # seconds: a test that waits longer has failed
LINE_LIMIT = 64 * 1024 * 1024


class Line(msgspec.Struct, frozen=True):
    """One message on the wire: `>` to the agent, `<` from it."""

    seconds: float
    direction: Literal[">", "<"]
    message: Body


class Person:
    """The SDK's client: answers permissions and forms as the test says, and denies what nobody foresaw."""

    def __init__(self) -> None:
        self.choose: Callable[[list[PermissionOption]], str | None] = lambda _: None
        self.fill: Callable[[Body], Body] = lambda _: {"action": "cancel"}
        self.gate: asyncio.Event | None = None  # holds every permission until it is set
        self.adds: Body = {}  # stands beside the outcome: qwen takes the answers to its questions there

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        if self.gate is not None:
            await self.gate.wait()
        chosen = self.choose(options)
        outcome = {"outcome": "cancelled"} if chosen is None else {"outcome": "selected", "optionId": chosen}
        return {"outcome": outcome, **self.adds}

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """The wire is read instead: it also has what the SDK does not know."""

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        asked = mode.model_dump(mode="json", by_alias=True, exclude_none=True)
        return self.fill({"message": message, **asked})

    async def complete_elicitation(self, elicitation_id: str, **_: Any) -> None:
        pass

    async def ext_method(self, method: str, params: Body) -> Body:
        raise acp.RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: Body) -> None:
        pass


class AcpAgent:
    """One running agent: the SDK's connection to it, and every line that passed."""

    def __init__(self, program: AcpProgram, process: asyncio.subprocess.Process) -> None:
        self.program = program
        self.process = process
        self.person = Person()
        self.lines: list[Line] = []
        self._began = time.monotonic()
        self._changed = asyncio.Event()
        self.connection: ClientSideConnection = acp.connect_to_agent(
            self.person, process.stdin, process.stdout, observers=[self._keep], use_unstable_protocol=True
        )

    def _keep(self, event: StreamEvent) -> None:
        direction = ">" if event.direction is StreamDirection.OUTGOING else "<"
        self.lines.append(Line(round(time.monotonic() - self._began, 3), direction, event.message))
        self._changed.set()

    async def kill(self) -> None:
        """SIGKILL for the whole group: qwen and copilot run behind a launcher, which is the process that we know."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits until a line made this true."""
        async with asyncio.timeout(PATIENCE):
            while not holds():
                self._changed.clear()
                await self._changed.wait()

    async def initialize(self, *, forms: bool = False, capabilities: Body | None = None) -> Body:
        """`forms`: this client can show forms, so the agent may ask questions with them."""
        able = capabilities or {}
        if forms:
            able = able | {"elicitation": {"form": {}}}
        await self.connection.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities.model_validate(able),
            client_info=Implementation(name="by-hand", title="By hand", version="1"),
        )
        return self.result_of("initialize")

    async def new(self) -> str:
        made = await self.connection.new_session(cwd=str(self.program.project))
        return made.session_id

    async def begin(self, *, forms: bool = False) -> str:
        """A new session of an agent that was told who we are."""
        await self.initialize(forms=forms)
        return await self.new()

    async def say(self, session: str, *content: str | Body) -> "Turn":
        blocks = [acp.text_block(one) if isinstance(one, str) else one for one in content]
        began = len(self.lines)
        async with asyncio.timeout(PATIENCE):
            await self.connection.prompt(session_id=session, prompt=blocks)
        return Turn(self, began)

    async def ask(self, method: str, **params: Any) -> Any:
        """A request that the SDK has no method for."""
        async with asyncio.timeout(PATIENCE):
            return await self.connection._conn.send_request(method, params)

    def result_of(self, method: str) -> Any:
        """What the agent answered to our latest request of this name, as it stood on the wire."""
        return self._answers(method)[-1]["result"]

    def error_of(self, method: str) -> Body:
        return self._answers(method)[-1]["error"]

    def _answers(self, method: str) -> list[Body]:
        ids = [line.message["id"] for line in self.lines if line.direction == ">" and _is_request(line, method)]
        incoming = [line.message for line in self.lines if line.direction == "<" and "method" not in line.message]
        return [message for message in incoming if message.get("id") in ids]

    def updates(self, kind: str | None = None, *, since: int = 0) -> list[Body]:
        found = (line.message["params"]["update"] for line in self.incoming("session/update", since=since))
        return [update for update in found if kind is None or update["sessionUpdate"] == kind]

    def incoming(self, method: str, *, since: int = 0) -> Iterator[Line]:
        lines = (line for line in self.lines[since:] if line.direction == "<")
        return (line for line in lines if line.message.get("method") == method)

    def permissions(self, *, since: int = 0) -> list[Body]:
        return [line.message["params"] for line in self.incoming("session/request_permission", since=since)]


def _is_request(line: Line, method: str) -> bool:
    return line.message.get("method") == method and "id" in line.message


class Turn:
    """One prompt of ours and what came until its response."""

    def __init__(self, agent: AcpAgent, began: int) -> None:
        self.response: Body = agent.result_of("session/prompt")
        self.stop_reason: str = self.response["stopReason"]
        self.updates = agent.updates(since=began)
        self.permissions = agent.permissions(since=began)

    @property
    def text(self) -> str:
        return text_of(self.updates)

    @property
    def kinds(self) -> list[str]:
        return [update["sessionUpdate"] for update in self.updates]


def text_of(updates: list[Body], kind: str = "agent_message_chunk") -> str:
    chunks = (update["content"] for update in updates if update["sessionUpdate"] == kind)
    return "".join(chunk.get("text", "") for chunk in chunks)


@contextlib.asynccontextmanager
async def started(program: AcpProgram) -> AsyncIterator[AcpAgent]:
    """The agent in a process group of its own, which ends with the test."""
    pipe = asyncio.subprocess.PIPE
    with (program.home / "stderr.txt").open("ab") as stderr:
        process = await asyncio.create_subprocess_exec(
            *program.argv,
            cwd=program.project,
            env=program.env,
            stdin=pipe,
            stdout=pipe,
            stderr=stderr,
            limit=LINE_LIMIT,
            start_new_session=True,
        )
    agent = AcpAgent(program, process)
    try:
        yield agent
    finally:
        await agent.connection.close()
        await end(process)


async def end(process: asyncio.subprocess.Process) -> None:
    """Closes stdin, as a client that leaves politely, and kills the group if the agent stays."""
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), 5)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def write_transcript(agent: AcpAgent, path: Path) -> None:
    """Both directions, one line a message, as the transcripts of the other agents are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"t": line.seconds, "dir": line.direction, "msg": line.message} for line in agent.lines]
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
