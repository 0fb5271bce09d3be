"""Finding the process at the other end of a connection on this machine."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.kit.socket_owner import SocketEnd, find_holder, find_socket, parse_socket

pytestmark = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux tells who holds a connection")

CLIENT = "import socket, sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); print(s.recv(1))"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_process_that_connected_is_found_among_those_that_are_named(host: str):
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as server:
        own = server.getsockname()[:2]
        with subprocess.Popen([sys.executable, "-c", CLIENT, host, str(own[1])], stdout=subprocess.PIPE) as client:
            connection, peer = server.accept()
            end = find_socket(peer[:2], own)
            assert end is not None
            assert end.uid == os.getuid()
            assert find_holder(end.inode, [os.getpid(), 999_999_999, client.pid]) == client.pid
            assert find_holder(end.inode, [os.getpid()]) is None
            assert find_socket(own, own) is None
            connection.close()


@pytest.mark.parametrize("how", ["shutdown", "close"])
def test_an_end_that_was_closed_is_still_seen_and_a_process_that_has_left_it_is_nobody(how: str):
    with socket.create_server(("127.0.0.1", 0)) as server:
        own = server.getsockname()
        client = socket.create_connection(own)
        connection, peer = server.accept()
        client.shutdown(socket.SHUT_WR) if how == "shutdown" else client.close()
        end = find_socket(peer, own)
        assert end is not None
        assert (find_holder(end.inode, [os.getpid()]) == os.getpid()) == (how == "shutdown")
        assert bool(end.inode) == (how == "shutdown")
        connection.close()
        client.close()


def test_an_ipv4_address_is_found_where_a_socket_for_both_kinds_lists_it():
    listed = (
        b"  sl  local_address                         remote_address                        st\n"
        b"   0: 0000000000000000FFFF00000100007F:C350 0000000000000000FFFF00000100007F:2112 01 00000000:00000000"
        b" 00:00000000 00000000  1000        0 4711 1\n"
    )
    assert parse_socket(listed, ("127.0.0.1", 50000), ("127.0.0.1", 8466)) == SocketEnd(4711, 1000)
    assert parse_socket(listed, ("127.0.0.1", 50001), ("127.0.0.1", 8466)) is None
