"""The index of an ACP registry, understood: which agents it has, and how each is distributed. Pure.

The index is a JSON object with a list of `agents`. Each has an `id`, a `version` and a `distribution`: `npx` and `uvx`
name a package, `binary` names an archive for each platform.
"""

from typing import Any

import msgspec

from fairlead.errors import Code, error


class PackageRun(msgspec.Struct, frozen=True):
    """A package of npm or PyPI, and what its program is run with."""

    package: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class BinaryRun(msgspec.Struct, frozen=True):
    """`cmd` is the path of the program in the archive."""

    archive: str
    cmd: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class Distribution(msgspec.Struct, frozen=True):
    npx: PackageRun | None = None
    uvx: PackageRun | None = None
    binary: dict[str, BinaryRun] = {}


class RegistryAgent(msgspec.Struct, frozen=True):
    id: str
    version: str
    distribution: Distribution
    name: str = ""
    description: str = ""


class RegistryIndex(msgspec.Struct, frozen=True):
    """`unreadable` are ids of entries that this Fairlead cannot understand: one of them hides no other."""

    agents: tuple[RegistryAgent, ...] = ()
    unreadable: tuple[str, ...] = ()


class _Document(msgspec.Struct, frozen=True):
    agents: list[dict[str, Any]]


def read_index(data: bytes, where: str) -> RegistryIndex:
    """Raises E_AGENT_INSTALL for what is no index."""
    try:
        entries = msgspec.json.decode(data, type=_Document).agents
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise error(
            Code.E_AGENT_INSTALL,
            f"The index of agents at {where} cannot be understood: {fault}.",
            next_step="Correct FAIRLEAD_AGENT_REGISTRY: it names the registry.json of an ACP registry.",
        ) from None
    agents: list[RegistryAgent] = []
    unreadable: list[str] = []
    for entry in entries:
        try:
            agents.append(msgspec.convert(entry, RegistryAgent))
        except msgspec.ValidationError:
            unreadable.append(str(entry.get("id", "?"))[:60])
    return RegistryIndex(tuple(agents), tuple(unreadable))


def platform_key(system: str, machine: str) -> str:
    """As the index names platforms, from what `os.uname()` says: `linux-x86_64`, `darwin-aarch64`."""
    chips = {"amd64": "x86_64", "arm64": "aarch64"}
    chip = machine.lower()
    return f"{system.lower()}-{chips.get(chip, chip)}"
