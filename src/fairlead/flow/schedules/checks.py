"""The check before a run: a command of the owner's, whose exit code 0 means run. Knows no schedule."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

import msgspec

from fairlead.kit.framing import LineTooLong
from fairlead.kit.processes import (
    AT_ONCE,
    DirectoryGone,
    OwnedProcess,
    ProgramNotExecutable,
    ProgramNotFound,
)
from fairlead.observe import log

_FAULTS: Final = (ProgramNotFound, ProgramNotExecutable, DirectoryGone, OSError)
_LONGEST_REASON: Final = 200


class CheckResult(msgspec.Struct, frozen=True):
    """`detail` says what happened, `exit code 1` for a command that ended by itself."""

    passed: bool
    detail: str


class CheckRunner(Protocol):
    async def run(self, argv: tuple[str, ...], directory: str, mark: str) -> CheckResult:
        """Never raises: a check that could not be carried out has not passed."""
        ...


class NoChecks:
    """Where no command may run."""

    async def run(self, argv: tuple[str, ...], directory: str, mark: str) -> CheckResult:  # noqa: ARG002
        return CheckResult(passed=False, detail="commands cannot run here")


class CommandChecks:
    """Runs the command in the project's directory, as the agents run: with their environment, and confined as they are.
    Nothing that it started outlives it."""

    def __init__(self, env: Mapping[str, str], limit_sec: float) -> None:
        self._env = env
        self._limit_sec = limit_sec

    async def run(self, argv: tuple[str, ...], directory: str, mark: str) -> CheckResult:
        try:
            async with asyncio.timeout(self._limit_sec):
                code = await self._exit_code(argv, Path(directory), mark)
        except TimeoutError:
            return CheckResult(passed=False, detail=f"did not end within {self._limit_sec:.0f} s")
        except _FAULTS as fault:
            return CheckResult(passed=False, detail=str(fault)[:_LONGEST_REASON])
        return CheckResult(passed=code == 0, detail=f"exit code {code}")

    async def _exit_code(self, argv: tuple[str, ...], directory: Path, mark: str) -> int:
        async with OwnedProcess.spawn(
            argv, cwd=directory, env=self._env, mark=mark, stdin="empty", grace=AT_ONCE
        ) as process:
            async for _ in process.lines(on_too_long=_ignore_long_line):
                pass  # only its exit code matters, and a full pipe would stop it
            return await process.wait()


def _ignore_long_line(line: LineTooLong) -> None:
    log.debug("a check printed a long line", message=str(line))
