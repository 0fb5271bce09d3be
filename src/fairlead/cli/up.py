"""`fairlead up`: its options. `serving` does the rest."""

import sys

import click

from fairlead.cli.serving import serve


@click.command()
@click.option("--no-chat", is_flag=True, help="Do not open a chat in this terminal.")
@click.option("--example", is_flag=True, help="Chat in a small example project if there is no project yet.")
@click.option("--while-needed", type=int, hidden=True, help="Internal: run for chats only; the pipe to report to.")
def command(*, no_chat: bool, example: bool, while_needed: int | None) -> None:
    """Start Fairlead with every channel that is turned on, until it is stopped."""
    sys.exit(serve(no_chat=no_chat, example=example, while_needed=while_needed))
