"""Which requests are let in: Host, Origin and token, checked before the body is read. Knows no route and no body.

A web page on another site can make a browser send requests here. What stops it:
1. `Host` must name this machine's loopback, the address we were told to listen on, or a name that the owner allowed
   (FAIRLEAD_HTTP_ALLOWED_HOSTS), so that a name that was re-bound to 127.0.0.1 reaches nothing.
2. `Origin`, where there is one, must be our own or an allowed name's; `Sec-Fetch-Site` must not tell of another site,
   except for a page that a person opens by a link. No CORS header is ever sent.
3. Everything but the public paths needs the bearer token, which no page knows, or, for the console, a login. Events for
   webhooks have a signature instead, and their path is guarded by the token like any other while there is no webhook.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from fairlead.channels.http.errors import HttpRefusal
from fairlead.channels.http.token import is_bearer
from fairlead.errors import Code, error
from fairlead.kit.addresses import parse_address

Access = Literal["token", "signed", "public", "page", "form"]
"""What a path needs: the token; a signature, which its handler checks, because it covers the body; nothing; nothing,
and a link on another site may lead there; or a page of our own that posts a form. What a page or a form shows and does
beyond that needs a login, which its handler checks."""

_OWN_SITES: Final = frozenset({"same-origin", "none"})


class RequestGuard(msgspec.Struct, frozen=True):
    """`bound_host` is what we listen on; a wildcard address admits every literal address, never a name."""

    token: str
    bound_host: str = "127.0.0.1"
    allowed_hosts: tuple[str, ...] = ()

    def admit(self, headers: Mapping[str, str], *, access: Access) -> None:
        host = headers.get("Host", "")
        if not self._is_ours(_name_in(host)):
            raise _build_refusal(f"The Host {host[:80]!r} is not an address of this server.")
        origin = headers.get("Origin")
        # Some browsers and add-ons send no origin with a form, but all of them say the site, where the address is safe.
        is_own_form = access == "form" and headers.get("Sec-Fetch-Site") == "same-origin" and origin == "null"
        if origin is not None and not is_own_form and not self._is_own_origin(origin.lower(), host.lower()):
            raise _build_refusal(f"Requests from the site {origin[:80]!r} are not allowed.")
        is_opened = access == "page" and headers.get("Sec-Fetch-Mode") == "navigate"
        if headers.get("Sec-Fetch-Site", "none") not in _OWN_SITES and not is_opened:
            raise _build_refusal("Requests from other sites are not allowed.")
        if access == "form" and origin is None and headers.get("Sec-Fetch-Site") != "same-origin":
            raise _build_refusal("A form must be sent by a page of this server.")
        if access == "token" and not is_bearer(headers.get("Authorization", ""), self.token):
            raise HttpRefusal(401, error(Code.E_UNAUTHORIZED), {"WWW-Authenticate": 'Bearer realm="fairlead"'})

    def _is_own_origin(self, origin: str, host: str) -> bool:
        """The site at this `Host`; or one at an allowed name, also with TLS: a proxy may add it, and change `Host`, or
        leave its port out. With a port in `Host`, the same name at another port is another program."""
        scheme, _, site = origin.partition("://")
        name = _name_in(site).rstrip(".")
        if scheme not in {"http", "https"} or name not in self.allowed_hosts:
            return origin == f"http://{host}"
        port = _port_in(host)
        return not port or name != _name_in(host).rstrip(".") or port == (_port_in(site) or _DEFAULT_PORTS[scheme])

    def _is_ours(self, name: str) -> bool:
        if name and name.lower().rstrip(".") in {"localhost", self.bound_host.lower(), *self.allowed_hosts}:
            return True
        address = parse_address(name)
        if address is None:
            return False
        bound = parse_address(self.bound_host)
        return address.is_loopback or (bound is not None and bound.is_unspecified)


def _build_refusal(sentence: str) -> HttpRefusal:
    problem = error(
        Code.E_UNAUTHORIZED,
        sentence,
        next_step="Use the address that `fairlead up` prints, and do not send requests from web pages of other sites. "
        "Another name of this machine is allowed with FAIRLEAD_HTTP_ALLOWED_HOSTS.",
    )
    return HttpRefusal(403, problem)


_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_HOST_FORM: Final = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[^\[\]:]+))(?::\d*)?")


def _name_in(host: str) -> str:
    """The name of `name:port`, `[v6]:port` or `name`; empty for anything else, such as `[::1]evil.example`."""
    found = _HOST_FORM.fullmatch(host)
    return "" if found is None else found["v6"] or found["name"]


def _port_in(host: str) -> str:
    return host.rpartition("]")[2].partition(":")[2]
