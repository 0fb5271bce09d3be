"""Rows about the files of projects: a snapshot of many, what it costs the start of an agent, and `/changes`."""

import asyncio
import os
import statistics
import subprocess
import time
from pathlib import Path
from typing import Final

from benchmarks.agents import daemon_with, submit_message, until_all_ended
from benchmarks.punctual import Punctual
from benchmarks.rows import Row, paired_at_most
from fairlead.core.trees import TreeSnapshot
from fairlead.git.command import Git
from fairlead.git.tree_status import FileLimits
from fairlead.git.work_trees import GitWorkTrees
from fairlead.kit.files import make_private_directory
from fairlead.runtimes.clean_ups import ANSWER_FIRST_SEC

FILES: Final = 50_000
CHANGED: Final = 200
TIMES: Final = 9
STARTS: Final = 40
_REST: Final = ANSWER_FIRST_SEC + 0.05
_SMALL_DELAY_MS: Final = 5.0
_ENV: Final = {
    "PATH": os.environ["PATH"],
    "HOME": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@localhost",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@localhost",
}


async def tree_rows(home: Path) -> list[Row]:
    make_private_directory(home)
    many = make_repository(home / "many", FILES)
    git = Git(os.environ)
    try:
        trees = GitWorkTrees(git, home / "state", limits=FileLimits(), home=home)
        return [
            await snapshot_row(trees, many),
            await changes_row(trees, many),
            await delay_row(home / "delay"),
        ]
    finally:
        git.close()


def make_repository(directory: Path, files: int) -> Path:
    """So many small files in directories of a hundred, all in one commit."""
    for number in range(files):
        path = directory / f"d{number // 100:04}" / f"f{number:06}.py"
        if number % 100 == 0:
            path.parent.mkdir(parents=True)
        path.write_text(f"def f{number}():\n    return {number}\n")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run(["git", *arguments], cwd=directory, env=_ENV, check=True)
    return directory


def run_git(directory: Path, *arguments: str) -> float:
    began = time.perf_counter()
    subprocess.run(["git", *arguments], cwd=directory, env=_ENV, check=True, stdout=subprocess.PIPE)
    return time.perf_counter() - began


async def take(trees: GitWorkTrees, project: Path) -> TreeSnapshot:
    taken = await trees.snapshot(str(project), "bench")
    assert taken is not None
    return taken


async def snapshot_row(trees: GitWorkTrees, project: Path) -> Row:
    """A person or an agent has changed a file since the last one, so each stores something."""
    await take(trees, project)
    run_git(project, "status")
    ours: list[float] = []
    floors: list[float] = []
    for number in range(TIMES):
        (project / "d0000" / "f000000.py").write_text(f"changed {number}\n")
        floors.append(run_git(project, "status"))
        began = time.perf_counter()
        await take(trees, project)
        ours.append(time.perf_counter() - began)
    return paired_at_most(
        f"snapshot of {FILES:,} files, second time",
        [second * 1e3 for second in ours],
        [second * 1e3 for second in floors],
        floor_name="git status of the same tree, warm",
        unit="ms",
        factor=1.5,
    )


async def changes_row(trees: GitWorkTrees, project: Path) -> Row:
    before = await take(trees, project)
    for number in range(CHANGED):
        path = project / f"d{number:04}" / f"f{number * 100:06}.py"
        path.write_text("".join(f"line {line} of {number}\n" for line in range(40)))
    after = await take(trees, project)
    await trees.keep(str(project), {"bench/before": before.commit, "bench/after": after.commit})
    ours: list[float] = []
    floors: list[float] = []
    for _ in range(TIMES * 3):
        floors.append(run_git(project, "diff", before.commit, after.commit))
        began = time.perf_counter()
        shown = await trees.show_changes(str(project), before.commit, after.commit)
        ours.append(time.perf_counter() - began)
        assert len(shown.files) == CHANGED
    return paired_at_most(
        f"/changes of a turn with {CHANGED} files",
        [second * 1e3 for second in ours],
        [second * 1e3 for second in floors],
        floor_name="git diff of the same",
        unit="ms",
        factor=1.3,
    )


async def delay_row(home: Path) -> Row:
    """From an accepted message to the agent's own clock, with snapshots and without, in turn."""
    agent = Punctual(home)
    for each in ("on", "off"):
        make_repository(home / each / "project", 30)
    with_them: list[float] = []
    without: list[float] = []
    command = {"gemini_command": str(agent.program)}
    async with (
        daemon_with(home / "on", command) as on,
        daemon_with(home / "off", {**command, "tree_snapshots": False}) as off,
    ):
        for number in range(STARTS):
            for daemon, measured in ((on, with_them), (off, without)):
                await asyncio.sleep(_REST)
                accepted = await submit_message(daemon, number, "gemini")
                await until_all_ended(daemon)
                measured.append((agent.moments()[-1] - accepted) * 1e3)
    ours, floor = statistics.median(with_them[3:]), statistics.median(without[3:])
    return Row(
        name="start of an agent with a snapshot, small project",
        measured=ours,
        floor=floor,
        floor_name="the same start without it",
        unit="ms",
        reach=f"≤ + {_SMALL_DELAY_MS:.0f} ms",
        reached=ours <= floor + _SMALL_DELAY_MS,
    )
