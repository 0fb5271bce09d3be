"""What can be told of an address that a server listens on. Knows no request and no setting."""

import ipaddress


def leaves_loopback(host: str) -> bool:
    """Whether other machines may reach a server that listens there. A name is looked up by nobody: only `localhost`
    is known to stay."""
    address = parse_address(host)
    return host.lower() != "localhost" if address is None else not address.is_loopback


def find_openable_url(host: str, port: int) -> str:
    """The address to type on this machine: nobody can open 0.0.0.0, which stands for every address."""
    address = parse_address(host)
    if address is not None and address.is_unspecified:
        host = "127.0.0.1" if address.version == 4 else "::1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
