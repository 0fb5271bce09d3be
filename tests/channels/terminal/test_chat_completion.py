"""What is offered while a command is typed: the command by the terminal, its arguments by the server."""

from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from fairlead.api import Client
from fairlead.channels.terminal.chat import CommandCompleter, look_up_choices
from fairlead.channels.terminal.commands import CommandLine
from tests.channels.harness import a_client, at_home

pytestmark = [pytest.mark.anyio, pytest.mark.req("C6")]


async def offered(client: Client, typed: str) -> list[str]:
    completer = CommandCompleter(CommandLine(), look_up_choices(client, "local"))
    found = completer.get_completions_async(Document(typed), CompleteEvent())
    return [typed[: len(typed) + c.start_position] + c.text async for c in found]


async def test_commands_and_their_arguments_are_completed(tmp_path: Path):
    (tmp_path / "my app").mkdir()
    projects = (str(tmp_path / "proj"), str(tmp_path / "my app"))
    async with at_home(tmp_path, PROJECTS=projects) as home, a_client(home) as client:
        await client.submit("local", "hello", project="proj")
        assert await offered(client, "/agent mo") == ["/agent model", "/agent mode"]
        assert await offered(client, "/project switch pro") == ["/project switch proj"]
        assert await offered(client, "/project switch proj") == []
        assert await offered(client, "/tool ") == ["/tool echo"]
        assert await offered(client, "/agent model ") == ["/agent model echo-1", "/agent model echo-2"]
        assert await offered(client, "/agent mode pl") == ["/agent mode plan"]
        assert await offered(client, "/project create x /srv ec") == ["/project create x /srv echo"]
        assert await offered(client, "/status ") == []


async def test_without_a_server_there_is_nothing_to_offer():
    async with Client("http://127.0.0.1:1", "token", patience_sec=0) as client:
        assert await offered(client, "/tool ") == []
