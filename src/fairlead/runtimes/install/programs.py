"""Runs npm, pip and the like, with a time limit; the whole family ends with its owner. Knows no package."""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from fairlead.errors import Code, error
from fairlead.kit.processes import AT_ONCE, OwnedProcess, ProgramNotExecutable, ProgramNotFound
from fairlead.runtimes.environment import child_environment

INSTALL_SEC: Final = 900.0
ASK_SEC: Final = 60.0
_OWN_PREFIXES: Final = ("NPM_", "npm_", "NODE_", "PIP_")
_TAIL_LINES: Final = 6

_USELESS: Final = ("complete log of this run", "/_logs/", "pip index is currently an experimental command")
_AWAY: Final = (
    "ENOTFOUND",
    "ECONNREFUSED",
    "ECONNRESET",
    "ETIMEDOUT",
    "EAI_AGAIN",
    "ENETUNREACH",
    "Failed to establish a new connection",
    "Connection refused",
    "Temporary failure in name resolution",
)


class ProgramOutput(msgspec.Struct, frozen=True):
    code: int
    stdout: str
    stderr: str

    @property
    def last_words(self) -> str:
        """The end of what it said, for an error: npm ends with the name of a log file, which says nothing here."""
        lines = [line.strip() for line in (self.stderr.strip() or self.stdout).splitlines()]
        useful = [line for line in lines if line and not any(word in line for word in _USELESS)]
        return " / ".join(useful[-_TAIL_LINES:])[:600]

    @property
    def is_away(self) -> bool:
        """The index of packages did not respond."""
        return any(word in self.stderr for word in _AWAY)


class InstallPrograms:
    """`environment` is the owner's: of it, an installer sees what every program sees, and its own settings. It runs
    code of strangers, so it gets none of Fairlead's variables and no key of an agent."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._env = child_environment(environment, own_prefixes=_OWN_PREFIXES)

    @property
    def path(self) -> str:
        return self._env.get("PATH", "")

    async def run(
        self, argv: Sequence[str], *, cwd: Path, limit_sec: float = INSTALL_SEC, to_have_it: str = ""
    ) -> ProgramOutput:
        """Raises E_AGENT_INSTALL if the program is not there or does not end; a failure of its own is in `code`."""
        mark = f"fairlead-install:{secrets.token_hex(4)}"
        try:
            async with asyncio.timeout(limit_sec):
                async with OwnedProcess.spawn(
                    argv, cwd=cwd, env=self._env, mark=mark, stdin="empty", grace=AT_ONCE
                ) as process:
                    lines = [line.decode(errors="replace") async for line in process.lines()]
                    code = await process.wait()
        except TimeoutError:
            raise error(Code.E_AGENT_INSTALL, f"`{' '.join(argv[:3])}` did not end within {limit_sec:.0f} s.") from None
        except (ProgramNotFound, ProgramNotExecutable) as fault:
            raise error(Code.E_AGENT_INSTALL, f"{fault}.", next_step=to_have_it) from None
        return ProgramOutput(code, "\n".join(lines), process.stderr_tail.decode(errors="replace"))
