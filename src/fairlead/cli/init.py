"""`fairlead init`: turn on Discord. Asks for the token, asks Discord for the rest, and writes `.env`."""

import asyncio
import sys

import click

from fairlead.channels.discord.setup import ApplicationSeen, findings, invite_link, look
from fairlead.cli.env_file import ENV_FILE, write_env
from fairlead.settings import load_settings


@click.command()
@click.option("--token", envvar="DISCORD_TOKEN", help="The bot's token; asked for where it is not given.")
@click.option("--guild", default="", help="Serve this server only: its id.")
def command(*, token: str | None, guild: str) -> None:
    """Turn on Discord: ask for the token, find out the rest, write .env."""
    settings = load_settings(DISCORD_TOKEN="", DISCORD_GUILD_ID="", DISCORD_APP_ID="")  # these are about to change
    if not token:
        click.echo("Make an application at https://discord.com/developers/applications, and under Bot reset its token.")
        # Hidden input is read from the terminal, and would leave unread what comes through a pipe.
        token = str(click.prompt("The bot's token (it is not shown)", hide_input=sys.stdin.isatty()))
    with_webhooks = settings.webhook_identity
    seen = asyncio.run(look(token.strip(), api_base=settings.discord_api_base, webhook_identity=with_webhooks))
    click.echo(f"This is {seen.bot_name}, application {seen.application_id}, owned by {seen.owner_name}.")
    owner = click.prompt("The Discord user id of the owner", default=seen.owner_id, value_proc=_an_id)
    guild = _an_id(guild) if guild else _chosen_guild(seen)
    values = {"DISCORD_TOKEN": token.strip(), "DISCORD_APP_ID": seen.application_id, "DISCORD_OWNER_ID": owner}
    write_env(ENV_FILE, values | {"DISCORD_GUILD_ID": guild})
    click.echo(f"Written to {ENV_FILE.absolute()}, readable by you alone.\n")
    _tell_what_is_left(seen, owner, guild, with_webhooks=with_webhooks)


def _an_id(typed: str) -> str:
    if not typed.strip().isdecimal():
        raise click.UsageError(
            f"{typed.strip()} is no id: with Discord's developer mode on, it is copied from the menu."
        )
    return typed.strip()


def _chosen_guild(seen: ApplicationSeen) -> str:
    """The only server there is; of several, the one that is chosen; of none, none."""
    if len(seen.guilds) <= 1:
        return seen.guilds[0].guild_id if seen.guilds else ""
    for number, guild in enumerate(seen.guilds, 1):
        click.echo(f"  {number}. {guild.name}")
    chosen = click.prompt("Which server? 0 serves all of them", type=click.IntRange(0, len(seen.guilds)), default=0)
    return seen.guilds[chosen - 1].guild_id if chosen else ""


def _tell_what_is_left(seen: ApplicationSeen, owner: str, guild: str, *, with_webhooks: bool) -> None:
    for finding in findings(seen, owner_id=owner, guild_id=guild, webhook_identity=with_webhooks):
        click.echo(f"{'ok  ' if finding.ok else 'TODO'} {finding.text}")
        if finding.next_step:
            click.echo(f"     {finding.next_step}")
    link = invite_link(seen.application_id, webhook_identity=with_webhooks)
    click.echo(f"\nThe invite link, with exactly the permissions it needs:\n  {link}\n")
    click.echo("Start it with `fairlead up`. `fairlead doctor` checks all of this again.")
    click.echo("As a service: packaging/fairlead.service (systemd) or packaging/dev.fairlead.plist (macOS) say how.")
