"""Who may call Fairlead's own tools: the process that the capability was made for, while it lives, and nobody else."""

import asyncio
import contextlib
import errno
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairlead.core.agent_tools import ToolHolder
from fairlead.kit.processes import OwnedProcess
from fairlead.kit.tasks import TaskOwner
from fairlead.ports import ToolReply
from fairlead.runtimes.tool_server import COMMAND, DIRECTORY_NAME, ToolGrant, ToolServer
from fairlead.runtimes.tool_wire import REFUSED, CallReply, CallTool, Grant, ListTools

pytestmark = pytest.mark.anyio

PATIENCE_SEC = 60
# A process is found and ended by its mark: no other test that runs meanwhile may have the same.
ONE, TWO = f"t-{os.getpid()}:1", f"t-{os.getpid()}:2"

_CALLER = """
import asyncio, sys
from fairlead.cli.tool_calls import ToolCalls, read_capability
async def main():
    calls = ToolCalls(read_capability())
    print(await calls.list_tools(), flush=True)
    for line in sys.stdin:
        print((await calls.call("send_message", {"text": line.strip()})).text, flush=True)
asyncio.run(main())
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Handler:
    """Says who called with which words."""

    def __init__(self) -> None:
        self.calls: list[tuple[ToolHolder, str, str, dict[str, Any]]] = []

    def tools_of(self, holder: ToolHolder) -> tuple[str, ...]:
        return ("send_message",) if holder.session_key else ()

    async def call(self, holder: ToolHolder, *, call_id: str, tool: str, arguments: dict[str, Any]) -> ToolReply:
        self.calls.append((holder, call_id, tool, arguments))
        if arguments.get("text") == "crash":
            raise RuntimeError
        return ToolReply(f"{holder.session_key}: {arguments.get('text')}")


@asynccontextmanager
async def serving(state_dir: Path, handler: Handler | None = None, **more: Any) -> AsyncIterator[ToolServer]:
    server = ToolServer(state_dir, **more)
    server.prepare()
    async with TaskOwner("server") as owner:
        owner.start(server.run(handler or Handler()), name="server")
        async with asyncio.timeout(PATIENCE_SEC):
            while not server._socket.exists():
                await asyncio.sleep(0.01)
        yield server
        owner.cancel()


def grant_to(server: ToolServer, mark: str, session_key: str = "s1") -> ToolGrant:
    grant = server.grant(mark, "/srv/api")
    assert grant is not None
    grant.bind(session_key, 3)  # type: ignore[arg-type]
    return grant


def agent(grant: ToolGrant, tmp_path: Path, mark: str, *argv: str) -> Any:
    """A process that Fairlead starts for an agent; what it runs may use another process's capability."""
    command = argv or (sys.executable, "-c", _CALLER)
    return OwnedProcess.spawn(command, cwd=tmp_path, env={"PATH": "/usr/bin:/bin", **grant.env}, mark=mark)


async def first_line(process: OwnedProcess) -> str:
    async with asyncio.timeout(PATIENCE_SEC):
        async for line in process.lines():
            return line.decode().strip()
    return ""


@pytest.mark.req("B14")
async def test_an_agent_calls_for_its_own_session(tmp_path: Path):
    handler = Handler()
    async with serving(tmp_path, handler) as server:
        grant = grant_to(server, ONE)
        async with agent(grant, tmp_path, ONE) as process:
            assert await first_line(process) == "('send_message',)"
            await process.write(b"hello\n")
            assert await first_line(process) == "s1: hello"
    [(holder, call_id, tool, arguments)] = handler.calls
    assert holder == ToolHolder(mark=ONE, project_path="/srv/api", session_key="s1", generation=3)  # type: ignore[arg-type]
    assert (len(call_id), tool, arguments) == (32, "send_message", {"text": "hello"})


async def test_another_agents_process_cannot_use_a_capability_that_it_has_read(tmp_path: Path):
    """Agents of one account can read each other's files, and can give their own children any mark."""
    handler = Handler()
    async with serving(tmp_path, handler) as server:
        grant = grant_to(server, ONE)
        async with agent(grant, tmp_path, ONE), agent(grant, tmp_path, TWO) as thief:
            assert await first_line(thief) == "()"
            await thief.write(b"hello\n")
            assert await first_line(thief) == REFUSED
        forged = (sys.executable, "-c", f"import os; os.environ['FAIRLEAD_RUN'] = 't:1'\n{_CALLER}")
        async with agent(grant, tmp_path, ONE), agent(grant, tmp_path, TWO, *forged) as thief:
            assert await first_line(thief) == "()"
    assert not handler.calls


async def test_a_capability_ends_with_its_process(tmp_path: Path):
    handler = Handler()
    async with serving(tmp_path, handler) as server:
        grant = grant_to(server, ONE)
        async with agent(grant, tmp_path, ONE) as process:
            await first_line(process)
            grant.revoke()
            await process.write(b"late\n")
            assert await first_line(process) == REFUSED
        assert not grant.path.exists()
    assert not handler.calls


async def ask(server: ToolServer, *lines: bytes) -> list[CallReply]:
    reader, writer = await asyncio.open_unix_connection(server._socket)
    replies: list[CallReply] = []
    async with asyncio.timeout(PATIENCE_SEC):
        with contextlib.suppress(ConnectionError):  # it was closed after the first of them
            for line in lines:
                writer.write(line + b"\n")
                if said := await reader.readline():
                    replies.append(msgspec.json.decode(said, type=CallReply))
    writer.close()
    return replies


async def test_a_wrong_token_is_refused_and_the_connection_closed(tmp_path: Path):
    async with serving(tmp_path) as server:
        grant_to(server, ONE)
        wrong = msgspec.json.encode(ListTools("guess"))
        assert await ask(server, wrong, wrong) == [CallReply(ok=False, text=REFUSED)]
        assert await ask(server, b"no json") == [CallReply(ok=False, text="This is no request.")]


async def test_the_right_token_from_a_process_that_is_no_agents_is_refused(tmp_path: Path):
    async with serving(tmp_path) as server:
        grant = grant_to(server, ONE)
        call = msgspec.json.encode(CallTool(grant.token, "c", "send_message", {"text": "x"}))
        assert await ask(server, call) == [CallReply(ok=False, text=REFUSED)]


async def test_after_a_restart_of_the_daemon_no_capability_is_valid(tmp_path: Path):
    async with serving(tmp_path) as server:
        grant = grant_to(server, ONE)
        async with agent(grant, tmp_path, ONE) as process:
            await first_line(process)
            async with serving(tmp_path) as restarted:
                await process.write(b"hello\n")
                assert restarted.find(grant.token, process.pid) is None
        assert not grant.path.exists()


@pytest.mark.req("B14")
async def test_the_token_lies_in_a_private_file_and_nowhere_else(tmp_path: Path):
    hidden: list[str] = []
    forgotten: list[str] = []
    async with serving(tmp_path, hide=hidden.append, forget=forgotten.append) as server:
        grant = grant_to(server, ONE)
        assert grant.token in hidden
        assert grant.path.stat().st_mode & 0o777 == 0o600
        assert (tmp_path / DIRECTORY_NAME).stat().st_mode & 0o777 == 0o700
        assert server._socket.stat().st_mode & 0o777 == 0o600
        assert msgspec.json.decode(grant.path.read_bytes(), type=Grant).token == grant.token
        assert grant.token not in json.dumps([*COMMAND, *grant.env.items()])
        assert server.paths_for(ONE) == [grant.path, server._socket]
        assert server.paths_for(TWO) == []
        grant.revoke()
        assert forgotten == [grant.token]


async def files_of(server: ToolServer, count: int) -> list[Path]:
    async with asyncio.timeout(PATIENCE_SEC):
        while len(found := sorted(server._directory.glob("*.json"))) != count:
            await asyncio.sleep(0.01)
    return found


@pytest.mark.req("B14")
async def test_a_capability_is_made_ahead_and_opens_nothing_until_it_is_an_agents(tmp_path: Path):
    hidden: list[str] = []
    forgotten: list[str] = []
    async with serving(tmp_path, hide=hidden.append, forget=forgotten.append) as server:
        [spare] = await files_of(server, 1)
        token = msgspec.json.decode(spare.read_bytes(), type=Grant).token
        assert hidden == [token]
        assert spare.stat().st_mode & 0o777 == 0o600
        assert server.find(token, os.getpid()) is None
        assert server.paths_for(ONE) == []
        grant = grant_to(server, ONE)
        assert (grant.path, grant.token) == (spare, token)
        assert len(await files_of(server, 2)) == 2  # the next one, for whoever comes next
        grant.revoke()
        assert len(await files_of(server, 1)) == 1
    assert list((tmp_path / DIRECTORY_NAME).glob("*.json")) == []
    assert sorted(forgotten) == sorted(hidden)


@pytest.mark.req("B14")
async def test_a_capability_that_could_not_be_made_leaves_nothing(tmp_path: Path):
    hidden: list[str] = []
    forgotten: list[str] = []

    def refuse(_file: Path | int) -> None:
        raise OSError(errno.EPERM, "not yours to give")

    server = ToolServer(tmp_path, hide=hidden.append, forget=forgotten.append)
    server.prepare()
    server.give = refuse
    with pytest.raises(OSError, match="not yours"):
        server.grant(ONE, str(tmp_path))
    assert list((tmp_path / DIRECTORY_NAME).glob("*.json")) == []
    assert len(hidden) == 1
    assert forgotten == hidden


async def test_two_capabilities_at_once_are_two(tmp_path: Path):
    async with serving(tmp_path) as server:
        await files_of(server, 1)
        one, two = grant_to(server, ONE), grant_to(server, TWO)
        assert one.token != two.token
        assert one.path != two.path
        assert one.path.exists()
        assert two.path.exists()


async def test_a_call_that_crashes_is_reported_and_the_next_one_works(tmp_path: Path):
    async with serving(tmp_path) as server:
        grant = grant_to(server, ONE)
        async with agent(grant, tmp_path, ONE) as process:
            await first_line(process)
            await process.write(b"crash\n")
            assert "could not carry this out" in await first_line(process)
            await process.write(b"again\n")
            assert await first_line(process) == "s1: again"


async def test_the_socket_is_not_in_the_way_of_who_copies_the_state(tmp_path: Path):
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    async with serving(deep) as server:
        assert not server._socket.is_relative_to(deep)
        assert server._socket.parent.stat().st_mode & 0o777 == 0o700
        grant = grant_to(server, ONE)
        async with agent(grant, tmp_path, ONE) as process:
            assert await first_line(process) == "('send_message',)"
    assert not server._socket.parent.exists()


async def test_a_directory_that_others_can_write_is_not_used_for_the_socket(tmp_path: Path):
    server = ToolServer(tmp_path)
    server.prepare()
    usual = server._socket.parent
    usual.chmod(0o777)
    try:
        async with serving(tmp_path) as wary:
            assert wary._socket.parent != usual
            assert wary._socket.parent.stat().st_mode & 0o777 == 0o700
    finally:
        usual.rmdir()


async def test_tools_that_are_off_give_nothing_to_anybody(tmp_path: Path):
    server = ToolServer(tmp_path, is_on=False)
    assert server.grant(ONE, "/srv/api") is None
    await server.run(Handler())
