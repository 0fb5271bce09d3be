"""What `fairlead up` does: the daemon and, when it has a terminal, a chat with an agent in it. Parses no options."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Generator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fairlead.app import Daemon, run_daemon
from fairlead.cli.interpreter import set_up_interpreter
from fairlead.cli.output import tell
from fairlead.cli.settings_report import load_and_report
from fairlead.errors import Code, FairleadError
from fairlead.kit.addresses import leaves_loopback
from fairlead.kit.process_hiding import hide_process
from fairlead.kit.process_memory import return_free_memory
from fairlead.kit.tasks import OwnedTasks
from fairlead.settings import OPEN_HTTP_ADVICE, Settings, load_settings

if TYPE_CHECKING:
    from fairlead.channels.terminal.options import ChatOptions

NO_ROOM_RETRY_SEC = 5.0
LOOK_SEC = 0.25
MAKES_WAY = "Another Fairlead runs here, for chats. This one replaces it when its jobs are done; Ctrl-C stops waiting."
CHECKS_BEFORE_CHAT_SEC = 1.0
"""How long the chat waits for the agents' self-checks before it takes the screen; channels are served meanwhile."""

_STOPPING = (signal.SIGTERM, signal.SIGINT)


def serve(*, no_chat: bool, example: bool = False, while_needed: int | None = None) -> int:
    """The exit code. `while_needed` is the pipe of a chat that this daemon is started for."""
    set_up_interpreter()
    hide_process()  # an agent of the same user finds neither keys nor open files of this process
    if while_needed is not None:
        from fairlead.cli.background import serve_while_needed

        return asyncio.run(serve_while_needed(load_settings(), while_needed))
    settings = load_and_report()
    if sys.stdin.isatty() and sys.stdout.isatty() and not no_chat:
        return _up_with_chat(settings, wants_example=example)
    return asyncio.run(_up(settings, None))


def _up_with_chat(settings: Settings, *, wants_example: bool) -> int:
    from fairlead.cli.chat import chat_options, join_running
    from fairlead.cli.example_project import make_example

    options = chat_options(settings, example=str(make_example()) if wants_example else "")
    try:
        return asyncio.run(_up(settings, options))
    except FairleadError as fault:
        if fault.code is not Code.E_STATE_LOCKED:
            raise
    tell("Fairlead is already running; this chat connects to it. Leaving the chat does not stop it.")
    return asyncio.run(join_running(settings, options))


async def _up(settings: Settings, chat: "ChatOptions | None") -> int:
    """Without options there is no chat."""
    interactive = chat is not None
    stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    _stop_on_signals(stop)
    async with AsyncExitStack() as stack:
        daemon = await _start_when_there_is_room(settings, stack, stop, echo_warnings=not interactive)
        if daemon is None:
            return 0
        tasks = await stack.enter_async_context(OwnedTasks("up"))
        for line in welcome(daemon):
            tell(line)
        checks = tasks.start(_tell_of_agents(daemon), name="checks")
        if interactive:
            await asyncio.wait({checks}, timeout=CHECKS_BEFORE_CHAT_SEC)
            checks.cancel()
        talk = None
        if chat is not None and daemon.http_url:
            talk = tasks.start(_chat_here(daemon, chat), name="chat")
        ends: set[asyncio.Future[object]] = {stop, daemon.broken, *((talk,) if talk is not None else ())}  # pyright: ignore[reportAssignmentType]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if not stop.done() and not daemon.broken.done():
            _stop_on_signals(stop)  # the chat took Ctrl-C for itself, and gave it back to nobody
            await _wait_for_others(daemon, stop)
        for task in (checks, talk):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        if daemon.broken.done():
            raise daemon.broken.result()
        _tell_what_is_waited_for(daemon)
    tell("Stopped. All accepted messages are saved.")
    return 0


async def _start_when_there_is_room(
    settings: Settings, stack: AsyncExitStack, stop: "asyncio.Future[None]", *, echo_warnings: bool
) -> Daemon | None:
    """While the disk is full, a start is tried again and again: a service that ended instead would stay down after
    somebody made room. The same while a daemon for chats makes way. None if it was told to stop meanwhile."""
    has_told = False
    while not stop.done():
        daemon = run_daemon(settings, echo_warnings=echo_warnings, connects_early=not has_told)
        try:
            with _cancel_start_at(stop):
                return await stack.enter_async_context(daemon)
        except FairleadError as fault:
            from fairlead.cli.background import ask_to_make_way
            from fairlead.render.errors import error_sentence

            makes_way = fault.code is Code.E_STATE_LOCKED and ask_to_make_way(settings.state_dir)
            if fault.code is not Code.E_DISK_FULL and not makes_way:
                raise
            if not has_told:
                tell(MAKES_WAY if makes_way else f"fairlead: {error_sentence(fault)}", err=True)
                has_told = True
            await asyncio.wait({stop}, timeout=LOOK_SEC if makes_way else NO_ROOM_RETRY_SEC)
    return None


@contextlib.contextmanager
def _cancel_start_at(stop: "asyncio.Future[None]") -> Generator[None]:
    """A start may wait for room on the disk: who is told to stop meanwhile does not wait with it."""
    starting = asyncio.current_task()

    def cancel(_stop: "asyncio.Future[None]") -> None:
        if starting is not None:
            starting.cancel()

    stop.add_done_callback(cancel)
    try:
        yield
    except asyncio.CancelledError:
        if not stop.done() or starting is None or starting.uncancel():
            raise
    finally:
        starting = None


async def _chat_here(daemon: Daemon, chat: "ChatOptions") -> int:
    from fairlead.cli.chat import chat_with

    options = msgspec.structs.replace(chat, hosts_server=True)
    return await chat_with(daemon.http_url, daemon.token, options, daemon.settings.state_dir)


async def _wait_for_others(daemon: Daemon, stop: "asyncio.Future[None]") -> None:
    """The chat here was left: leaving ends no job and no other chat. Ctrl-C does that."""
    from fairlead.cli.background import unfinished_jobs

    looks = 0
    while not stop.done() and not daemon.broken.done():
        jobs, chats = unfinished_jobs(daemon), daemon.count_clients()
        if not jobs and not chats:
            return
        looks += 1
        if looks == 2:  # at the first look, the server may not have seen yet that the chat here hung up
            tell(_describe_what_is_left(jobs, chats))
        await asyncio.wait({stop, daemon.broken}, timeout=LOOK_SEC)


def _describe_what_is_left(jobs: int, chats: int) -> str:
    left = [*([f"{jobs} unfinished job(s)"] if jobs else []), *([f"{chats} other connection(s)"] if chats else [])]
    return f"Fairlead keeps running for now: {', '.join(left)}. It stops when they are done; Ctrl-C stops it."


def _tell_what_is_waited_for(daemon: Daemon) -> None:
    """Print the jobs that the stop waits for; a second signal ends the wait."""
    for number in _STOPPING:
        asyncio.get_running_loop().add_signal_handler(number, daemon.flow.scheduler.hurry)
    state = daemon.flow.ledger.state
    unfinished = len(state.running) + len(state.waiting)
    if unfinished:
        time = f"{daemon.settings.drain_sec:.0f} s to finish; queued jobs stay queued"
        tell(f"Stopping: {unfinished} running job(s) have {time}. Ctrl-C ends them immediately.")


async def _tell_of_agents(daemon: Daemon) -> None:
    """Which agents are there and fit to work, as far as that can be told without a request to a model."""
    from fairlead.cli.health import check_all, describe_health

    real = [runtime for name, runtime in daemon.runtimes.items() if name != "echo"]
    async for name, health in check_all(real):
        state = "NO" if not health.ok else "warn" if health.needs_login else "ok"
        tell(f"  {name:<9} {state:<4} {describe_health(health)}")
    return_free_memory()  # the start is over: whatever comes now comes in small pieces


def _stop_on_signals(stop: "asyncio.Future[None]") -> None:
    for number in _STOPPING:
        asyncio.get_running_loop().add_signal_handler(number, lambda: None if stop.done() else stop.set_result(None))


def welcome(daemon: Daemon) -> list[str]:
    """What is on, what is off, and how to turn it on."""
    settings, state = daemon.settings, daemon.flow.ledger.state
    projects = [p for p in state.listed_projects() if not p.disabled]
    lines = [f"Fairlead is up. State in {_short(settings.state_dir)}."]
    real = [name for name in daemon.runtimes if name != "echo"]
    lines.append(f"  agents    on   {', '.join(real) or 'echo, which only repeats; install claude, codex or gemini'}")
    if daemon.http_url:
        lines.append(f"  HTTP      on   {daemon.http_url} (token in {_short(settings.state_dir / 'http-token')})")
        lines.append("  console   on   `fairlead console` opens it in the browser")
        if leaves_loopback(settings.http_host):
            lines.append(f"  HTTP      warn Other machines can reach it at {settings.http_host}. {OPEN_HTTP_ADVICE}")
    else:
        lines.append("  HTTP      off  set FAIRLEAD_HTTP=1 to turn it on")
    lines.append("  terminal  on   `fairlead chat` in a project directory")
    if settings.discord_token is not None:
        lines.append(f"  Discord   on   serves {settings.discord_owner_id} and the allow-list; connecting")
    else:
        lines.append("  Discord   off  `fairlead init` turns it on")
    if settings.machines:
        named = ", ".join(state.machines) or "none yet; `fairlead machine add NAME` lets one join"
        lines.append(f"  machines  on   {named}")
    if projects:
        lines.append(f"  projects  {len(projects):<4} {', '.join(p.name for p in projects[:8])}")
    else:
        lines.append("  projects  0    set PROJECTS or FAIRLEAD_PROJECT_ROOT, or use /project add PATH")
    return [*lines, *(f"  note: {note}" for note in daemon.notes)]


def _short(path: Path) -> str:
    """With ~ for the home directory, as people write it."""
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)
