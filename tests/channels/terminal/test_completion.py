"""What is offered while a command is typed: the command by the terminal, its arguments by the server."""

from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from fairlead.api import Client
from fairlead.channels.terminal.commands import CommandLine
from fairlead.channels.terminal.completion import CommandCompleter, look_up_choices
from tests.channels.harness import a_client, run_daemon_in
from tests.support.configured_agents import ScriptedAgent, configure

pytestmark = [pytest.mark.anyio, pytest.mark.req("C6")]


async def offered(client: Client, typed: str) -> list[str]:
    completer = CommandCompleter(CommandLine(), look_up_choices(client, "local"))
    found = completer.get_completions_async(Document(typed), CompleteEvent())
    return [typed[: len(typed) + c.start_position] + c.text async for c in found]


async def test_commands_and_their_arguments_are_completed(tmp_path: Path):
    (tmp_path / "my app").mkdir()
    projects = (str(tmp_path / "proj"), str(tmp_path / "my app"))
    async with run_daemon_in(tmp_path, PROJECTS=projects) as daemon, a_client(daemon) as client:
        await client.submit("local", "hello", project="proj")
        assert await offered(client, "/agent mo") == ["/agent model", "/agent mode"]
        assert await offered(client, "/project switch pro") == ["/project switch proj"]
        assert await offered(client, "/project switch proj") == []
        assert await offered(client, "/tool ") == ["/tool echo"]
        assert await offered(client, "/agent model ") == ["/agent model echo-1", "/agent model echo-2"]
        assert await offered(client, "/agent mode pl") == ["/agent mode plan"]
        assert await offered(client, "/project create x /srv ec") == ["/project create x /srv echo"]
        assert await offered(client, "/status ") == []


@pytest.mark.req("B1", "B4")
async def test_what_an_acp_agent_offers_is_completed_its_own_slash_commands_too(tmp_path: Path):
    agent = ScriptedAgent(tmp_path, "goose")
    configure(tmp_path / "state", agent)
    async with run_daemon_in(tmp_path) as daemon, a_client(daemon) as client:
        assert await offered(client, "/agent start 1 ") == ["/agent start 1 goose", "/agent start 1 echo"]
        await daemon.say("local", "hello", tool="goose")
        assert await offered(client, "/agent model scripted-2") == []
        assert await offered(client, "/agent model 3") == ["/agent model 'scripted-3[low]'"]
        assert await offered(client, "/agent mode acc") == ["/agent mode acceptEdits"]
        assert await offered(client, "/agent command rev") == ["/agent command review"]
        assert await offered(client, "/compac") == ["/compact"]
        assert await offered(client, "//compac") == []


async def test_without_a_server_there_is_nothing_to_offer():
    async with Client("http://127.0.0.1:1", "token", patience_sec=0) as client:
        assert await offered(client, "/tool ") == []


async def test_files_of_the_project_are_offered_behind_an_at_sign(tmp_path: Path):
    (tmp_path / "src" / "shop").mkdir(parents=True)
    for name in ("setup.py", "src/app.py", "src/shop/cart.py", ".env", ".git"):
        (tmp_path / name).touch()

    async def offer(typed: str) -> list[str]:
        async with Client("http://127.0.0.1:1", "token", patience_sec=0) as client:
            completer = CommandCompleter(CommandLine(), look_up_choices(client, "local"), lambda: str(tmp_path))
            found = completer.get_completions_async(Document(typed), CompleteEvent())
            return [typed[: len(typed) + c.start_position] + c.text async for c in found]

    assert await offer("look at @s") == ["look at @setup.py", "look at @src/"]
    assert await offer("@src/") == ["@src/app.py", "@src/shop/"]
    assert await offer("@.e") == ["@.env"]
    assert await offer("@/etc/pass") == []
    assert await offer("mail me@s ") == []


async def test_a_job_is_completed_by_its_number(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon, a_client(daemon) as client:
        await daemon.say("local", "/fail E_AGENT_ERROR")
        assert await offered(client, "/retry ") == ["/retry 1"]
        assert await offered(client, "/why ") == ["/why 1"]
        assert await offered(client, "/cancel ") == []
