"""A Fairlead in a process of its own, for chats: it starts when the first chat needs one, and ends by itself.

1. It belongs to no terminal, so leaving a chat, closing its window or Ctrl-C ends no job.
2. It is needed while a client is connected or a job is not over. When neither was so for `GRACE_SEC`, it stops.
3. `fairlead up` takes its place: it is asked to stop as soon as its jobs are over, and its chats find the new one.
4. Its start is reported through a pipe, as one line: where it serves, or the error that kept it from starting.
"""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from fairlead.app import Daemon, run_daemon
from fairlead.channels.http.token import read_token
from fairlead.channels.terminal.options import ServerState
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.files import is_locked, read_if_there
from fairlead.kit.tasks import OwnedTasks
from fairlead.settings import Settings
from fairlead.state_directory import ADDRESS_NAME, LOCK_NAME

GRACE_SEC: Final = 10.0
LOCK_NOTE: Final = "for chats"
LOOK_SEC: Final = 0.25
START_SEC: Final = 60.0
NO_ADDRESS_SEC: Final = 5.0
"""How long a daemon that holds the state directory may take to serve, before it counts as one without HTTP."""
OUTPUT_NAME: Final = "background.log"


_started: Final[list["subprocess.Popen[bytes]"]] = []
"""Those that this process started and that outlive it: kept, because Python warns of one that nobody holds."""


class StartReport(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """With a `code` it did not start."""

    url: str = ""
    notes: tuple[str, ...] = ()
    code: str = ""
    message: str = ""
    next_step: str = ""


class Address(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    token: str
    notes: tuple[str, ...] = ()


# --- the side of the chat


async def find_or_start(settings: Settings) -> Address:
    """Where the daemon of this state directory serves; where none runs, one is started. Raises the error of its start,
    or E_CONFIG if one runs that serves no HTTP."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + NO_ADDRESS_SEC
    while True:
        url = address_in(settings.state_dir)
        if url and is_held(settings.state_dir):
            return Address(url=url, token=read_token(settings.state_dir))
        if not is_held(settings.state_dir):
            try:
                report = await start_background(settings)
            except FairleadError as fault:
                if fault.code is not Code.E_STATE_LOCKED:  # another chat was faster
                    raise
            else:
                return Address(url=report.url, token=read_token(settings.state_dir), notes=report.notes)
        elif loop.time() > give_up:
            raise error(
                Code.E_CONFIG,
                f"The Fairlead that uses {settings.state_dir} has its HTTP server turned off.",
                next_step="Start it with FAIRLEAD_HTTP=1.",
            )
        await asyncio.sleep(LOOK_SEC)


def address_in(state_dir: Path) -> str:
    return (read_if_there(state_dir / ADDRESS_NAME) or b"").decode().strip()


def is_held(state_dir: Path) -> bool:
    """Whether a process holds the state directory now."""
    return is_locked(state_dir / LOCK_NAME)


def _holder(state_dir: Path) -> tuple[int, str]:
    """The process that holds the state directory, or held it last, and what it says of itself; 0 if there is none."""
    pid, _, note = (read_if_there(state_dir / LOCK_NAME) or b"").decode(errors="replace").strip().partition(" ")
    return int(pid) if pid.isdecimal() else 0, note


def ask_to_make_way(state_dir: Path) -> bool:
    """Ask a daemon for chats to stop once its jobs are over: one that serves every channel wants its place, and the
    chats find that one. False if what holds the state directory is no daemon for chats."""
    pid, note = _holder(state_dir)
    if not (pid and note.endswith(LOCK_NOTE) and is_held(state_dir)):
        return False
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGHUP)
    return True


def look_at_server(state_dir: Path) -> ServerState:
    if not is_held(state_dir):
        return "gone"
    return "up" if address_in(state_dir) else "stopping"


async def start_background(settings: Settings) -> StartReport:
    """Returns when it serves. Raises the error that kept it from starting."""
    settings.log_dir.mkdir(parents=True, exist_ok=True)
    read_end, write_end = os.pipe()
    try:
        with (settings.log_dir / OUTPUT_NAME).open("wb") as output:
            process = subprocess.Popen(  # noqa: ASYNC220 - it returns at once; the daemon outlives this process
                [sys.executable, "-m", "fairlead", "up", "--while-needed", str(write_end)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(write_end,),
                start_new_session=True,  # so that neither Ctrl-C nor a closed window reaches it
            )
            _started.append(process)
    finally:
        os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        line = await asyncio.to_thread(pipe.readline)
    return _read_report(line, process, settings)


def _read_report(line: bytes, process: "subprocess.Popen[bytes]", settings: Settings) -> StartReport:
    try:
        report = msgspec.json.decode(line, type=StartReport)
    except msgspec.DecodeError:
        code = process.wait(START_SEC)
        said = f"Its output is in {settings.log_dir / OUTPUT_NAME}."
        what = f"Fairlead did not start in the background: exit code {code}."
        raise error(Code.E_INTERNAL, what, next_step=said) from None
    if report.code:
        process.wait(START_SEC)
        raise error(Code(report.code), report.message, next_step=report.next_step)
    return report


# --- the side of the daemon


async def serve_while_needed(settings: Settings, report_to: int) -> int:
    """Serve HTTP on any free port, and no other channel, for as long as somebody needs it."""
    private = settings.replace(http=True, http_host="127.0.0.1", http_port=0, discord_token=None)
    try:
        async with run_daemon(private, lock_note=LOCK_NOTE) as daemon:
            _report(report_to, StartReport(url=daemon.http_url, notes=daemon.notes))
            await _until_unneeded(daemon)
    except FairleadError as fault:
        _report(report_to, StartReport(code=fault.code, message=fault.message, next_step=fault.next_step))
        raise
    return 0


def _report(report_to: int, report: StartReport) -> None:
    """Once: after a start the pipe is closed, and the chat may be gone."""
    try:
        os.write(report_to, msgspec.json.encode(report) + b"\n")
        os.close(report_to)
    except OSError:
        return


async def _until_unneeded(daemon: Daemon) -> None:
    """Until nobody has needed the daemon for a while, somebody stops it, or it breaks."""
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[None] = loop.create_future()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: None if stop.done() else stop.set_result(None))
    make_way = asyncio.Event()
    loop.add_signal_handler(signal.SIGHUP, make_way.set)
    async with OwnedTasks("background") as tasks:
        unneeded = tasks.start(watch_need(daemon, make_way), name="need")
        ends: set[asyncio.Future[object]] = {stop, daemon.broken, unneeded}  # pyright: ignore[reportAssignmentType]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    if daemon.broken.done():
        raise daemon.broken.result()


async def watch_need(daemon: Daemon, make_way: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    needed_at = loop.time()
    while loop.time() - needed_at < GRACE_SEC:
        if make_way.is_set() and not unfinished_jobs(daemon):
            return
        if daemon.count_clients() or unfinished_jobs(daemon):
            needed_at = loop.time()
        await asyncio.sleep(LOOK_SEC)


def unfinished_jobs(daemon: Daemon) -> int:
    return sum(daemon.flow.ledger.state.live_counts().values())
