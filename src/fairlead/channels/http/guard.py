"""Which requests are let in: Host, Origin and token, checked before the body is read. Knows no route and no body.

A web page on another site can make a browser send requests here. What stops it:
1. `Host` must name this machine's loopback or the address we were told to listen on, so that a name that was
   re-bound to 127.0.0.1 reaches nothing.
2. `Origin`, where there is one, must be our own; `Sec-Fetch-Site` must not tell of another site. No CORS header
   is ever sent.
3. Everything but the public paths needs the bearer token, which no page knows.
"""

import ipaddress
from collections.abc import Mapping
from typing import Final

import msgspec

from fairlead.channels.http.errors import HttpRefusal
from fairlead.channels.http.token import is_bearer
from fairlead.errors import Code, error

_OWN_SITES: Final = frozenset({"same-origin", "none"})


class RequestGuard(msgspec.Struct, frozen=True):
    """`bound_host` is what we listen on; a wildcard address admits every literal address, never a name."""

    token: str
    bound_host: str = "127.0.0.1"

    def admit(self, headers: Mapping[str, str], *, public: bool) -> None:
        host = headers.get("Host", "")
        if not self._is_ours(_name_in(host)):
            raise _build_refusal(f"The Host {host[:80]!r} is not an address of this server.")
        origin = headers.get("Origin")
        if origin is not None and origin.lower() != f"http://{host.lower()}":
            raise _build_refusal(f"Requests from the site {origin[:80]!r} are not taken.")
        if headers.get("Sec-Fetch-Site", "none") not in _OWN_SITES:
            raise _build_refusal("Requests from other sites are not taken.")
        if not public and not is_bearer(headers.get("Authorization", ""), self.token):
            raise HttpRefusal(401, error(Code.E_UNAUTHORIZED), {"WWW-Authenticate": 'Bearer realm="fairlead"'})

    def _is_ours(self, name: str) -> bool:
        if name.lower() in {"localhost", self.bound_host.lower()}:
            return True
        address = _address(name)
        if address is None:
            return False
        bound = _address(self.bound_host)
        return address.is_loopback or (bound is not None and bound.is_unspecified)


def _build_refusal(sentence: str) -> HttpRefusal:
    problem = error(
        Code.E_UNAUTHORIZED, sentence, next_step="Use the address that `fairlead up` prints, not from a web page."
    )
    return HttpRefusal(403, problem)


def _name_in(host: str) -> str:
    """The name of `name:port`, `[v6]:port` or `name`."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
