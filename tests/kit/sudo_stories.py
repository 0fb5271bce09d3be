"""Stories of a process that is not root and starts children as another user, run as that process. Each prints JSON."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from fairlead.kit.confinement import confine_children
from fairlead.kit.other_user import SudoUser
from fairlead.kit.process_sweep import sweep
from fairlead.kit.processes import Grace, OwnedProcess
from tests.kit.harness import CHILDREN

BRIEF = Grace(interrupt=0.1, terminate=0.1)
MARK = "sudo-story:job"


async def show_child(env: dict[str, str]) -> dict[str, Any]:
    """What a child sees of its environment, its arguments, its user and its standard input."""
    script = (
        "import json, os, sys; print(json.dumps({'env': dict(os.environ), 'argv': sys.argv[1:], 'uid': os.getuid(),"
        " 'gids': os.getgroups(), 'cwd': os.getcwd(), 'stdin': sys.stdin.read()}))"
    )
    argv = [sys.executable, "-I", "-c", script, "two words", "a 'quote'", "$HOME", "line\nbreak"]
    async with OwnedProcess.spawn(argv, cwd=Path("/usr"), env=env, mark=MARK, grace=BRIEF) as process:
        await process.write(b"first line\nsecond")
        process.close_stdin()
        return json.loads(b"".join([line async for line in process.lines()]))


async def empty_input(_env: dict[str, str]) -> str:
    argv = [sys.executable, "-I", "-c", "import sys; print(repr(sys.stdin.read()))"]
    async with OwnedProcess.spawn(argv, cwd=Path("/"), env={}, mark=MARK, stdin="empty", grace=BRIEF) as process:
        return (await anext(process.lines())).decode()


async def end_stubborn(_env: dict[str, str]) -> dict[str, Any]:
    async with OwnedProcess.spawn(
        [sys.executable, "-I", CHILDREN, "stubborn"], cwd=Path("/"), env={}, mark=MARK, grace=BRIEF
    ) as process:
        lines = process.lines()
        pids = [int((await anext(lines)).split()[1]) for _ in range(2)]
        ending = await process.end(BRIEF)
    killed = [(swept.pid, swept.mark, swept.survived) for swept in ending.killed]
    return {"pids": pids, "returncode": ending.returncode, "killed": killed}


async def die(_env: dict[str, str]) -> None:
    """Leaves a stubborn child and its orphan behind, as a killed daemon does."""
    async with OwnedProcess.spawn(
        [sys.executable, "-I", CHILDREN, "stubborn"], cwd=Path("/"), env={}, mark=MARK
    ) as process:
        lines = process.lines()
        print(json.dumps([int((await anext(lines)).split()[1]) for _ in range(2)]), flush=True)
        os._exit(9)


async def sweep_left_over(_env: dict[str, str]) -> list[Any]:
    found = await asyncio.to_thread(sweep, "sudo-story:")
    return [(swept.pid, swept.mark, swept.survived) for swept in found]


def main() -> None:
    story, user, env = sys.argv[1:]
    with confine_children([SudoUser(user, "/usr/bin/sudo")]):
        found = asyncio.run(globals()[story](json.loads(env)))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
