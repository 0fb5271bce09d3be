"""Installs one release of an agent: resolves its version, makes its files aside, and moves them to their place.

The caller probes what was installed and records it; an installation that is not recorded is removed by the caller, or
by the next start.
"""

import shutil
import sys
from pathlib import Path
from typing import Protocol

import msgspec

from fairlead.core.agents import ConfiguredAgent
from fairlead.errors import Code, FairleadError, error
from fairlead.runtimes.install.agent_files import AgentFiles, InstallNote, KeptRelease, sha256_of
from fairlead.runtimes.install.binaries import build_binary
from fairlead.runtimes.install.built import Built, rewrite_paths
from fairlead.runtimes.install.commands import own_name, with_variables
from fairlead.runtimes.install.npm import build_npm, find_newest_npm
from fairlead.runtimes.install.offers import Binary, Offer, Package, Way
from fairlead.runtimes.install.programs import InstallPrograms
from fairlead.runtimes.install.pypi import VENV, build_pypi, find_pypi_version, find_pythons, make_environment


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """An agent whose files are in their place. `notes` are for the person who installs it."""

    agent: ConfiguredAgent
    place: Path
    notes: tuple[str, ...] = ()


class InstallWatcher(Protocol):
    """Shows a person what is being done: it may take minutes."""

    def begin_step(self, words: str) -> None: ...

    def note_size(self, size: int) -> None:
        """How many bytes of a download have come."""
        ...


class Installer:
    """`index` is where the registry's index comes from; the addresses of downloads may be relative to it."""

    def __init__(self, files: AgentFiles, programs: InstallPrograms, *, index: str, watcher: InstallWatcher) -> None:
        self.files = files
        self._programs = programs
        self._index = index
        self._watcher = watcher

    async def find_newest(self, way: Way) -> str:
        """The version that the registry names, else the newest package. Raises E_AGENT_NOT_FOUND or E_AGENT_INSTALL."""
        if way.version:
            return way.version
        assert isinstance(way, Package), "the registry names the version of a download"
        with self.files.building() as build:
            if way.kind == "npm":
                return await self._find_newest_npm(way, build)
            return (await self._choose_python(way, build)).version

    async def install(self, name: str, way: Way, version: str, env: tuple[str, ...] = ()) -> Installation:
        """An empty version is the newest. Raises E_AGENT_NOT_FOUND, E_AGENT_INSTALL or E_AGENT_DIGEST."""
        with self.files.building() as build:
            built = await self._build(way, version, build)
            kept = self.files.release(way.source, built.version)
            kept.check_digest(built.digest, f"{name} {built.version}")
            place = self.files.choose_place(name, built.version)
            if isinstance(way, Package) and way.kind == "pypi":
                rewrite_paths(build / VENV / "bin", build, place)
            agent = ConfiguredAgent(
                name=name,
                command=with_variables((str(place / built.program), *built.arguments), built.env),
                env=env,
                version=built.version,
                digest=built.digest,
                source=way.source,
            )
            self.files.move_in(build, place, _note_of(agent, built, build))
        _keep(kept, built)
        return Installation(agent=agent, place=place, notes=built.notes)

    async def _build(self, way: Way, version: str, build: Path) -> Built:
        if isinstance(way, Binary):
            if version and version != way.version:
                words = f"The registry offers {way.agent} {way.version} for download, and not {version}."
                raise error(Code.E_AGENT_NOT_FOUND, words, next_step=f"Install {way.version}, or {version} by hand.")
            kept = self.files.release(way.source, way.version)
            self._watcher.begin_step(f"{way.agent} {way.version} is downloaded and unpacked")
            return await build_binary(way, build, kept, index=self._index, on_progress=self._watcher.note_size)
        if way.kind == "npm":
            wanted = version or way.version or await self._find_newest_npm(way, build)
            self._watcher.begin_step(f"npm installs {way.name} {wanted}")
            return await build_npm(way, wanted, build, self.files.release(way.source, wanted), self._programs)
        return await self._build_pypi(way, version, build)

    async def _find_newest_npm(self, package: Package, build: Path) -> str:
        self._watcher.begin_step(f"npm looks for the newest {package.name}")
        return await find_newest_npm(package, self._programs, build)

    async def _build_pypi(self, package: Package, version: str, build: Path) -> Built:
        chosen = await self._choose_python(package, build, version or package.version)
        kept = self.files.release(package.source, chosen.version)
        self._watcher.begin_step(f"pip installs {package.name} {chosen.version}")
        built = await build_pypi(package, chosen.version, build, kept, self._programs)
        return msgspec.structs.replace(built, notes=(*built.notes, chosen.note)) if chosen.note else built

    async def _choose_python(self, package: Package, build: Path, version: str = "") -> "_ChosenPython":
        """Leaves an environment of the first Python that can run the version, or, without one, any version."""
        newest = version
        for python in find_pythons(self._programs.path):
            self._watcher.begin_step(f"{Path(python).name} makes a virtual environment")
            try:
                await make_environment(build, self._programs, python)
            except FairleadError:
                if python == sys.executable:
                    raise
                continue  # a Python on PATH that cannot make environments is none
            wanted = f"{own_name(package.name)} {version}" if version else f"the newest {own_name(package.name)}"
            self._watcher.begin_step(f"pip looks for {wanted}")
            found = await find_pypi_version(package, version, self._programs, build)
            newest = found.anywhere
            if found.here:
                note = f"{own_name(package.name)} {newest} needs a newer Python than {python}."
                return _ChosenPython(found.here, note if found.here != newest else "")
        raise error(
            Code.E_AGENT_INSTALL,
            f"{own_name(package.name)} {newest} needs another Python than Fairlead runs with, and none is on PATH.",
            next_step="Install a newer Python beside this one, or the agent by hand "
            f"(`uv tool install {package.name}`), which is then found on PATH.",
        )


class _ChosenPython(msgspec.Struct, frozen=True):
    version: str
    note: str = ""


def choose_way(offer: Offer) -> Way:
    """The first whose installer is here; where none is, the first, whose error says what is missing."""
    if not offer.ways:
        raise error(
            Code.E_AGENT_INSTALL,
            f"{offer.name} is in no index of packages that Fairlead knows, and no registry offers it for this machine.",
            next_step=f"Install it as its publisher says: on PATH it is found by itself. Elsewhere, name its command: "
            f"`fairlead agent add {offer.name} -- /path/to/program ARGUMENTS`. Or set FAIRLEAD_AGENT_REGISTRY.",
        )
    return next((way for way in offer.ways if _has_installer(way)), offer.ways[0])


def _has_installer(way: Way) -> bool:
    return not isinstance(way, Package) or way.kind != "npm" or shutil.which("npm") is not None


def _note_of(agent: ConfiguredAgent, built: Built, build: Path) -> InstallNote:
    return InstallNote(
        name=agent.name,
        source=agent.source,
        version=agent.version,
        digest=agent.digest,
        program=built.program,
        program_sha256=sha256_of(build / built.program),
    )


def _keep(kept: KeptRelease, built: Built) -> None:
    for name, data in built.keep.items():
        kept.keep(name, data)
    kept.keep_digest(built.digest)
