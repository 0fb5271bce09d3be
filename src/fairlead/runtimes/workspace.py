"""The words a project's workspace adds to a prompt: context files at the start of a session, the note every time."""

import os
from pathlib import Path

import msgspec

from fairlead.kit.files import read_regular

CONTEXT_FILES = ("SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "BOOTSTRAP.md")
BOOTSTRAP = "BOOTSTRAP.md"
LARGEST_FILE = 64 * 1024


class ContextFile(msgspec.Struct, frozen=True):
    name: str
    text: str


class Context(msgspec.Struct, frozen=True):
    files: tuple[ContextFile, ...] = ()
    warnings: tuple[str, ...] = ()


def read_context(workspace: Path, *, system_prompt_is_set: bool) -> Context:
    """With an appended system prompt the files are left out: their content is in it."""
    present = _find_context_files(workspace)
    if not system_prompt_is_set:
        return _read_files(workspace, present)
    if BOOTSTRAP not in present:
        return Context()
    skipped = f"{workspace / BOOTSTRAP} is still there and is not read while CLAUDE_APPEND_SYSTEM_PROMPT is set."
    return Context(warnings=(f"{skipped} Unset the variable so that it is read once, or remove the file.",))


def _find_context_files(workspace: Path) -> list[str]:
    """The names, in the order they are read. The directory is listed once: every turn looks, and most find none."""
    try:
        there = {entry.name for entry in os.scandir(workspace) if entry.name in CONTEXT_FILES and not entry.is_dir()}
    except (FileNotFoundError, NotADirectoryError):
        return []  # the project has no workspace yet
    return [name for name in CONTEXT_FILES if name in there]


def _read_files(workspace: Path, names: list[str]) -> Context:
    files: list[ContextFile] = []
    warnings: list[str] = []
    for name in names:
        try:
            content = read_regular(workspace / name, LARGEST_FILE + 1)
        except OSError as fault:
            warnings.append(f"{workspace / name} could not be read: {fault.strerror}.")
            continue
        if len(content) > LARGEST_FILE:
            warnings.append(f"{workspace / name} is cut at {LARGEST_FILE} bytes.")
        files.append(ContextFile(name, content[:LARGEST_FILE].decode(errors="replace")))
    if BOOTSTRAP in names:
        warnings.append(f"{workspace / BOOTSTRAP} is added to every new conversation until it is removed.")
    return Context(tuple(files), tuple(warnings))
