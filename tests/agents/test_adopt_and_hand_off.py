"""A session that was begun with the CLI alone goes on in Fairlead, goes back to the CLI, and comes back."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fairlead.core import replies as told
from fairlead.core import requests as ask
from fairlead.errors import Code, FairleadError

from .acp_daemon import AcpDaemon
from .acp_program import AcpName
from .daemon import Daemon
from .drive import Cli, answer_of, session_of, turn_arguments
from .environment import AgentName
from .model_server import ModelServer

pytestmark = [pytest.mark.agents, pytest.mark.anyio, pytest.mark.req("F8", "F9")]


class ShellCli(Cli):
    """The same CLI as a daemon's, with its home and its project."""

    def __init__(self, name: AgentName, daemon: Daemon) -> None:
        self.name = name
        self.project = daemon.project
        self.environment = {k: value for k, value in daemon.environment.items() if not k.startswith("FAIRLEAD_")}


class Desk:
    """A person's machine: a CLI in a shell, and a daemon in front of the same one, or of an ACP agent that runs it."""

    def __init__(self, name: AgentName, daemon: Daemon) -> None:
        self.daemon = daemon
        self.cli = ShellCli(name, daemon)

    async def say_in_shell(self, prompt: str, key: str | None = None) -> tuple[str, str]:
        """The id of the session, and the answer."""
        ran = await self.cli.turn(prompt, resume=key)
        assert ran.exit_code == 0, ran.stderr
        return session_of(self.cli.name, ran), answer_of(self.cli.name, ran)

    async def command(self, request: ask.Request) -> told.Reply:
        async with self.daemon.client() as client:
            return await client.command(request, "alice")

    async def refused(self, request: ask.Request) -> FairleadError:
        with pytest.raises(FairleadError) as caught:
            await self.command(request)
        return caught.value

    @asynccontextmanager
    async def open_in_shell(self, key: str) -> AsyncGenerator[asyncio.subprocess.Process]:
        """A CLI that has the session open: it waits for its model, for as long as nobody ends it."""
        async with self.cli.start(*turn_arguments(self.cli.name, "hang", resume=key)) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            process.stdin.close()
            await process.stdout.readline()
            yield process


@pytest.fixture(params=["claude", "codex"])
async def desk(request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> AsyncIterator[Desk]:
    desk = Desk(request.param, Daemon(request.param, tmp_path, server))
    await desk.daemon.start()
    yield desk
    await desk.daemon.end()


@pytest.fixture(params=["claude", "codex"])
async def acp_desk(request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> AsyncIterator[Desk]:
    agent: AcpName = "claude-agent-acp" if request.param == "claude" else "codex-acp"
    desk = Desk(request.param, AcpDaemon(agent, tmp_path, server, (request.param,)))
    await desk.daemon.start()
    yield desk
    await desk.daemon.end()


async def test_what_was_begun_in_a_shell_goes_on_here_and_back_there_and_comes_back(desk: Desk):
    key, _ = await desk.say_in_shell("my name is Alice")
    other, _ = await desk.say_in_shell("say: something else")

    listed = await desk.command(ask.SessionAdopt())
    assert isinstance(listed, told.SessionAdoption)
    assert listed.offered is not None
    rows = {row.key: row for row in listed.offered.sessions}
    assert (rows[key].first_words, rows[key].exchanges, rows[key].tool) == ("my name is Alice", 1, desk.cli.name)
    assert [row.key for row in listed.offered.sessions] == [other, key]

    adopted = await desk.command(ask.SessionAdopt(key))
    assert isinstance(adopted, told.SessionAdoption)
    assert [exchange.prompt for exchange in adopted.latest] == ["my name is Alice"]
    assert (await desk.daemon.say("what is my name?")).answer == "Your name is Alice."

    handed_off = await desk.command(ask.HandSession())
    assert isinstance(handed_off, told.SessionHandOff)
    assert handed_off.argv[-1] == key
    async with desk.daemon.client() as client:
        waiting = await client.submit("alice", "what is my name?")
        assert waiting.held == "handed_off"
    assert await desk.say_in_shell("my name is Bob", key) == (key, "You said: my name is Bob")
    await desk.daemon.end()
    await desk.daemon.start()

    back = await desk.command(ask.HandSession("back"))
    assert isinstance(back, told.SessionHandOff)
    assert (back.exchanges, back.latest[-1].prompt, back.pending) == (1, "my name is Bob", 1)
    async with desk.daemon.client() as client:
        await desk.daemon.until(lambda: len(desk.daemon.facts("JobCompleted")) == 2)
        assert (await client.job(waiting.job_id)).answer == "Your name is Bob."


async def test_an_acp_agent_lists_what_was_begun_with_the_cli_that_it_runs(acp_desk: Desk):
    desk, agent = acp_desk, acp_desk.daemon.name
    key, _ = await desk.say_in_shell("my name is Alice")

    listed = await desk.command(ask.StoredSessionList(agent))
    assert isinstance(listed, told.StoredSessionCatalogue)
    assert [(row.key, row.tool) for row in listed.sessions] == [(key, agent)]

    adopted = await desk.command(ask.SessionAdopt(key, agent))
    assert isinstance(adopted, told.SessionAdoption)
    assert [(exchange.prompt, exchange.answer) for exchange in adopted.latest] == [
        ("my name is Alice", "You said: my name is Alice")
    ]
    assert (await desk.daemon.say("what is my name?")).answer == "Your name is Alice."

    handed_off = await desk.command(ask.HandSession())
    assert isinstance(handed_off, told.SessionHandOff)
    assert (handed_off.argv[0], handed_off.argv[-1]) == (desk.cli.name, key)
    await desk.say_in_shell("my name is Bob", key)
    async with desk.open_in_shell(key):
        assert (await desk.refused(ask.HandSession("back"))).code is Code.E_SESSION_IN_USE
    back = await desk.command(ask.HandSession("back"))
    assert isinstance(back, told.SessionHandOff)
    assert back.latest[0].prompt == "my name is Bob"
    assert (await desk.daemon.say("what is my name?")).answer == "Your name is Bob."


async def test_an_acp_agent_of_its_own_brings_back_what_was_reset(tmp_path: Path, server: ModelServer):
    daemon = AcpDaemon("opencode", tmp_path, server)
    await daemon.start()
    try:
        await daemon.say("my name is Alice")
        async with daemon.client() as client:
            await client.command(ask.Reset(), "alice")
            listed = await client.command(ask.SessionAdopt(), "alice")
            assert isinstance(listed, told.SessionAdoption)
            assert listed.offered is not None
            (row,) = listed.offered.sessions
            assert (row.tool, row.here) == ("opencode", False)
            adopted = await client.command(ask.SessionAdopt(row.key), "alice")
            assert isinstance(adopted, told.SessionAdoption)
            assert adopted.latest[0].prompt == "my name is Alice"
        assert (await daemon.say("what is my name?")).answer == "Your name is Alice."
        async with daemon.client() as client:
            handed_off = await client.command(ask.HandSession(), "alice")
        assert isinstance(handed_off, told.SessionHandOff)
        assert handed_off.argv == ("opencode", "--session", row.key)
    finally:
        await daemon.end()


@pytest.mark.parametrize("name", ["claude"])
async def test_a_message_is_not_sent_to_a_session_that_somebody_has_opened_without_a_word(
    name: AgentName, tmp_path: Path, server: ModelServer
):
    desk = Desk(name, Daemon(name, tmp_path, server))
    await desk.daemon.start()
    try:
        await desk.daemon.say("my name is Alice")
        key = desk.daemon.facts("ResumeKeyLearnt")[-1]["key"]
        async with desk.open_in_shell(key):
            failed = await desk.daemon.say("what is my name?")
            assert failed.error is not None
            assert failed.error.code == "E_SESSION_IN_USE"
        await desk.say_in_shell("my name is Bob", key)
        assert (await desk.daemon.say("what is my name?")).answer == "Your name is Bob."
    finally:
        await desk.daemon.end()


async def test_neither_is_taken_up_while_a_real_process_has_it_open(desk: Desk):
    key, _ = await desk.say_in_shell("my name is Alice")
    async with desk.open_in_shell(key) as process:
        refusal = await desk.refused(ask.SessionAdopt(key))
        assert (refusal.code, str(process.pid) in refusal.message) == (Code.E_SESSION_IN_USE, True)
    await desk.command(ask.SessionAdopt(key))
    await desk.daemon.say("what is my name?")
    await desk.command(ask.HandSession())
    async with desk.open_in_shell(key):
        assert (await desk.refused(ask.HandSession("back"))).code is Code.E_SESSION_IN_USE
    assert isinstance(await desk.command(ask.HandSession("back")), told.SessionHandOff)
