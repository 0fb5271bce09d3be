"""`fairlead up`: the daemon, and, when it has a terminal, a chat with an agent in it."""

import asyncio
import contextlib
import signal
import sys
from pathlib import Path

import click

from fairlead.app import Daemon, run_daemon
from fairlead.cli.health import check_all, describe_health
from fairlead.kit.tasks import OwnedTasks
from fairlead.settings import load_settings

CHECKS_BEFORE_CHAT_SEC = 1.0
"""How long the chat waits for the agents' self-checks before it takes the screen; channels are served meanwhile."""

_STOPPING = (signal.SIGTERM, signal.SIGINT)


@click.command()
@click.option("--no-chat", is_flag=True, help="Only serve, even with a terminal.")
def command(*, no_chat: bool) -> None:
    """Start Fairlead: serve every channel that is turned on, until it is told to stop."""
    interactive = sys.stdin.isatty() and sys.stdout.isatty() and not no_chat
    sys.exit(asyncio.run(_up(interactive=interactive)))


async def _up(*, interactive: bool) -> int:
    settings = load_settings()
    stop = _stop_on_signals()
    async with run_daemon(settings, echo_warnings=not interactive) as daemon, OwnedTasks("up") as tasks:
        for line in welcome(daemon):
            click.echo(line)
        checks = tasks.start(_tell_of_agents(daemon), name="checks")
        if interactive:
            await asyncio.wait({checks}, timeout=CHECKS_BEFORE_CHAT_SEC)
            checks.cancel()
        chat = tasks.start(_chat(daemon), name="chat") if interactive and daemon.http_url else None
        ends: set[asyncio.Future[object]] = {stop, daemon.broken, *((chat,) if chat is not None else ())}  # pyright: ignore[reportAssignmentType]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for task in (checks, chat):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        if daemon.broken.done():
            raise daemon.broken.result()
        _tell_what_is_waited_for(daemon)
    click.echo("Stopped. Everything that was accepted is written.")
    return 0


def _tell_what_is_waited_for(daemon: Daemon) -> None:
    """Print the jobs that the stop waits for; a second signal ends the wait."""
    for number in _STOPPING:
        asyncio.get_running_loop().add_signal_handler(number, daemon.flow.scheduler.hurry)
    state = daemon.flow.ledger.state
    unfinished = len(state.running) + len(state.waiting)
    if unfinished:
        time = f"{daemon.settings.drain_sec:.0f} s to finish; queued ones stay queued"
        click.echo(f"Stopping: {unfinished} running job(s) have {time}. Ctrl-C ends them at once.")


async def _tell_of_agents(daemon: Daemon) -> None:
    """Which agents are there and fit to work, as far as that can be told without a request to a model."""
    real = [runtime for name, runtime in daemon.runtimes.items() if name != "echo"]
    async for name, health in check_all(real):
        click.echo(f"  {name:<9} {'ok' if health.ok else 'NO':<4} {describe_health(health)}")


def _stop_on_signals() -> "asyncio.Future[None]":
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[None] = loop.create_future()
    for number in _STOPPING:
        loop.add_signal_handler(number, lambda: None if stop.done() else stop.set_result(None))
    return stop


def welcome(daemon: Daemon) -> list[str]:
    """What is on, what is off, and how to turn it on."""
    settings, state = daemon.settings, daemon.flow.ledger.state
    projects = [p for p in state.projects.values() if not p.disabled]
    lines = [f"Fairlead is up. State in {_short(settings.state_dir)}."]
    real = [name for name in daemon.runtimes if name != "echo"]
    lines.append(f"  agents    on   {', '.join(real) or 'echo, which only repeats; install claude, codex or gemini'}")
    if daemon.http_url:
        lines.append(f"  HTTP      on   {daemon.http_url} (token in {_short(settings.state_dir / 'http-token')})")
    else:
        lines.append("  HTTP      off  set FAIRLEAD_HTTP=1 to turn it on")
    lines.append("  terminal  on   `fairlead chat` in a project directory")
    if settings.discord_token is not None:
        lines.append(f"  Discord   on   serves {settings.discord_owner_id} and the allow-list; connecting")
    else:
        lines.append("  Discord   off  `fairlead init` turns it on")
    if projects:
        lines.append(f"  projects  {len(projects):<4} {', '.join(p.name for p in projects[:8])}")
    else:
        lines.append("  projects  0    set PROJECTS or FAIRLEAD_PROJECT_ROOT, or say /project add PATH")
    return [*lines, *(f"  note: {note}" for note in daemon.notes)]


def _short(path: Path) -> str:
    """With ~ for the home directory, as people write it."""
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)


async def _chat(daemon: Daemon) -> int:
    from fairlead.channels.terminal.options import ChatOptions
    from fairlead.cli.chat import chat_with

    settings = daemon.settings
    here = ChatOptions(
        user=settings.terminal_user, directory=str(Path.cwd()), history=settings.state_dir / "chat-history"
    )
    return await chat_with(daemon.http_url, daemon.token, here)
