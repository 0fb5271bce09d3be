"""`fairlead runner`: this machine runs agents for a Fairlead on another one."""

import asyncio
import signal
import sys

import click

from fairlead.cli.output import tell
from fairlead.cli.shipped_files import shipped_file
from fairlead.errors import Code, error
from fairlead.settings import Settings, load_settings


@click.group()
def command() -> None:
    """Run agents on this machine for a Fairlead on another one."""


@command.command("join", short_help="Keep the key that `fairlead machine add` printed.")
@click.argument("line", nargs=-1, required=True)
@click.option("--no-check", is_flag=True, help="Keep the key without trying it.")
def join_command(*, line: tuple[str, ...], no_check: bool) -> None:
    """Keep the key in LINE, which `fairlead machine add` printed on the other machine. It is tried first."""
    _need_extra()
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


@command.command("run")
def run_command() -> None:
    """Run agents for the Fairlead that this machine has joined, until it is stopped."""
    _need_extra()
    from fairlead.kit.process_hiding import hide_process

    hide_process()  # an agent of the same user finds neither the key nor open files of this process
    asyncio.run(_run(load_settings()))


@command.command("doctor")
def doctor_command() -> None:
    """Check the key, the way to the server, and the agents of this machine."""
    _need_extra()
    from fairlead.cli.runner_doctor import check_runner

    sys.exit(0 if check_runner(load_settings()) else 1)


async def _run(settings: Settings) -> None:
    from fairlead.real_runner import open_runner

    me = asyncio.current_task()
    assert me is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, me.cancel)
    try:
        async with open_runner(settings) as runner:
            tell(f"Runner {runner.machine} is up.")
            await runner.run()
    except asyncio.CancelledError:
        tell("Stopped.")


def _need_extra() -> None:
    from importlib.util import find_spec

    if find_spec("nats") is None or find_spec("nkeys") is None:
        raise error(
            Code.E_CONFIG,
            "What other machines need is not installed.",
            next_step="Install Fairlead with its extra `machines`: `uv tool install '.[machines]'` in a checkout.",
        )
