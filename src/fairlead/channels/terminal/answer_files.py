"""Files of an answer on this machine, where any program can open them: the API wants a token, a browser has none."""

import re
import shutil
import time
from pathlib import Path
from typing import Final

from fairlead.api import Client
from fairlead.api import wire as w
from fairlead.kit.files import make_private_directory

KEPT_SEC: Final = 7 * 24 * 3600.0
_UNSAFE: Final = re.compile(r"[^\w.\- ]")


async def save_files(client: Client, job: w.JobInfo | w.SentInfo, directory: Path) -> list[tuple[str, str]]:
    """Names and paths. What is older than a week goes: an answer's files can be fetched again. Raises what the client
    raises, and OSError."""
    if not job.files:
        return []
    make_private_directory(directory)
    _forget_old(directory)
    own = directory / (job.sent_id if isinstance(job, w.SentInfo) else job.job_id)
    make_private_directory(own)
    saved: list[tuple[str, str]] = []
    for number, file in enumerate(job.files, 1):
        path = own / safe_name(file.name, number)
        path.write_bytes(await client.file(file.url))
        path.chmod(0o600)
        saved.append((file.name, str(path)))
    return saved


def safe_name(name: str, number: int) -> str:
    """An agent chose the name: nothing of it leads out of the directory, hides a file or confuses a shell."""
    bare = _UNSAFE.sub("_", name.replace("/", "_"))[-100:].lstrip(".- ")
    return bare or f"file-{number}"


def _forget_old(directory: Path) -> None:
    oldest = time.time() - KEPT_SEC
    for old in directory.iterdir():
        if old.is_dir() and not old.is_symlink() and old.stat().st_mtime < oldest:
            shutil.rmtree(old, ignore_errors=True)
