"""The daemon's side of Fairlead's own tools: who may call, and the socket at which agents' tool servers call.

1. A capability is made for one process of an agent, and is gone when that process has ended. It names the session and
   its generation; the agent cannot choose them. After a restart of the daemon none is valid.
2. The token lies in a file that only our user can read; the agent's environment names the file. It never stands on a
   command line, and logs do not show it.
3. The token alone is not enough: agents of other sessions may run under the same account, and read what it can read.
   So the caller's process must be below the very process that the capability was made for (on Linux, where the kernel
   tells who is at the other end).
"""

import asyncio
import contextlib
import hashlib
import hmac
import os
import secrets
import socket
import stat
import struct
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from fairlead.core.agent_tools import ToolHolder
from fairlead.core.engine import Invocation
from fairlead.core.ids import SessionKeyText
from fairlead.kit.files import make_private_directory
from fairlead.kit.process_ancestry import ancestors_of, can_see_ancestors
from fairlead.kit.processes import living_with
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log, log_failure
from fairlead.ports import ToolHandler
from fairlead.runtimes.tool_wire import GRANT_VARIABLE, MAX_LINE, REFUSED, Asked, CallReply, CallTool, Grant, ListTools

DIRECTORY_NAME: Final = "agent-tools"
SOCKET_NAME: Final = "socket"
COMMAND: Final = (sys.executable, "-P", "-m", "fairlead", "mcp")
"""Without the project's directory on Python's path: a file there must not take the place of one of ours."""
PASSABLE: Final = 0o711
"""Of the directory, where agents have a user of their own: that user passes through, and can list nothing."""
SPARE_LATER_SEC: Final = 0.2
"""A spare capability is made so long after one was taken: not while an agent's process starts."""
MOST_CONNECTIONS: Final = 8
"""Of one agent. It needs one."""
_LONGEST_TEMPORARY: Final = 60
"""A socket's path has at most some hundred bytes."""
_PEER: Final = struct.Struct("3i")


class _Spare(msgspec.Struct, frozen=True):
    """A token and the file that holds it, which belong to no agent yet."""

    token: str
    path: Path


class ToolGrant:
    """The capability of one process of an agent. `env` goes into its environment."""

    def __init__(self, server: "ToolServer", token: str, path: Path, holder: ToolHolder) -> None:
        self._server = server
        self.token = token
        self.path = path
        self.holder = holder
        self.connections = 0

    @property
    def env(self) -> dict[str, str]:
        return {GRANT_VARIABLE: str(self.path)}

    def bind(self, session_key: SessionKeyText, generation: int) -> None:
        """The process belongs to this session from now on."""
        self.holder = msgspec.structs.replace(self.holder, session_key=session_key, generation=generation)

    def revoke(self) -> None:
        self._server.revoke(self)


class ToolServer:
    """`give` lets the agents' own user use a file, where they have one. `hide` and `forget` get every token when it is
    made and when it is worth nothing any more: logs show none."""

    def __init__(
        self,
        state_dir: Path,
        *,
        hide: Callable[[str], None] = lambda _: None,
        forget: Callable[[str], None] = lambda _: None,
        is_on: bool = True,
    ) -> None:
        self._directory = state_dir / DIRECTORY_NAME
        self._hide = hide
        self._forget = forget
        self.is_on = is_on
        self.give: Callable[[Path | int], None] | None = None
        self._grants: dict[str, ToolGrant] = {}
        self._spare: _Spare | None = None
        self._is_spare_wanted = asyncio.Event()
        self._socket = self._directory / SOCKET_NAME

    # --- capabilities ----------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Whatever an earlier daemon left here is worth nothing any more."""
        make_private_directory(self._directory)
        if self.give is not None:
            self._directory.chmod(PASSABLE)
        for left in self._directory.iterdir():
            left.unlink()
        if self.is_on:
            self._socket = _make_socket_directory(self._directory) / SOCKET_NAME

    def grant(self, mark: str, project_path: str) -> ToolGrant | None:
        """None where agents are offered no tools."""
        if not self.is_on:
            return None
        spare, self._spare = self._spare or self._make_spare(), None
        asyncio.get_running_loop().call_later(SPARE_LATER_SEC, self._is_spare_wanted.set)
        holder = ToolHolder(mark=mark, project_path=project_path)
        made = self._grants[spare.token] = ToolGrant(self, spare.token, spare.path, holder)
        return made

    def _make_spare(self) -> _Spare:
        spare = _Spare(secrets.token_urlsafe(32), self._directory / f"{secrets.token_hex(8)}.json")
        self._hide(spare.token)
        try:
            descriptor = os.open(spare.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.encode(Grant(str(self._socket), spare.token)))
                if self.give is not None:
                    self.give(descriptor)
        except BaseException:  # whatever it is, nothing half made stays, and it goes on
            self._remove(spare)
            raise
        return spare

    async def _keep_spare(self) -> None:
        """For ever: to make a file takes longer than all else that is done before an agent's process starts."""
        try:
            while True:
                with contextlib.suppress(OSError):  # on a full disk, the turn that needs one makes it and fails
                    self._spare = self._spare or self._make_spare()
                self._is_spare_wanted.clear()
                await self._is_spare_wanted.wait()
        finally:
            self._remove_spare()

    def _remove_spare(self) -> None:
        spare, self._spare = self._spare, None
        if spare is not None:
            self._remove(spare)

    def _remove(self, spare: _Spare) -> None:
        self._forget(spare.token)
        with contextlib.suppress(OSError):  # the next start empties the directory
            spare.path.unlink(missing_ok=True)

    @contextmanager
    def grant_for(self, invocation: Invocation) -> Generator[ToolGrant | None]:
        """While the block lasts: for a process that serves one turn."""
        grant = self.grant(invocation.mark, invocation.project_path)
        if grant is None:
            yield None
            return
        grant.bind(invocation.session_key, invocation.generation)
        try:
            yield grant
        finally:
            grant.revoke()

    def revoke(self, grant: ToolGrant) -> None:
        if self._grants.pop(grant.token, None) is not None:
            grant.path.unlink(missing_ok=True)
            self._forget(grant.token)

    def paths_for(self, mark: str) -> list[Path]:
        """What an agent in a sandbox must see to call: its own capability, and the socket."""
        own = [grant.path for grant in self._grants.values() if grant.holder.mark == mark]
        return [*own, self._socket] if own else []

    # --- the socket ------------------------------------------------------------------------------------------------

    async def run(self, handler: ToolHandler) -> None:
        """For ever: listen, and pass each call on to `handler`."""
        if not self.is_on:
            return
        serving = _Serving(self, handler)
        with _bind(self._socket) as listening:
            if self.give is not None:
                self._socket.parent.chmod(PASSABLE)
                self.give(self._socket)
            server = await asyncio.start_unix_server(serving.serve, sock=listening, limit=MAX_LINE)
            async with server, TaskOwner("tool server") as owner:
                owner.start(self._keep_spare(), name="spare capability")
                await server.serve_forever()

    def is_granted(self, grant: ToolGrant) -> bool:
        return self._grants.get(grant.token) is grant

    def find(self, token: str, pid: int | None) -> ToolGrant | None:
        """The capability with this token, if the process at the other end may use it."""
        found = next(
            (g for known, g in self._grants.items() if hmac.compare_digest(known.encode(), token.encode())), None
        )
        if found is None:
            return None
        if pid is None or not can_see_ancestors():
            return found
        return found if living_with(found.holder.mark).intersection(ancestors_of(pid)) else None


class _Refused(Exception):  # noqa: N818 - says what happened
    """The connection is closed: trying many tokens takes many connections."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(REFUSED)
        self.pid = pid


class _Serving:
    def __init__(self, server: ToolServer, handler: ToolHandler) -> None:
        self._server = server
        self._handler = handler
        self._decoder = msgspec.json.Decoder(Asked)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        used: dict[str, ToolGrant] = {}
        try:
            pid = _peer_of(writer)
            while line := await reader.readline():
                reply = await self._answer(line, pid, used)
                writer.write(msgspec.json.encode(reply) + b"\n")
                await writer.drain()
        except _Refused as refused:
            log.warning("a tool call without a valid capability was refused", pid=refused.pid)
            writer.write(msgspec.json.encode(CallReply(ok=False, text=REFUSED)) + b"\n")
        except (ConnectionError, ValueError):
            pass  # the agent's tool server is gone, or sends what nobody can read
        finally:
            for grant in used.values():
                grant.connections -= 1
            writer.close()

    async def _answer(self, line: bytes, pid: int | None, used: dict[str, ToolGrant]) -> CallReply:
        """`used` are the capabilities that this connection has shown: whose process is at its other end was looked at
        once."""
        try:
            asked = self._decoder.decode(line)
        except msgspec.DecodeError:
            return CallReply(ok=False, text="This is no request.")
        grant = used.get(asked.token)
        if grant is None:
            grant = await asyncio.to_thread(self._server.find, asked.token, pid)
            if grant is None:
                raise _Refused(pid)
            if grant.connections >= MOST_CONNECTIONS:
                return CallReply(ok=False, text="This agent has too many tool servers.")
            used[asked.token] = grant
            grant.connections += 1
        if not self._server.is_granted(grant):
            raise _Refused(pid)
        try:
            return await self._pass_on(asked, grant)
        except Exception as fault:  # a call that crashes must not take the connection with it
            log_failure("a tool call crashed", fault)
            return CallReply(ok=False, text="Fairlead could not carry this out. Its log says why.")

    async def _pass_on(self, asked: Asked, grant: ToolGrant) -> CallReply:
        match asked:
            case ListTools():
                return CallReply(tools=self._handler.tools_of(grant.holder))
            case CallTool():
                said = await self._handler.call(
                    grant.holder, call_id=asked.call_id, tool=asked.tool, arguments=asked.arguments
                )
                return CallReply(said.ok, said.text)


def _peer_of(writer: asyncio.StreamWriter) -> int | None:
    """The process at the other end; None where the system does not tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    connection: socket.socket = writer.get_extra_info("socket")
    pid, _, _ = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _PEER.size))
    return pid


def _make_socket_directory(directory: Path) -> Path:
    """Beside the state directory's own files a socket would be in the way of who copies them, and its path may be too
    long. The name is the same at every start, so a killed daemon leaves one directory behind, not many."""
    digest = hashlib.blake2b(os.fsencode(directory), digest_size=8).hexdigest()
    temporary = tempfile.gettempdir() if len(tempfile.gettempdir()) < _LONGEST_TEMPORARY else "/tmp"  # noqa: S108
    found = Path(temporary) / f"fairlead-tools-{digest}"
    with contextlib.suppress(FileExistsError):
        found.mkdir(mode=0o700)
    kept = found.lstat()
    is_ours = stat.S_ISDIR(kept.st_mode) and kept.st_uid == os.geteuid() and not kept.st_mode & 0o022
    if not is_ours:  # another user was there first: nobody can have put anything into a new one
        found = Path(tempfile.mkdtemp(prefix="fairlead-tools-", dir=temporary))
    found.chmod(0o700)
    return found


@contextmanager
def _bind(path: Path) -> Generator[socket.socket]:
    """A socket that only our user can use. Its directory is 0700 from its making on, so nobody is in time."""
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(str(path))
        path.chmod(stat.S_IRUSR | stat.S_IWUSR)
        listening.setblocking(False)
        yield listening
    finally:
        listening.close()
        with contextlib.suppress(OSError):
            path.unlink()
            path.parent.rmdir()


NO_TOOLS: Final = ToolServer(Path("/nonexistent"), is_on=False)
