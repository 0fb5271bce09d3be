"""Ends TCP connections the rude way. Knows nothing of what was said on them."""

import socket
import struct
from typing import Any

from aiohttp import web


def abort(request: web.Request) -> None:
    if request.transport is not None:
        abort_transport(request.transport)


def abort_transport(transport: Any) -> None:
    """A reset instead of a polite close: unsent data is thrown away and the peer reads ECONNRESET."""
    raw = transport.get_extra_info("socket")
    if raw is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
