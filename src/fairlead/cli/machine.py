"""`fairlead machine`: which other machines there are, and letting one join or removing it."""

import asyncio

import click

from fairlead.channels.terminal.local_time import local_time
from fairlead.cli.output import tell
from fairlead.cli.owner_commands import ask, running_address
from fairlead.core import requests
from fairlead.core.replies import MachineMayJoin
from fairlead.core.requests import Request
from fairlead.errors import Code, FairleadError, error
from fairlead.render.replies import reply_lines
from fairlead.settings import Settings, load_settings
from fairlead.state_directory import take_lock


@click.group()
def command() -> None:
    """Let other machines join, list, rename and remove them."""


@command.command("add", short_help="Let a machine join: make a key and print what to type there.")
@click.argument("name")
def add_command(*, name: str) -> None:
    """Make a key for the machine NAME, and print the one line to type there.

    The line holds the key: a program that has it can act as this machine. For a machine that has a key already, this
    makes a new one, and the old one is not valid any more."""
    settings = load_settings()
    _check_is_on(settings)
    reply = asyncio.run(ask(settings, requests.MachineAdd(name)))
    assert isinstance(reply, MachineMayJoin)
    if reply.accounts_file:
        tell(
            f"First add the accounts in {reply.accounts_file} to the NATS server's configuration, and reload it twice,"
            " the second time when the first is done."
        )
    tell(f"fairlead runner join {reply.line}")


@command.command("list")
def list_command() -> None:
    """List the machines, and whether they are there."""
    _ask_and_tell(requests.MachineList())


@command.command("rename")
@click.argument("name")
@click.argument("new_name")
def rename_command(*, name: str, new_name: str) -> None:
    """Give the machine NAME the name NEW_NAME. Its projects and agents are renamed with it; its key stays."""
    _ask_and_tell(requests.MachineRename(name, new_name))


@command.command("remove")
@click.argument("name")
def remove_command(*, name: str) -> None:
    """Remove the machine NAME. Its key is not valid any more, at once."""
    _ask_and_tell(requests.MachineRemove(name))


@command.command("forget")
@click.argument("name")
def forget_command(*, name: str) -> None:
    """Remove a machine that never comes back, and give up what runs or waits there."""
    _ask_and_tell(requests.MachineForget(name))


def _ask_and_tell(request: Request) -> None:
    settings = load_settings()
    reply = asyncio.run(ask(settings, request))
    for line in reply_lines(reply, settings.lang, local_time):
        tell(line)


def _check_is_on(settings: Settings) -> None:
    """The server that knows the key must run: a key that nobody has heard of helps nobody."""
    if not settings.machines:
        raise error(
            Code.E_CONFIG,
            "Other machines are turned off.",
            next_step="Set FAIRLEAD_MACHINES=1, and start Fairlead again.",
        )
    try:
        take_lock(settings.state_dir).release()
    except FairleadError as held:
        if held.code is not Code.E_STATE_LOCKED:
            raise
        running_address(settings)
        return
    raise error(Code.E_CONFIG, "Fairlead is not running here.", next_step="Start it with `fairlead up`, and try again.")
