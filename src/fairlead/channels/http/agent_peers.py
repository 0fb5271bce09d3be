"""Whether a connection comes from a process that Fairlead itself started for an agent. Knows no route and no token.

An agent with a shell runs under the account of its owner, and can read the token. So the token alone does not tell a
person from an agent; the process at the other end of the connection does. A process that has left its agent's family
(without its mark, its group and its parents) is not recognised.
"""

import asyncio
from collections.abc import Callable
from ipaddress import ip_address
from typing import Final
from weakref import WeakKeyDictionary

import msgspec
from aiohttp import web

from fairlead.kit.other_user import AnotherUser, other_users
from fairlead.kit.process_sweep import Family
from fairlead.kit.process_table import ProcessEntry
from fairlead.kit.processes import count_living
from fairlead.kit.socket_owner import Address, SocketEnd, find_holder, find_socket, has_socket_table

_LONGEST_PROGRAM: Final = 200
_CHECKS: Final = "fairlead-check:"
"""The marks of programs that are only asked for their version begin so."""
CLOSED: Final = "one that has closed its connection"


class AgentProcess(msgspec.Struct, frozen=True):
    """`job_id` is that of the job for which it, or what started it, was started; empty where that cannot be seen."""

    job_id: str
    program: str


def find_agent_process(client: Address, server: Address, mark_prefix: str) -> AgentProcess | None:
    if not has_socket_table():
        return None
    end = find_socket(client, server)
    if end is None or not end.inode:
        # A caller that closes its end at once cannot be looked up. A person's client waits for its answer.
        return AgentProcess("", CLOSED) if is_loopback(client) else None
    users = other_users()
    if users:
        return _find_process_of_user(end, users, mark_prefix)
    members = _look_for_agents(mark_prefix)
    holder = find_holder(end.inode, (member.pid for member in members))
    return None if holder is None else _describe(holder, members, mark_prefix)


def _find_process_of_user(end: SocketEnd, users: list[AnotherUser], mark_prefix: str) -> AgentProcess | None:
    """Where agents run as another user, everything of that user's is an agent's."""
    user = next((user for user in users if user.uid == end.uid), None)
    if user is None:
        return None
    members = _look_for_agents(mark_prefix)
    holder = find_holder(end.inode, (member.pid for member in members)) or user.find_socket_holder(end.inode)
    if holder is None or all(member.pid != holder for member in members):
        return AgentProcess("", f"a process of the user {user.name}")
    return _describe(holder, members, mark_prefix)


def is_loopback(address: Address) -> bool:
    return ip_address(address[0].partition("%")[0]).is_loopback


def _look_for_agents(mark_prefix: str) -> list[ProcessEntry]:
    return Family(lambda mark: mark.startswith((mark_prefix, _CHECKS))).look()


def _describe(pid: int, members: list[ProcessEntry], mark_prefix: str) -> AgentProcess:
    found = next(member for member in members if member.pid == pid)
    return AgentProcess(_find_mark(found, members).removeprefix(mark_prefix), found.command[:_LONGEST_PROGRAM])


def _find_mark(found: ProcessEntry, members: list[ProcessEntry]) -> str:
    """Its own mark, or that of the nearest process above it: `env -i` takes a mark away."""
    by_pid = {member.pid: member for member in members}
    at: ProcessEntry | None = found
    while at is not None and at.mark is None:
        at = by_pid.get(at.parent)
    return "" if at is None or at.mark is None else at.mark


class AgentPeers:
    """Looks once for each connection, and not at all while no process of an agent lives."""

    def __init__(self, mark_prefix: Callable[[], str]) -> None:
        self._mark_prefix = mark_prefix
        self._found: WeakKeyDictionary[asyncio.BaseTransport, AgentProcess | None] = WeakKeyDictionary()

    async def find(self, request: web.Request) -> AgentProcess | None:
        transport = request.transport
        if transport is None or not count_living():
            return None
        if transport not in self._found:
            ends = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
            self._found[transport] = await asyncio.to_thread(
                find_agent_process, ends[0][:2], ends[1][:2], self._mark_prefix()
            )
        return self._found[transport]
