"""`fairlead runner`: this machine runs agents for a Fairlead on another one."""

import asyncio

import click

from fairlead.cli.output import tell
from fairlead.cli.running import need_extra
from fairlead.errors import Code, error
from fairlead.settings import load_settings

CHECK_SEC = 15.0


@click.group()
def command() -> None:
    """Run agents on this machine for a Fairlead on another one."""


@command.command("join", short_help="Keep the key that `fairlead machine add` printed.")
@click.argument("line", nargs=-1, required=True)
@click.option("--no-check", is_flag=True, help="Keep the key without trying it.")
def join_command(*, line: tuple[str, ...], no_check: bool) -> None:
    """Keep the key in LINE, which `fairlead machine add` printed on the other machine. It is tried first."""
    need_extra()
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
        asyncio.run(_try(joining.address))
    keep_joining(settings.runner_dir, joining)
    tell(f"This machine is {joining.name}. Its key is in {settings.runner_dir}, for you alone.")
    tell("Now start it: fairlead runner run")


@command.command("run")
def run_command() -> None:
    """Run agents for the Fairlead that this machine has joined, until it is stopped."""
    from fairlead.cli.running import run_runner

    run_runner()


@command.command("doctor")
def doctor_command() -> None:
    """Check the key, the way to the server, and the agents of this machine."""
    need_extra()
    from fairlead.real_runner import read_joined
    from fairlead.runtimes.catalogue import available_names

    settings = load_settings()
    joining = read_joined(settings.runner_dir)
    tell(f"ok    this machine is {joining.name}; it dials {', '.join(joining.urls)}")
    asyncio.run(_try(joining.address))
    tell("ok    the server accepts its key")
    tell(f"ok    agents here: {', '.join(available_names(settings, {}))}")


async def _try(address: object) -> None:
    from fairlead.nats_wire.access import ServerAddress
    from fairlead.nats_wire.connection import FAULTS, connect

    assert isinstance(address, ServerAddress)
    try:
        async with asyncio.timeout(CHECK_SEC), connect(address, name="fairlead join"):
            pass
    except FAULTS as fault:
        reason = str(fault) or "no answer"
        if "uthorization" in reason or "uthentication" in reason:
            raise error(
                Code.E_MACHINE_REMOVED,
                "The server does not accept this key.",
                next_step="Run `fairlead machine add NAME` on the other machine again: it prints a new line.",
            ) from None
        raise error(
            Code.E_CONFIG,
            f"{', '.join(address.urls)} cannot be reached: {reason}.",
            next_step="Check that Fairlead runs there, that its port is open, and FAIRLEAD_MACHINES_ADDRESS there.",
        ) from None
