"""What npm and pip write about what they installed: versions, hashes, programs. Pure."""

import configparser
import json
import re
from typing import Any

import msgspec

from fairlead.runtimes.install.commands import own_name


class LockedPackage(msgspec.Struct, frozen=True):
    """What an index of packages gave: `digest` is that of the package's archive; `programs` are what it brings."""

    version: str
    digest: str = ""
    programs: tuple[str, ...] = ()


class _NpmEntry(msgspec.Struct, frozen=True):
    version: str = ""
    integrity: str = ""
    bin: dict[str, str] | str = {}


class _NpmLock(msgspec.Struct, frozen=True):
    packages: dict[str, _NpmEntry] = {}


def read_npm_lock(data: bytes, package: str) -> LockedPackage:
    """From a package-lock.json. Raises ValueError for what is none, or does not have the package."""
    lock = msgspec.json.decode(data, type=_NpmLock)
    entry = lock.packages.get(f"node_modules/{package}")
    if entry is None or not entry.version:
        raise ValueError(f"package-lock.json does not have {package}")
    programs = (own_name(package),) if isinstance(entry.bin, str) else tuple(entry.bin)
    return LockedPackage(entry.version, entry.integrity, programs)


def read_engine_warning(stderr: str, package: str) -> str:
    """What npm says when a package wants another Node than there is; npm installs it nevertheless."""
    node = r".*?node: '([^']*)'"
    pattern = rf"EBADENGINE\s+package: '{re.escape(package)}@.*?required:{node}.*?current:{node}"
    found = re.search(pattern, stderr, re.DOTALL)
    return "" if found is None else f"{package} asks for Node {found[1]}; this is Node {found[2]}"


class PipReport(msgspec.Struct, frozen=True):
    """`pins` are the lines of a requirements file that installs exactly the same again; empty if a hash is missing."""

    package: LockedPackage
    pins: tuple[str, ...] = ()


def read_pip_report(data: bytes, package: str) -> PipReport:
    """From `pip install --report`. Raises ValueError for what is none, or does not have the package."""
    installed = [_read_pip_item(item) for item in json.loads(data).get("install", [])]
    wanted = normalise(own_name(package))
    own = next(((v, h) for name, v, h in installed if normalise(name) == wanted), None)
    if own is None:
        raise ValueError(f"pip does not report {package}")
    pins = tuple(f"{name}=={version} --hash={digest}" for name, version, digest in installed)
    return PipReport(LockedPackage(own[0], own[1]), pins if all(digest for _, _, digest in installed) else ())


def _read_pip_item(item: dict[str, Any]) -> tuple[str, str, str]:
    metadata, archive = item["metadata"], item.get("download_info", {}).get("archive_info", {})
    sha256 = archive.get("hashes", {}).get("sha256", "")
    return str(metadata["name"]), str(metadata["version"]), f"sha256:{sha256}" if sha256 else ""


def read_pip_versions(said: str) -> tuple[str, ...]:
    """From `pip index versions`: the versions that this Python can run, the newest first."""
    found = re.search(r"^Available versions: (.*)$", said, re.MULTILINE)
    return () if found is None else tuple(version.strip() for version in found[1].split(","))


def read_console_scripts(entry_points: str) -> tuple[str, ...]:
    """The programs that a Python package brings, from its entry_points.txt."""
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    parser.optionxform = str  # pyright: ignore[reportAttributeAccessIssue] - names of programs keep their capitals
    parser.read_string(entry_points)
    return tuple(parser["console_scripts"]) if parser.has_section("console_scripts") else ()


def normalise(package: str) -> str:
    """How PyPI compares names."""
    return re.sub(r"[-_.]+", "-", package).lower()
