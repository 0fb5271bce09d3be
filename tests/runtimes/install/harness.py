"""An installer on files of its own, with indexes on loopback: real pip, and npm where it is, or what plays npm."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from fairlead.runtimes.install.agent_files import AgentFiles
from fairlead.runtimes.install.installer import Installer
from fairlead.runtimes.install.programs import InstallPrograms
from tests.support.package_index import npm as played_npm
from tests.support.package_index.server import PackageIndex
from tests.support.scripted_acp.shim import write_shim

NPMS = ["played", *(["real"] if shutil.which("npm") else [])]
"""`make test` needs no Node: a program of the tests plays npm. Where npm is there, it must do the same."""


def write_npm(directory: Path) -> Path:
    """A directory with an `npm` in it that plays npm."""
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / "npm"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E {played_npm.__file__} "$@"\n')
    program.chmod(0o755)
    return directory


class Steps:
    """What a person would be shown."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.sizes: list[int] = []

    def begin_step(self, words: str) -> None:
        self.begun.append(words)

    def note_size(self, size: int) -> None:
        self.sizes.append(size)


class Stage:
    def __init__(self, root: Path, index: PackageIndex, *, npm: str = "played") -> None:
        self.root = root
        self.index = index
        self.files = AgentFiles(root / "state")
        self.watcher = Steps()
        path = os.environ["PATH"] if npm == "real" else f"{write_npm(root / 'npm')}:/usr/bin:/bin"
        self.environment = {"PATH": path, "HOME": str(root), **index.settings(root)}

    def installer(self, registry: str = "", **more: str) -> Installer:
        programs = InstallPrograms(self.environment | more)
        return Installer(self.files, programs, index=registry, watcher=self.watcher)

    def agent_program(self, version: str = "1.2.3", **switches: Any) -> Path:
        """An executable that is a scripted ACP agent of this version."""
        return write_shim(self.root / "programs", f"agent-{version}", bare=True, version=version, **switches)

    def leftovers(self) -> list[str]:
        """What lies in the directory of agents, but for what is kept of releases."""
        if not self.files.root.is_dir():
            return []
        return sorted(path.name for path in self.files.root.iterdir() if path.name not in {".releases", ".lock"})
