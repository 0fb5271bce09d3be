"""Agents from PyPI: each in a virtual environment of its own, since its packages are not Fairlead's."""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from fairlead.errors import Code, FairleadError, error
from fairlead.runtimes.install.agent_files import KeptRelease
from fairlead.runtimes.install.built import Built
from fairlead.runtimes.install.commands import choose_program, own_name
from fairlead.runtimes.install.offers import Package
from fairlead.runtimes.install.package_reports import (
    PipReport,
    normalise,
    read_console_scripts,
    read_pip_report,
    read_pip_versions,
)
from fairlead.runtimes.install.programs import ASK_SEC, INSTALL_SEC, InstallPrograms, ProgramOutput

VENV: Final = "venv"
_NEWEST_MINOR: Final = 15
_HAS_PIP: Final = find_spec("pip") is not None
"""Fairlead's own pip installs into any environment, and saves the ten seconds that a pip of its own takes. An
environment that uv made has none."""
_WITHOUT_PIP: Final = ("--without-pip",) if _HAS_PIP else ()
_PIP: Final = (
    (sys.executable, "-m", "pip", "--python", f"{VENV}/bin/python") if _HAS_PIP else (f"{VENV}/bin/python", "-m", "pip")
)
_PINS: Final = "requirements.lock"
_QUIET: Final = ("--disable-pip-version-check", "--no-input")
_TO_HAVE_VENV: Final = "Install your system's package for virtual environments (python3-venv), then try again."


def find_pythons(path: str) -> tuple[str, ...]:
    """The Python that runs Fairlead, then newer ones that are on PATH: many agents need one of them."""
    newer = (f"python3.{minor}" for minor in range(_NEWEST_MINOR, sys.version_info.minor, -1))
    return (sys.executable, *(found for name in newer if (found := shutil.which(name, path=path)) is not None))


async def make_environment(build: Path, programs: InstallPrograms, python: str) -> None:
    said = await programs.run((python, "-m", "venv", "--clear", *_WITHOUT_PIP, VENV), cwd=build)
    if said.code != 0:
        words = f"No virtual environment could be made with {python}: {said.last_words}."
        raise error(Code.E_AGENT_INSTALL, words, next_step=_TO_HAVE_VENV)


class VersionForPython(msgspec.Struct, frozen=True):
    """`here` is what the environment's Python can run, empty if nothing; `anywhere` is what is wanted."""

    here: str
    anywhere: str


async def find_pypi_version(package: Package, version: str, programs: InstallPrograms, build: Path) -> VersionForPython:
    """The version, or without one the newest. Raises E_AGENT_NOT_FOUND for what the index does not have."""
    early = ("--pre",) if version else ()
    said = await _pip(programs, build, *_versions_argv(package), *early, limit_sec=ASK_SEC)
    runnable = read_pip_versions(said.stdout)
    if version in runnable:
        return VersionForPython(version, version)
    all_versions = await _ask_all_versions(package, programs, build)
    if not version:
        return VersionForPython(runnable[0] if runnable else "", all_versions[0])
    if version in all_versions:
        return VersionForPython("", version)
    words = f"PyPI has no {own_name(package.name)} {version}; the newest is {all_versions[0]}."
    raise error(Code.E_AGENT_NOT_FOUND, words, next_step="Name another version, or none for the newest.")


async def _ask_all_versions(package: Package, programs: InstallPrograms, build: Path) -> tuple[str, ...]:
    said = await _pip(programs, build, *_versions_argv(package), "--ignore-requires-python", limit_sec=ASK_SEC)
    versions = read_pip_versions(said.stdout)
    if said.code != 0 or not versions:
        raise _failure(package, "", said)
    return versions


def _versions_argv(package: Package) -> tuple[str, ...]:
    return ("index", "versions", own_name(package.name))


async def build_pypi(
    package: Package, version: str, build: Path, kept: KeptRelease, programs: InstallPrograms
) -> Built:
    """In an environment that `make_environment` has made there."""
    pins = kept.read(_PINS)
    what = [f"{package.name}=={version}"]
    if pins is not None:
        (build / _PINS).write_bytes(pins)
        what = ["--require-hashes", "--no-deps", "-r", _PINS]
    said = await _pip(programs, build, "install", "--report", "report.json", *what)
    if said.code != 0:
        raise _failure(package, version, said)
    report = _read_report(build, package, version)
    program, *arguments = choose_program(package, _find_programs(build, package))
    return Built(
        version=report.package.version,
        digest=report.package.digest,
        program=f"{VENV}/bin/{program}",
        arguments=tuple(arguments),
        env=package.env,
        keep={_PINS: "\n".join((*report.pins, "")).encode()} if report.pins else {},
    )


async def _pip(programs: InstallPrograms, build: Path, *words: str, limit_sec: float = INSTALL_SEC) -> ProgramOutput:
    return await programs.run((*_PIP, *words, *_QUIET), cwd=build, limit_sec=limit_sec)


def _read_report(build: Path, package: Package, version: str) -> PipReport:
    try:
        report = read_pip_report((build / "report.json").read_bytes(), package.name)
    except (OSError, ValueError, KeyError) as fault:
        raise error(Code.E_AGENT_INSTALL, f"pip did not say what it installed: {fault}.") from None
    if report.package.version != version:
        words = f"pip was asked for {package.name} {version} and installed {report.package.version}."
        raise error(Code.E_AGENT_INSTALL, words, next_step="Name the exact version.")
    return report


def _find_programs(build: Path, package: Package) -> tuple[str, ...]:
    wanted = normalise(own_name(package.name))
    for found in (build / VENV).glob("lib/python*/site-packages/*.dist-info/entry_points.txt"):
        if normalise(found.parent.name.partition("-")[0]) == wanted:
            return read_console_scripts(found.read_text())
    return ()


def _failure(package: Package, version: str, said: ProgramOutput) -> FairleadError:
    what = f"{package.name} {version}".rstrip()
    if said.is_away:
        words = f"pip cannot reach its index: {said.last_words}."
        return error(Code.E_AGENT_INSTALL, words, next_step="Check the network and `pip config list`.")
    if "No matching distribution" in said.stderr:
        words = f"PyPI has no {what}."
        return error(Code.E_AGENT_NOT_FOUND, words, next_step="Check the name and the version on the index.")
    return error(Code.E_AGENT_INSTALL, f"pip could not install {what}: {said.last_words}.")
