"""Where installed agents live below the state directory, and how one gets there whole or not at all.

    agents/NAME/VERSION-xxxxxx/     an installed agent; only what the journal names is in use
    agents/.building-xxxxxx/        one that is being made; renamed when it is whole
    agents/.releases/SOURCE@VERSION what is kept of a release when its files are gone: its digest, its lock file
    agents/.lock                    held by the one process that installs or removes

1. A name below agents/ means nothing until the journal has it, so an install that is killed leaves nothing half made.
2. Files go only after the fact that they are no longer used is durable.
"""

import hashlib
import os
import secrets
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec

from fairlead.core.agents import ConfiguredAgent
from fairlead.errors import Code, error
from fairlead.kit.files import (
    REAL_DISK,
    AlreadyLocked,
    Lock,
    lock_file,
    make_private_directory,
    read_if_there,
    replace_durably,
)
from fairlead.runtimes.install.commands import program_of
from fairlead.state_directory import AGENTS_NAME

_BUILDING: Final = ".building-"
_RELEASES: Final = ".releases"
_NOTE: Final = "installed.json"
_DIGEST: Final = "digest"


class InstallNote(msgspec.Struct, frozen=True, kw_only=True):
    """Stands beside the files of an installed agent. `program` is below the directory."""

    name: str
    source: str
    version: str
    digest: str
    program: str
    program_sha256: str


class AgentFiles:
    def __init__(self, state_dir: Path) -> None:
        self.root = state_dir / AGENTS_NAME

    def lock(self) -> Lock:
        """Raises E_STATE_LOCKED if another process installs or removes an agent now. What a killed one had begun to
        make is gone when this returns."""
        make_private_directory(self.root)
        try:
            lock = lock_file(self.root / ".lock", "fairlead agent")
        except AlreadyLocked as held:
            who = f"process {held.pid}" if held.pid else "another process"
            raise error(
                Code.E_STATE_LOCKED,
                f"{who} installs or removes an agent in {self.root}.",
                next_step="Wait until it has ended, then run the command again.",
            ) from None
        self._remove_unfinished()
        return lock

    def _remove_unfinished(self) -> None:
        for directory in self.root.glob(f"{_BUILDING}*"):
            REAL_DISK.remove_tree(directory)

    @contextmanager
    def building(self) -> Generator[Path]:
        """A new directory to make an agent in. What was not moved away by `move_in` is gone when the block is left."""
        directory = self.root / f"{_BUILDING}{secrets.token_hex(3)}"
        make_private_directory(directory)
        try:
            yield directory
        finally:
            with suppress(FileNotFoundError):
                REAL_DISK.remove_tree(directory)

    def choose_place(self, name: str, version: str) -> Path:
        """A directory that is not there yet. Its name is never used again, so a new copy replaces no old one."""
        return self.root / name / f"{version}-{secrets.token_hex(3)}"

    def move_in(self, built: Path, place: Path, note: InstallNote) -> None:
        """Durably: when this returns, a power cut leaves every file of the agent whole."""
        (built / _NOTE).write_bytes(msgspec.json.encode(note))
        make_private_directory(place.parent)
        os.sync()  # thousands of files: one by one would take minutes
        REAL_DISK.replace(built, place)
        REAL_DISK.sync_directory(place.parent)

    def place_of(self, agent: ConfiguredAgent) -> Path | None:
        """The directory that Fairlead installed the agent in; None for an agent that a person installed."""
        program = Path(program_of(agent.command))
        own = self.root / agent.name
        return own / program.relative_to(own).parts[0] if program.is_relative_to(own) and program != own else None

    def remove(self, agent: ConfiguredAgent) -> None:
        place = self.place_of(agent)
        if place is not None:
            self.remove_place(place)

    def remove_place(self, place: Path) -> None:
        with suppress(FileNotFoundError):
            REAL_DISK.remove_tree(place)
        with suppress(OSError):  # other versions are still there
            place.parent.rmdir()

    def find_damage(self, agent: ConfiguredAgent) -> str:
        """What is wrong with the files of an agent that Fairlead installed; empty if nothing is."""
        place = self.place_of(agent)
        if place is None:
            return ""
        try:
            note = msgspec.json.decode((place / _NOTE).read_bytes(), type=InstallNote)
            program = sha256_of(place / note.program)
        except (OSError, msgspec.DecodeError):
            return f"its files in {place} are gone or cannot be read"
        if note.digest != agent.digest:
            return f"{place} holds another release than the journal says"
        return "" if program == note.program_sha256 else f"{place / note.program} was changed since it was installed"

    def forget_unnamed(self, agents: Iterable[ConfiguredAgent]) -> None:
        """Remove what no agent names: an install that was killed, and versions that ran while they were replaced. For a
        start, when no agent runs; while somebody installs, nothing is removed."""
        if not self.root.is_dir():
            return
        with suppress(AlreadyLocked), lock_file(self.root / ".lock", "fairlead"):
            self._remove_unfinished()
            kept = {place for agent in agents if (place := self.place_of(agent)) is not None}
            for place in [each for each in self.root.glob("[!.]*/*") if each not in kept]:
                self.remove_place(place)

    def release(self, source: str, version: str) -> "KeptRelease":
        return KeptRelease(self.root / _RELEASES / quote(f"{source}@{version}", safe="@"))


class KeptRelease:
    """What is kept of a release, so that the same files come when it is installed again."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self, name: str) -> bytes | None:
        return read_if_there(self._directory / name)

    def keep(self, name: str, data: bytes) -> None:
        make_private_directory(self._directory)
        replace_durably(self._directory / name, data)

    def check_digest(self, digest: str, what: str) -> None:
        """Raises E_AGENT_DIGEST if the release had other content when it was first installed."""
        first = (self.read(_DIGEST) or b"").decode()
        if first and first != digest:
            raise error(
                Code.E_AGENT_DIGEST, f"{what} has the digest {digest}; it was {first} when it was first installed."
            )

    def keep_digest(self, digest: str) -> None:
        if digest and self.read(_DIGEST) is None:
            self.keep(_DIGEST, digest.encode())


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
