"""`fairlead chat`: always over HTTP, to the daemon that holds this state directory, or to one started for chats."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import click
import msgspec

from fairlead.api import Client, ServerAway
from fairlead.channels.terminal.options import ChatOptions
from fairlead.channels.terminal.run import run_chat
from fairlead.cli.background import LOOK_SEC, address_in, find_or_start, look_at_server
from fairlead.cli.output import tell
from fairlead.cli.settings_report import load_and_report
from fairlead.kit.process_hiding import hide_process
from fairlead.render.words import pick_language
from fairlead.settings import Settings


@click.command()
@click.argument("message", required=False, default="")
@click.option(
    "-p", "--print", "print_only", is_flag=True, help="Print the answer to MESSAGE (or to standard input) and exit."
)
@click.option(
    "--json", "as_json", is_flag=True, help="With -p or piped input: print the job, its answer included, as JSON."
)
@click.option(
    "--allow",
    multiple=True,
    metavar="TOOL",
    help="With -p or piped input: allow this tool once, each time the agent asks for it; or one command alone, as "
    "'Bash(npm test)'. May be repeated. It never allows more than the project's permissions.",
)
@click.option(
    "--continue/--new", "go_on", default=True, help="Continue the conversation (default), or start a new one."
)
@click.option("--worktree", is_flag=True, help="Work in a git worktree of the session's own.")
@click.option("--user", help="Your user id (default: FAIRLEAD_USER, else local).")
@click.option("--project", help="The project to work in: its name or number.")
@click.option("--tool", help="The agent to talk to.")
def command(
    *,
    message: str,
    print_only: bool,
    as_json: bool,
    allow: tuple[str, ...],
    go_on: bool,
    worktree: bool,
    user: str | None,
    project: str | None,
    tool: str | None,
) -> None:
    """Talk to an agent in this terminal, starting with MESSAGE. Piped input is one message: echo hi | fairlead chat"""
    hide_process()  # it has the token
    settings = load_and_report()
    options = msgspec.structs.replace(
        chat_options(settings, user=user, project=project, tool=tool),
        message=message,
        print_only=print_only or as_json,
        as_json=as_json,
        allow=allow,
        is_new=not go_on,
        worktree=worktree,
    )
    sys.exit(asyncio.run(join_running(settings, options)))


def chat_options(
    settings: Settings,
    *,
    user: str | None = None,
    project: str | None = None,
    tool: str | None = None,
    example: str = "",
) -> ChatOptions:
    return ChatOptions(
        user=user or settings.terminal_user,
        project=project,
        tool=tool,
        directory=str(Path.cwd()),
        home=str(Path.home()),
        example=example,
        history=settings.state_dir / "chat-history",
        files=_cache_directory() / "files",
        lang=terminal_language(settings, os.environ),
        bell=settings.bell,
        look_at_server=lambda: look_at_server(settings.state_dir),
    )


def _cache_directory() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairlead"


def terminal_language(settings: Settings, environment: Mapping[str, str]) -> str:
    """FAIRLEAD_LANG where somebody set it, else the language of the terminal's locale."""
    if "lang" in settings.given:
        return settings.lang
    named = (environment.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return pick_language(next(filter(None, named), None))


async def join_running(settings: Settings, options: ChatOptions) -> int:
    return await connect(settings, lambda client: run_chat(client, options))


async def connect(settings: Settings, use: Callable[[Client], Awaitable[int]]) -> int:
    """A client of the daemon that holds the state directory, or of one that is started for chats. Raises E_CONFIG if it
    serves no HTTP."""
    while True:
        address = await find_or_start(settings)
        for note in address.notes:
            tell(f"note: {note}", err=True)
        async with _client(address.url, address.token, settings.state_dir) as client:
            if await _responds(client):
                return await use(client)
        await asyncio.sleep(LOOK_SEC)  # it was just stopping


async def _responds(client: Client) -> bool:
    """The connection stays open, so that a daemon for chats knows from now on that it is needed."""
    try:
        await client.health()
    except ServerAway:
        return False
    return True


async def chat_with(url: str, token: str, options: ChatOptions, state_dir: Path) -> int:
    async with _client(url, token, state_dir) as client:
        return await run_chat(client, options)


def _client(url: str, token: str, state_dir: Path) -> Client:
    return Client(url, token, channel="terminal", find_server=lambda: address_in(state_dir))
