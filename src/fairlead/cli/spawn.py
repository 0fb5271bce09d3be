"""`fairlead spawn`: a session of its own for a task, over HTTP, as `fairlead chat` does it."""

import asyncio
import sys
from functools import partial

import click
import msgspec

from fairlead.channels.terminal.spawn import run_spawn
from fairlead.cli.chat import chat_options, connect
from fairlead.cli.output import tell
from fairlead.cli.settings_report import load_and_report
from fairlead.kit.process_hiding import hide_process


@click.command()
@click.argument("task")
@click.option("--wait", "waits", is_flag=True, help="Wait for the answer and print it.")
@click.option("--user", help="Your user id (default: FAIRLEAD_USER, else local).")
@click.option("--project", help="The project to work in: its name or number.")
@click.option("--agent", help="The agent that does it.")
@click.option("--worktree", is_flag=True, help="Work in a git worktree of its own.")
def command(
    *, task: str, waits: bool, user: str | None, project: str | None, agent: str | None, worktree: bool
) -> None:
    """Start a session of its own for TASK. Its answer is shown by the next `fairlead chat`, or here with --wait."""
    hide_process()  # it has the token
    settings = load_and_report()
    options = msgspec.structs.replace(
        chat_options(settings, user=user, project=project, tool=agent), message=task, worktree=worktree
    )
    complain = partial(tell, err=True)
    sys.exit(
        asyncio.run(
            connect(settings, lambda client: run_spawn(client, options, waits=waits, tell=tell, complain=complain))
        )
    )
