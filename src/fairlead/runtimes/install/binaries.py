"""Agents that a registry offers as a program to download. No registry gives hashes, so the first digest is kept."""

import asyncio
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from fairlead.errors import Code, error
from fairlead.runtimes.install.agent_files import KeptRelease
from fairlead.runtimes.install.archives import unpack
from fairlead.runtimes.install.built import Built
from fairlead.runtimes.install.download import OnProgress, check_origin, download, resolve
from fairlead.runtimes.install.offers import Binary

_FILES: Final = "files"


async def build_binary(binary: Binary, build: Path, kept: KeptRelease, *, index: str, on_progress: OnProgress) -> Built:
    """The digest is compared before anything is unpacked, and nothing is run here."""
    where = resolve(binary.run.archive, index)
    check_origin(where, index)
    archive = build / "download"
    digest = await download(where, archive, on_progress)
    kept.check_digest(digest, f"{where} ({binary.agent} {binary.version})")
    (build / _FILES).mkdir()
    await asyncio.to_thread(unpack, archive, _name_of(where), build / _FILES)
    archive.unlink()
    program = _find_program(binary, build / _FILES, _name_of(where))
    return Built(
        version=binary.version,
        digest=digest,
        program=f"{_FILES}/{program}",
        arguments=binary.run.args,
        env=binary.run.env,
    )


def _name_of(where: str) -> str:
    return PurePosixPath(unquote(urlsplit(where).path)).name or "program"


def _find_program(binary: Binary, files: Path, archive_name: str) -> str:
    """`cmd` is a path in the archive; where the download is the program itself, its own name."""
    root = files.resolve()
    for path in (PurePosixPath(binary.run.cmd), PurePosixPath(archive_name)):
        place = (files / path).resolve()
        if place.is_relative_to(root) and place.is_file():
            place.chmod(0o700)
            return str(place.relative_to(root))
    raise error(
        Code.E_AGENT_INSTALL,
        f"The archive of {binary.agent} {binary.version} has no {binary.run.cmd}, its program in the registry.",
        next_step="Tell the registry, or install the agent by hand: `fairlead agent add NAME -- COMMAND`.",
    )
