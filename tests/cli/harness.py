"""`fairlead` as people run it: a real process with a home of its own and nothing else in its environment."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

PATIENCE = 60


def surroundings(home: Path, **settings: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return kept | {"HOME": str(home), "PYTHONUNBUFFERED": "1", "FAIRLEAD_HTTP_PORT": "0"} | settings


def run(home: Path, *args: str, stdin: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fairlead", *args],
        env=surroundings(home, **settings),
        cwd=home,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def state_of(home: Path) -> Path:
    return home / ".local/state/fairlead/state"


class Daemon:
    """A running `fairlead up`. Everything it says is kept in `said`."""

    def __init__(self, home: Path, *, starter: Sequence[str] = (), **settings: str) -> None:
        self.home = home
        self.said: list[str] = []
        self.process = subprocess.Popen(
            [*starter, sys.executable, "-m", "fairlead", "up"],
            env=surroundings(home, **settings),
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def wait_for(self, words: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.rstrip("\n"))
            if words in line:
                return line
        raise AssertionError(f"it ended without saying {words!r}: {self.said}")

    def is_up(self) -> "Daemon":
        self.wait_for("projects")
        return self

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=PATIENCE)
        self.said += rest.splitlines()
        return self.process.returncode

    def call(self, path: str, body: Any = None, *, method: str = "") -> tuple[int, Any]:
        state = state_of(self.home)
        request = urllib.request.Request(
            (state / "http-address").read_text().strip() + path,
            data=None if body is None else json.dumps(body).encode(),
            method=method or ("GET" if body is None else "POST"),
            headers={
                "Authorization": f"Bearer {(state / 'http-token').read_text().strip()}",
                "Content-Type": "application/json",
                "Prefer": "respond-async",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.loads(refused.read())
