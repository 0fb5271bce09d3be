"""Which process holds the other end of a connection on this machine. Only looks; Linux alone can tell.

The kernel lists the sockets of the machine with their addresses and inodes (/proc/net/tcp), and for each process the
inodes of its open sockets (/proc/PID/fd). Only the processes that the caller names are looked at.
"""

import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path

import msgspec

Address = tuple[str, int]


class SocketEnd(msgspec.Struct, frozen=True):
    """One end of a connection: its socket, 0 where no process has it open any more, and the user who made it."""

    inode: int
    uid: int


def has_socket_table(root: Path = Path("/proc")) -> bool:
    return os.access(root / "net/tcp", os.R_OK)


def find_socket(client: Address, server: Address, root: Path = Path("/proc")) -> SocketEnd | None:
    """The client's end of the connection from `client` to `server`, in whatever state; None where it is not listed."""
    for name in ("net/tcp", "net/tcp6"):
        try:
            listed = (root / name).read_bytes()
        except OSError:
            continue
        found = parse_socket(listed, client, server)
        if found is not None:
            return found
    return None


def parse_socket(listed: bytes, client: Address, server: Address) -> SocketEnd | None:
    ends = {(local, remote) for local in _written_forms(client) for remote in _written_forms(server)}
    for line in listed.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and (fields[1], fields[2]) in ends:
            return SocketEnd(int(fields[9]), int(fields[7]))
    return None


def _written_forms(address: Address) -> tuple[bytes, ...]:
    """An address as the kernel lists it: each word of four bytes in the machine's own order. An IPv4 address may be
    listed as IPv6 too, when a socket for both is used."""
    host, port = address
    if ":" in host:
        packed = [socket.inet_pton(socket.AF_INET6, host.partition("%")[0])]
    else:
        short = socket.inet_pton(socket.AF_INET, host)
        packed = [short, bytes(10) + b"\xff\xff" + short]
    return tuple(b"%s:%04X" % (_in_machine_order(form), port) for form in packed)


def _in_machine_order(packed: bytes) -> bytes:
    words = struct.unpack(f">{len(packed) // 4}I", packed)
    return struct.pack(f"={len(words)}I", *words).hex().upper().encode()


def find_holder(inode: int, pids: Iterable[int], root: Path = Path("/proc")) -> int | None:
    """The first of these processes that has the socket open."""
    wanted = f"socket:[{inode}]"
    for pid in pids:
        try:
            with os.scandir(root / str(pid) / "fd") as descriptors:
                if any(_target(entry) == wanted for entry in descriptors):
                    return pid
        except OSError:
            continue  # the process is gone, or is somebody else's
    return None


def _target(descriptor: "os.DirEntry[str]") -> str:
    try:
        return str(Path(descriptor.path).readlink())
    except OSError:
        return ""
