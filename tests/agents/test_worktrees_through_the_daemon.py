"""A real Claude that works in a worktree of its own: it edits and commits there, and a person merges."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairlead.api import Client
from fairlead.core import requests as ask
from fairlead.core.replies import WorktreeShown, WorktreeWasMerged
from tests.git.harness import git, make_repository

from .daemon import Daemon, ended
from .model_server import ModelServer

pytestmark = [pytest.mark.agents, pytest.mark.anyio, pytest.mark.req("F5")]

GIT = "git -c user.name=Claude -c user.email=claude@example.org"


@pytest.fixture
async def daemon(tmp_path: Path, server: ModelServer) -> AsyncIterator[Daemon]:
    make_repository(tmp_path / "project", a="one\n")
    daemon = Daemon("claude", tmp_path, server)
    await daemon.start()
    yield daemon
    await daemon.end()


async def order(daemon: Daemon, client: Client, text: str) -> str:
    """Every permission is given. The answer."""
    accepted = await client.submit("alice", text, tool="claude")
    over = asyncio.ensure_future(ended(client, accepted.job_id))
    while not over.done():
        asked = asyncio.ensure_future(daemon.question(client))
        await asyncio.wait({over, asked}, return_when=asyncio.FIRST_COMPLETED)
        if asked.done() and not over.done():
            await client.respond(asked.result().question_id, "allow", user="alice")
        asked.cancel()
    job = await over
    assert job.state == "success", job.error
    return job.answer


async def test_claude_edits_and_commits_in_its_worktree_and_a_person_merges(daemon: Daemon):
    async with daemon.client() as client:
        made = await client.command(ask.WorktreeMake(), "alice")
        assert isinstance(made, WorktreeShown)
        path = Path(made.worktree.path)
        await order(daemon, client, "my name is Alice")
        said = await order(daemon, client, f"run: pwd && echo new > b.txt && {GIT} add -A && {GIT} commit -qm work")
        assert str(path) in said
        assert git(path, "log", "--format=%s %an").splitlines()[0] == "work Claude"
        assert not (daemon.project / "b.txt").exists()
        merged = await client.command(ask.Merge(), "alice")
        assert isinstance(merged, WorktreeWasMerged)
        assert merged.result is not None
        assert merged.result.files == ("b.txt",)
        assert (daemon.project / "b.txt").read_text() == "new\n"
        assert await order(daemon, client, "what is my name?") == "Your name is Alice."


async def test_claude_resolves_a_conflict_and_a_person_approves(daemon: Daemon):
    async with daemon.client() as client:
        made = await client.command(ask.WorktreeMake(), "alice")
        assert isinstance(made, WorktreeShown)
        await order(daemon, client, f"run: echo theirs > a && {GIT} commit -qam theirs")
        (daemon.project / "a").write_text("mine\n")
        git(daemon.project, "commit", "-qam", "mine")
        stopped = await client.command(ask.Merge(), "alice")
        assert isinstance(stopped, WorktreeWasMerged)
        assert stopped.conflict is not None
        resolving = await ended(client, stopped.conflict.job_id)
        assert "git rebase main" in resolving.prompt
        await order(
            daemon,
            client,
            f"run: {GIT} rebase main; echo both > a && {GIT} add a && {GIT} -c core.editor=true rebase --continue",
        )
        merged = await client.command(ask.Merge(), "alice")
        assert isinstance(merged, WorktreeWasMerged)
        assert merged.conflict is None
    assert (daemon.project / "a").read_text() == "both\n"
    assert git(daemon.project, "log", "--format=%s").split() == ["theirs", "mine", "first"]
