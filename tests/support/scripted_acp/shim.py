"""For tests: writes an executable that is a scripted agent, and reads the notes that the agent took."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from tests.support.scripted_acp.switches import Switches

ROOT = Path(__file__).parents[3]
Note = dict[str, Any]


def write_shim(directory: Path, name: str = "scripted-acp", /, **switches: Any) -> Path:
    """`write_shim(bin, "gemini", like="gemini", bare=True)`: an executable with its switches inside.

    The switches stand in the shim because a daemon that builds its children's environment from an allow-list would
    not pass them on. A relative path would depend on the directory that the daemon chooses, so paths are absolute.
    """
    words = [f"{key}={_text_of(value)}" for key, value in switches.items()]
    Switches.from_words(words)  # a misspelt switch fails here, in the test
    flags = ["-S", "-P"] if switches.get("bare") else ["-P"]  # the SDK is found through `site`
    program = shlex.join([sys.executable, *flags, "-m", "tests.support.scripted_acp", *words, "--"])
    directory.mkdir(parents=True, exist_ok=True)
    shim = directory / name
    lines = ["#!/bin/sh", f"export PYTHONPATH={shlex.quote(str(ROOT))}", f'exec {program} "$@"', ""]
    shim.write_text("\n".join(lines))
    shim.chmod(0o755)
    return shim


def _text_of(value: Any) -> str:
    if isinstance(value, Path):
        return str(value.absolute())
    return value if isinstance(value, str) else json.dumps(value)


def read_notes(path: Path, kind: str = "", method: str = "") -> list[Note]:
    """The notes that are whole, of one kind (start, request, notification, response, end) and method if given."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    notes: list[Note] = [json.loads(line) for line in lines]
    return [note for note in notes if kind in {"", note["kind"]} and method in {"", note.get("method")}]
