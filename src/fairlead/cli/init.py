"""`fairlead init`: turn on Discord. Asks for the token, asks Discord for the rest, writes the settings file.

A token on a command line could be read by every user of the machine: there is no option for it."""

import asyncio
import os
import sys
from pathlib import Path
from typing import TextIO

import click

from fairlead.channels.discord.setup import ApplicationSeen, findings, invite_link, look
from fairlead.cli.env_file import write_env
from fairlead.cli.output import tell
from fairlead.cli.shipped_files import shipped_file
from fairlead.errors import Code, error
from fairlead.settings import load_settings
from fairlead.settings_file import find_settings_file


@click.command()
@click.option(
    "--token-file",
    type=click.File(),
    help="Read the bot's token from this file (-: standard input). Default: DISCORD_TOKEN, or you are asked.",
)
@click.option("--guild", default="", help="The id of the only server to use.")
def command(*, token_file: TextIO | None, guild: str) -> None:
    """Set up Discord: ask for the bot's token, look up the rest, write the settings file."""
    env_file = find_settings_file().path
    try:
        _turn_on(env_file, token_file, guild)
    except click.Abort:
        raise error(
            Code.E_CONFIG,
            "An answer is missing. Nothing was written.",
            next_step="Run it in a terminal, or pipe one answer per line: the token, the owner's id, the server.",
        ) from None


def _turn_on(env_file: Path, token_file: TextIO | None, guild: str) -> None:
    settings = load_settings(DISCORD_TOKEN="", DISCORD_GUILD_ID="", DISCORD_APP_ID="")  # these are about to change
    token = token_file.readline() if token_file is not None else os.environ.get("DISCORD_TOKEN", "")
    if not token.strip():
        tell("Create an application at https://discord.com/developers/applications, and reset its token under Bot.")
        # Hidden input is read from the terminal, and would leave unread what comes through a pipe.
        token = str(click.prompt("The bot's token (it is not shown)", hide_input=sys.stdin.isatty()))
    with_webhooks = settings.webhook_identity
    seen = asyncio.run(look(token.strip(), api_base=settings.discord_api_base, webhook_identity=with_webhooks))
    tell(f"This is {seen.bot_name}, application {seen.application_id}, owned by {seen.owner_name}.")
    owner = click.prompt("The Discord user id of the owner", default=seen.owner_id, value_proc=_an_id)
    guild = _an_id(guild) if guild else _chosen_guild(seen)
    values = {"DISCORD_TOKEN": token.strip(), "DISCORD_APP_ID": seen.application_id, "DISCORD_OWNER_ID": owner}
    write_env(env_file, values | {"DISCORD_GUILD_ID": guild})
    tell(f"Written to {env_file}, readable by you alone.\n")
    _tell_what_is_left(seen, owner, guild, with_webhooks=with_webhooks)


def _an_id(typed: str) -> str:
    if not typed.strip().isdecimal():
        raise click.UsageError(
            f"{typed.strip()} is not a Discord id. Turn on Discord's developer mode and use Copy ID in the menu."
        )
    return typed.strip()


def _chosen_guild(seen: ApplicationSeen) -> str:
    """The only server there is; of several, the one that is chosen; of none, none."""
    if len(seen.guilds) <= 1:
        return seen.guilds[0].guild_id if seen.guilds else ""
    for number, guild in enumerate(seen.guilds, 1):
        tell(f"  {number}. {guild.name}")
    chosen = click.prompt("Which server? 0 means all of them", type=click.IntRange(0, len(seen.guilds)), default=0)
    return seen.guilds[chosen - 1].guild_id if chosen else ""


def _tell_what_is_left(seen: ApplicationSeen, owner: str, guild: str, *, with_webhooks: bool) -> None:
    for finding in findings(seen, owner_id=owner, guild_id=guild, webhook_identity=with_webhooks):
        tell(f"{'ok  ' if finding.ok else 'TODO'} {finding.text}")
        if finding.next_step:
            tell(f"     {finding.next_step}")
    link = invite_link(seen.application_id, webhook_identity=with_webhooks)
    tell(f"\nThe invite link, with exactly the permissions that the bot needs:\n  {link}\n")
    tell("Start it with `fairlead up`. `fairlead doctor` checks all of this again.")
    tell("As a service: the first lines of these files say how, for systemd and for macOS:")
    tell(f"  {shipped_file('fairlead.service')}\n  {shipped_file('dev.fairlead.plist')}")
