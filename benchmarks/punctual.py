"""An agent that writes down the moment it runs, and nothing else: how long did it take to get there?"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fairlead.kit.files import make_private_directory

# It takes gemini's place, which lives for one turn; that the turn fails is not what is measured.
_PROGRAM: Final = '#!/bin/sh\ncase "$1" in --version) echo 0.61.0; exit;; esac\ndate +%s%N >> "{file}"\nexit 1\n'


class Punctual:
    def __init__(self, directory: Path) -> None:
        self._moments = directory / "started.txt"
        self.bin = directory / "bin"
        make_private_directory(self.bin)
        self.program = self.bin / "gemini"
        self.program.write_text(_PROGRAM.format(file=self._moments))
        self.program.chmod(0o755)

    def moments(self) -> list[float]:
        """When each of them ran, by the clock on the wall."""
        if not self._moments.exists():
            return []
        return [int(line) / 1e9 for line in self._moments.read_text().split()]

    async def next_moment(self, after: int) -> float:
        """When the one after the first `after` ran. Looked for seldom: looking takes time from who is measured."""
        while len(found := self.moments()) <= after:  # noqa: ASYNC110 - a file announces nothing
            await asyncio.sleep(0.2)
        return found[after]

    async def spawn_bare(self, env: Mapping[str, str]) -> None:
        """The same command with the same pipes, and nothing around it."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            self.program, "-p", stdin=pipe, stdout=pipe, stderr=pipe, cwd=self.bin, env=env, start_new_session=True
        )
        await process.communicate()
