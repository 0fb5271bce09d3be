"""Turns whose agent changes files, on work trees in memory."""

import asyncio
from collections.abc import AsyncIterator

from fairlead.core.engine import (
    EngineEvent,
    HandingOver,
    Invocation,
    PointReached,
    ResumeKeyFound,
    ToolStarted,
    TurnEnded,
)
from fairlead.testing.trees import FakeTrees
from tests.flow.harness import Agent

API = "/srv/api"


def make_trees(**files: str) -> FakeTrees:
    trees = FakeTrees()
    trees.files[API] = dict(files)
    return trees


def writing_agent(trees: FakeTrees, *, seconds: float = 1.0, tools: bool = True, points: bool = False) -> Agent:
    """Its prompt says what it writes: `a.py=text b.py=` writes one file and removes the other. With `points` it can be
    set back to any place in what was said."""

    async def play(invocation: Invocation) -> AsyncIterator[EngineEvent]:
        yield HandingOver()
        yield ResumeKeyFound(invocation.resume_key or f"key of {invocation.job_id}")
        if tools:
            yield ToolStarted("1", "Edit", "")
        await asyncio.sleep(seconds)
        files = trees.files[invocation.project_path]
        for order in invocation.prompt.split():
            path, mark, text = order.partition("=")
            if mark and text:
                files[path] = f"{text}\n"
            elif mark:
                files.pop(path, None)
        if points:
            yield PointReached(f"after {invocation.prompt}")
        yield TurnEnded("Done.")

    return Agent(play, hand_over="told", forks=points, fork_points=points)
