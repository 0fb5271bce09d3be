"""What a reverse proxy says about a request, believed only if the proxy is one that the owner named. Knows no route."""

import msgspec
from aiohttp import web

from fairlead.kit.addresses import parse_address

_LONGEST = 64


class Proxies(msgspec.Struct, frozen=True):
    """`addresses` are those of FAIRLEAD_HTTP_PROXIES; without one, no `X-Forwarded-…` header is read."""

    addresses: tuple[str, ...] = ()

    def is_encrypted(self, request: web.Request) -> bool:
        """Whether the browser spoke HTTPS to the proxy. Fairlead itself speaks none."""
        return self._is_named(request) and request.headers.get("X-Forwarded-Proto", "").strip().lower() == "https"

    def client_of(self, request: web.Request) -> str:
        """The other end of the connection; behind a named proxy, also the client that the proxy names."""
        peer = _peer_of(request)
        if not peer:
            return "a closed connection"
        named = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
        is_believed = self._is_named(request) and parse_address(named) is not None
        return f"{named[:_LONGEST]} by {peer[0]}:{peer[1]}" if is_believed else f"{peer[0]}:{peer[1]}"

    def _is_named(self, request: web.Request) -> bool:
        peer = _peer_of(request)
        return bool(peer) and peer[0] in self.addresses


def _peer_of(request: web.Request) -> tuple[str, int] | tuple[()]:
    peer = None if request.transport is None else request.transport.get_extra_info("peername")
    return (str(peer[0]), int(peer[1])) if peer else ()
