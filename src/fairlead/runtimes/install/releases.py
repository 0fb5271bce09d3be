"""Names and versions of what can be installed, as people and package indexes write them. Pure."""

import re
from typing import Final, Literal

import msgspec

from fairlead.errors import Code, error

PackageKind = Literal["npm", "pypi"]

_VERSION: Final = re.compile(r"[0-9][0-9A-Za-z.+!_-]{0,63}")
_NAMES: Final = {
    "npm": re.compile(r"(?:@[a-z0-9][a-z0-9._~-]*/)?[a-zA-Z0-9][a-zA-Z0-9._~-]*"),
    "pypi": re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9,._-]+\])?"),
}
_NUMBER_OR_WORD: Final = re.compile(r"\d+|[A-Za-z]+")
_RELEASED: Final = 1
_NOT_YET_RELEASED: Final = 0


class AgentRelease(msgspec.Struct, frozen=True):
    """What a person asks for: `opencode@1.0.3`. Without a version, the newest."""

    name: str
    version: str = ""


class PackageRelease(msgspec.Struct, frozen=True):
    name: str
    version: str = ""


def read_agent_release(text: str) -> AgentRelease:
    """Raises E_INVALID_ARGS for a version that is none: a range and a tag mean something else tomorrow."""
    name, at, version = text.strip().partition("@")
    if at and not _VERSION.fullmatch(version):
        raise error(
            Code.E_INVALID_ARGS,
            f"{version[:60]!r} is not a version.",
            next_step=f"Name one version, as in {name or 'opencode'}@1.2.3, or none for the newest.",
        )
    return AgentRelease(name, version)


def read_package_release(kind: PackageKind, text: str) -> PackageRelease | None:
    """A package as an index of agents names it: `@scope/name@1.2.3`, `name==1.2.3`, `name[extra]@1.2.3`. None if it is
    not the name of a package: no address, path or option reaches npm or pip. A tag (`latest`) is not a version."""
    scope, rest = ("@", text[1:]) if text.startswith("@") else ("", text)
    separator = "==" if "==" in rest else "@"
    name, _, version = rest.partition(separator)
    if not _NAMES[kind].fullmatch(scope + name):
        return None
    return PackageRelease(scope + name, version if _VERSION.fullmatch(version) else "")


def version_order(version: str) -> tuple[tuple[tuple[int, str], ...], int, tuple[tuple[int, str], ...]]:
    """A key to sort versions by: 1.10.0 is newer than 1.9.0, and 2.0.0-rc.1 is older than 2.0.0."""
    plain = version.partition("+")[0]
    found = re.match(r"[0-9.]*", plain)
    released = (found[0] if found else "").rstrip(".")
    early = plain[len(released) :]
    numbers = _parts(released)
    while numbers and numbers[-1] == (0, ""):
        numbers = numbers[:-1]
    return numbers, _NOT_YET_RELEASED if early else _RELEASED, _parts(early)


def _parts(text: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(p), "") if p.isdecimal() else (-1, p) for p in _NUMBER_OR_WORD.findall(text))


def is_older(version: str, other: str) -> bool:
    return version_order(version) < version_order(other)
