"""Real agents forked through a real daemon: the fork remembers what was said before it, and each goes on by itself."""

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairlead.api import Client
from fairlead.core import requests as ask
from fairlead.core.replies import SessionForkMade, SessionSwitched
from tests.git.harness import make_repository

from .acp_daemon import AcpDaemon
from .daemon import Daemon
from .model_server import ModelServer
from .test_undo_through_the_daemon import ACP, CLI, command_for, order

pytestmark = [pytest.mark.agents, pytest.mark.anyio, pytest.mark.req("F7")]


@pytest.fixture(params=(*CLI, *ACP))
async def daemon(request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> AsyncIterator[Daemon]:
    make_repository(tmp_path / "project", a="one\n")
    name = request.param
    daemon = AcpDaemon(name, tmp_path, server) if name in ACP else Daemon(name, tmp_path, server)
    await daemon.start()
    yield daemon
    await daemon.end()


async def fork(client: Client, *, worktree: bool | None = None) -> SessionForkMade:
    made = await client.command(ask.Fork(asked_by="", worktree=worktree), "alice")
    assert isinstance(made, SessionForkMade)
    return made


async def switch(client: Client, session_id: str) -> None:
    assert isinstance(await client.command(ask.SessionSwitch(session_id), "alice"), SessionSwitched)


async def test_a_fork_remembers_and_each_goes_on_by_itself_also_after_a_crash(daemon: Daemon):
    async with daemon.client() as client:
        await order(daemon, client, "my name is Carol")
        made = await fork(client)
        await switch(client, made.forked_from)
        await order(daemon, client, "my colour is red")
    await daemon.end(signal.SIGKILL)
    await daemon.start()
    async with daemon.client() as client:
        await switch(client, made.session_id)
        first = await order(daemon, client, "what is my name?")
        assert first.splitlines()[0] == "Your name is Carol."
        assert ("it also knows what was said" in first) == (daemon.name == "codex"), "the only one that has no points"
        await order(daemon, client, "my colour is green")
        assert await order(daemon, client, "what is my colour?") == "Your colour is green."
        await switch(client, made.forked_from)
        assert await order(daemon, client, "what is my colour?") == "Your colour is red."
    keys = {fact["key"] for fact in daemon.facts("ResumeKeyLearnt")}
    assert len(keys) == 2, "each has a talk of its own"


async def test_a_fork_in_a_worktree_remembers_and_works_there(daemon: Daemon):
    async with daemon.client() as client:
        await order(daemon, client, "my name is Carol")
        made = await fork(client, worktree=True)
        assert made.branch
        await order(daemon, client, command_for(daemon, "printf 'new\\n' > b.txt"))
        assert await order(daemon, client, "what is my name?") == "Your name is Carol."
    [planned] = daemon.facts("WorktreeMade")
    assert (Path(planned["directory"]) / "b.txt").read_text() == "new\n"
    assert not (daemon.project / "b.txt").exists()
