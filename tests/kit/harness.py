"""Real children with a mark of their test."""

import asyncio
import os
import sys
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from fairlead.kit.processes import (
    Grace,
    OwnedProcess,
)

CHILDREN = str(Path(__file__).with_name("children.py"))
BRIEF = Grace(interrupt=0.1, terminate=0.1)
PATIENT = Grace(interrupt=600, terminate=600)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(60):  # a hanging story fails instead of hanging the run
            return await work

    return asyncio.run(bounded())


def child(mark: str, *story: str, **options: Any) -> AbstractAsyncContextManager[OwnedProcess]:
    options = {"cwd": Path(__file__).parent, "env": dict(os.environ), "grace": BRIEF, **options}
    return OwnedProcess.spawn([sys.executable, CHILDREN, *story], mark=mark, **options)


async def two_pids(process: OwnedProcess) -> list[int]:
    """Of the stubborn child and of its orphan, once both have said that they are there."""
    lines = process.lines()
    return [int((await anext(lines)).split()[1]) for _ in range(2)]
