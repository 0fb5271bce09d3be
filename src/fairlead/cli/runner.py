"""`fairlead runner`: this machine runs agents for a Fairlead on another one."""

import asyncio
import sys

import click

from fairlead.cli.output import tell
from fairlead.cli.runner_agents import command as agent_command
from fairlead.cli.running import need_extra
from fairlead.cli.shipped_files import shipped_file
from fairlead.errors import Code, error
from fairlead.settings import load_settings


@click.group()
def command() -> None:
    """Run agents on this machine for a Fairlead on another one."""


@command.command("join", short_help="Keep the key that `fairlead machine add` printed.")
@click.argument("line", nargs=-1, required=True)
@click.option("--no-check", is_flag=True, help="Keep the key without trying it.")
def join_command(*, line: tuple[str, ...], no_check: bool) -> None:
    """Keep the key in LINE, which `fairlead machine add` printed on the other machine. It is tried first."""
    need_extra()
    from fairlead.cli.runner_doctor import try_server
    from fairlead.nats_wire.join_line import read_joining
    from fairlead.real_runner import keep_joining

    settings = load_settings()
    try:
        joining = read_joining("".join(line))
    except ValueError as fault:
        raise error(
            Code.E_CONFIG,
            f"This is not what `fairlead machine add` printed: {fault}.",
            next_step="Copy the whole line.",
        ) from None
    if not no_check:
        asyncio.run(try_server(joining.address))
    keep_joining(settings.runner_dir, joining)
    tell(f"This machine is {joining.name}. Its key is in {settings.runner_dir}, for you alone.")
    tell("Start it with `fairlead runner run`. `fairlead runner doctor` checks the key, the server and the agents.")
    tell("As a service: the first lines of these files say how, for systemd and for macOS:")
    tell(f"  {shipped_file('fairlead-runner.service')}\n  {shipped_file('dev.fairlead.runner.plist')}")


command.add_command(agent_command, "agent")


@command.command("run")
def run_command() -> None:
    """Run agents for the Fairlead that this machine has joined, until it is stopped."""
    from fairlead.cli.running import run_runner

    run_runner()


@command.command("doctor")
def doctor_command() -> None:
    """Check the key, the way to the server, and the agents of this machine."""
    need_extra()
    from fairlead.cli.runner_doctor import check_runner

    sys.exit(0 if check_runner(load_settings()) else 1)
