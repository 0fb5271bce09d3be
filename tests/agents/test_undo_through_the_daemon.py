"""Real agents change real files through a real daemon: what changed is shown, goes back, and comes again."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairlead.api import Client
from fairlead.core import requests as ask
from fairlead.core.replies import ChangesShown, TurnsUndone
from tests.git.harness import make_repository, own_files_of

from .acp_daemon import AcpDaemon
from .acp_program import AcpName
from .daemon import Daemon, ended
from .model_server import ModelServer
from .test_acp_through_the_daemon import asking_for

pytestmark = [pytest.mark.agents, pytest.mark.anyio, pytest.mark.req("F1", "F2", "F4")]

ACP: tuple[AcpName, ...] = ("claude-agent-acp", "codex-acp")
CLI = ("claude", "codex")
EDIT = "printf 'changed\\n' > a && printf 'new\\n' > b.txt && rm c"


@pytest.fixture(params=(*CLI, *ACP))
async def daemon(request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> AsyncIterator[Daemon]:
    make_repository(tmp_path / "project", a="one\n", c="gone soon\n")
    name = request.param
    daemon = AcpDaemon(name, tmp_path, server) if name in ACP else Daemon(name, tmp_path, server)
    await daemon.start()
    yield daemon
    await daemon.end()


async def order(daemon: Daemon, client: Client, text: str) -> str:
    """Every permission is given. The answer."""
    accepted = await client.submit("alice", text, tool=daemon.name)
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


def command_for(daemon: Daemon, command: str) -> str:
    return asking_for(daemon, command) if isinstance(daemon, AcpDaemon) else f"run: {command}"


async def test_what_an_agent_changed_is_shown_goes_back_and_comes_again(daemon: Daemon):
    project = daemon.project
    own = own_files_of(project / ".git")
    async with daemon.client() as client:
        await order(daemon, client, "my name is Alice")
        await order(daemon, client, command_for(daemon, EDIT))
        assert (project / "b.txt").read_text() == "new\n"
        shown = await client.command(ask.Changes(), "alice")
        assert isinstance(shown, ChangesShown)
        assert [(file.path, file.kind) for file in shown.files] == [
            ("a", "modified"),
            ("b.txt", "added"),
            ("c", "deleted"),
        ]
        assert "-one\n+changed\n" in shown.diff
        (project / "mine").write_text("a person's own\n")
        undone = await client.command(ask.Undo(), "alice")
        assert isinstance(undone, TurnsUndone)
        assert {path.name for path in project.iterdir()} == {".git", "README.md", "a", "c", "mine"}
        assert ((project / "a").read_text(), (project / "c").read_text()) == ("one\n", "gone soon\n")
        assert undone.is_set_back == (daemon.name in {"claude", "claude-acp", "codex-acp"})
        assert await order(daemon, client, "what is my name?") == "Your name is Alice."
        await client.command(ask.Redo(), "alice")
        assert ((project / "a").read_text(), (project / "c").exists()) == ("changed\n", False)
    assert own_files_of(project / ".git") == own


async def test_what_was_said_goes_back_where_the_agent_can(daemon: Daemon, server: ModelServer):
    async with daemon.client() as client:
        await order(daemon, client, "my name is Alice")
        await order(daemon, client, "my name is Bob")
        undone = await client.command(ask.Undo(what="talk"), "alice")
        assert isinstance(undone, TurnsUndone)
        answer = await order(daemon, client, "what is my name?")
        heard = str(server.turns[-1].body)
        if undone.is_set_back:
            assert answer == "Your name is Alice."
            assert "Bob" not in heard
        else:
            assert "the person took back #2" in heard
