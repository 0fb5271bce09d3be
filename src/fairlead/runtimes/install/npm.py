"""Agents from npm: installed once with a lock file that is kept, and from that lock file ever after."""

import json
from pathlib import Path
from typing import Final

from fairlead.errors import Code, FairleadError, error
from fairlead.runtimes.install.agent_files import KeptRelease
from fairlead.runtimes.install.built import Built
from fairlead.runtimes.install.commands import choose_program
from fairlead.runtimes.install.offers import Package
from fairlead.runtimes.install.package_reports import LockedPackage, read_engine_warning, read_npm_lock
from fairlead.runtimes.install.programs import ASK_SEC, InstallPrograms, ProgramOutput

_LOCK: Final = "package-lock.json"
_QUIET: Final = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=warn")
_TO_HAVE_NPM: Final = "Install Node.js (nodejs.org, or your system's packages), which brings npm; then try again."


async def find_newest_npm(package: Package, programs: InstallPrograms, cwd: Path) -> str:
    """The version that npm calls latest, whatever Node is here: asked for a package without a version, npm on an old
    Node installs a much older one without a word."""
    argv = ("npm", "view", package.name, "dist-tags.latest", "--json")
    said = await programs.run(argv, cwd=cwd, limit_sec=ASK_SEC, to_have_it=_TO_HAVE_NPM)
    if said.code != 0:
        raise _failure(package, "", said)
    try:
        return str(json.loads(said.stdout))
    except ValueError:
        raise error(Code.E_AGENT_INSTALL, f"npm names no version of {package.name}: {said.stdout[:200]!r}.") from None


async def build_npm(package: Package, version: str, build: Path, kept: KeptRelease, programs: InstallPrograms) -> Built:
    lock = kept.read(_LOCK)
    manifest = {"name": "fairlead-agent", "private": True, "dependencies": {package.name: version}}
    (build / "package.json").write_text(json.dumps(manifest))
    if lock is not None:
        (build / _LOCK).write_bytes(lock)
    argv = ("npm", "install" if lock is None else "ci", *_QUIET)
    said = await programs.run(argv, cwd=build, to_have_it=_TO_HAVE_NPM)
    if said.code != 0:
        raise _failure(package, version, said)
    locked = _read_lock(build, package, version)
    warning = read_engine_warning(said.stderr, package.name)
    program, *arguments = choose_program(package, locked.programs)
    return Built(
        version=locked.version,
        digest=locked.digest,
        program=f"node_modules/.bin/{program}",
        arguments=tuple(arguments),
        env=package.env,
        keep={_LOCK: (build / _LOCK).read_bytes()},
        notes=(f"{warning}.",) if warning else (),
    )


def _read_lock(build: Path, package: Package, version: str) -> LockedPackage:
    """Raises E_AGENT_INSTALL if npm installed something else than it was asked for."""
    try:
        locked = read_npm_lock((build / _LOCK).read_bytes(), package.name)
    except (OSError, ValueError) as fault:
        raise error(Code.E_AGENT_INSTALL, f"npm did not say what it installed: {fault}.") from None
    if locked.version != version:
        raise error(
            Code.E_AGENT_INSTALL,
            f"npm was asked for {package.name} {version} and installed {locked.version}.",
            next_step="Check `node --version`: npm on an old Node installs older packages. Or name the exact version.",
        )
    return locked


def _failure(package: Package, version: str, said: ProgramOutput) -> FairleadError:
    what = f"{package.name} {version}".rstrip()
    if said.is_away:
        words = f"npm cannot reach its registry: {said.last_words}."
        return error(Code.E_AGENT_INSTALL, words, next_step="Check the network and `npm config get registry`.")
    if "E404" in said.stderr or "ETARGET" in said.stderr or "No match found" in said.stderr:
        return error(
            Code.E_AGENT_NOT_FOUND, f"npm has no {what}.", next_step=f"See `npm view {package.name} versions`."
        )
    return error(Code.E_AGENT_INSTALL, f"npm could not install {what}: {said.last_words}.")
