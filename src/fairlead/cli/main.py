"""`fairlead`: the table of commands."""

import os
from importlib import import_module
from typing import Any, Final

import click

from fairlead import __version__
from fairlead.cli.exit_codes import errors_end_the_command

_COMMANDS: Final = {
    "up": ("fairlead.cli.up", "Start Fairlead with every channel that is turned on."),
    "chat": ("fairlead.cli.chat", "Talk to an agent in this terminal."),
    "console": ("fairlead.cli.console", "Open the console in the browser, and list or end its logins."),
    "spawn": ("fairlead.cli.spawn", "Give a task to a session of its own."),
    "init": (
        "fairlead.cli.init",
        "Set up Discord: ask for the bot's token, look up the rest, write the settings file.",
    ),
    "doctor": ("fairlead.cli.doctor", "Check settings, files and agents, and say what to do."),
    "agent": ("fairlead.cli.agent", "Add, update and remove agents that speak the Agent Client Protocol."),
    "machine": ("fairlead.cli.machine", "Let other machines join, list and remove them."),
    "runner": ("fairlead.cli.runner", "Run agents on this machine for a Fairlead on another one."),
    "journal": ("fairlead.cli.journal", "Inspect the journal: verify, tail, show."),
    "restore": ("fairlead.cli.restore", "Restore an older copy of the journal."),
    "mcp": ("fairlead.cli.mcp", "The tools that Fairlead offers to its agents; started by agents, not by people."),
    "completion": ("fairlead.cli.completion", "Install completion for bash, zsh or fish."),
}


class LazyGroup(click.Group):
    """Knows its commands by name and one line; imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's shape
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's shape
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(_COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's shape
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        with errors_end_the_command():
            return super().invoke(ctx)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fairlead")
@click.option(
    "--env-file",
    type=click.Path(dir_okay=False),
    help="Read the settings from this file (default: FAIRLEAD_ENV_FILE, else ~/.config/fairlead/.env).",
)
def main(*, env_file: str | None) -> None:
    """Run coding agents on your own machine from Discord, the terminal or HTTP."""
    if env_file is not None:
        os.environ["FAIRLEAD_ENV_FILE"] = os.path.abspath(env_file)  # noqa: PTH100 - a link stays a link
