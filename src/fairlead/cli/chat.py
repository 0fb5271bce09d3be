"""`fairlead chat`: always over HTTP, to the daemon that holds this state directory, or to one hosted for the while."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from fairlead.api import Client
from fairlead.app import ADDRESS_NAME, run_daemon
from fairlead.channels.http.token import read_token
from fairlead.channels.terminal import run_chat
from fairlead.channels.terminal.options import ChatOptions
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.files import read_if_there
from fairlead.render.words import pick_language
from fairlead.settings import Settings, load_settings


@click.command()
@click.option("--user", help="Who you are (default: FAIRLEAD_USER, else local).")
@click.option("--project", help="The project to work in: its name or number.")
@click.option("--tool", help="The agent to talk to.")
def command(*, user: str | None, project: str | None, tool: str | None) -> None:
    """Talk to an agent in this terminal. Piped input is one message: echo hi | fairlead chat"""
    settings = load_settings()
    options = ChatOptions(
        user=user or settings.terminal_user,
        project=project,
        tool=tool,
        directory=str(Path.cwd()),
        history=settings.state_dir / "chat-history",
        lang=terminal_language(settings, os.environ),
    )
    sys.exit(asyncio.run(_chat(settings, options)))


def terminal_language(settings: Settings, environment: Mapping[str, str]) -> str:
    """FAIRLEAD_LANG where somebody set it, else the language of the terminal's locale."""
    if "lang" in settings.model_fields_set:
        return settings.lang
    named = (environment.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return pick_language(next(filter(None, named), None))


async def _chat(settings: Settings, options: ChatOptions) -> int:
    try:
        async with run_daemon(_private(settings)) as daemon:
            return await chat_with(daemon.http_url, daemon.token, options)
    except FairleadError as fault:
        if fault.code is not Code.E_STATE_LOCKED:
            raise
    return await chat_with(_running_address(settings), read_token(settings.state_dir), options)


def _private(settings: Settings) -> Settings:
    """A daemon for this chat alone: any free port, and no other channel."""
    return settings.model_copy(update={"http": True, "http_host": "127.0.0.1", "http_port": 0, "discord_token": None})


def _running_address(settings: Settings) -> str:
    address = read_if_there(settings.state_dir / ADDRESS_NAME)
    if address is None:
        raise error(
            Code.E_CONFIG,
            f"The Fairlead that holds {settings.state_dir} serves no HTTP.",
            next_step="Start it with FAIRLEAD_HTTP=1.",
        )
    return address.decode().strip()


async def chat_with(url: str, token: str, options: ChatOptions) -> int:
    async with Client(url, token, channel="terminal") as client:
        return await run_chat(client, options)
