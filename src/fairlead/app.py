"""The one place where everything is put together, started in order, stopped in reverse."""

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncGenerator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from fairlead import __version__
from fairlead.core import timestamps
from fairlead.core.state import State
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.assembly import Adapters, Flow
from fairlead.flow.startup import recovery
from fairlead.flow.turns.turn import TurnSettings
from fairlead.kit.files import REAL_DISK, AlreadyLocked, Disk, Lock, lock_file, make_private_directory, replace_durably
from fairlead.kit.process_sweep import sweep
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import JobLogDirectory, Redactor, RotatingFile, log, start_logging
from fairlead.ports import Channel, Runtime
from fairlead.runtimes.catalogue import available_runtimes
from fairlead.runtimes.environment import secret_values
from fairlead.settings import Settings, load_settings
from fairlead.store import config_import
from fairlead.store.blobs import FileBlobs, named_blobs
from fairlead.store.config_file import CONFIG_NAME, encode_config, refused_edit, was_edited, write_config
from fairlead.store.directories import RealDirectories
from fairlead.store.journal import FileJournal, Opened, open_state
from fairlead.store.snapshot_schedule import SnapshotPace, keep_snapshots
from fairlead.store.writer import ThreadedWriter

LOCK_NAME: Final = "lock"
ADDRESS_NAME: Final = "http-address"
STOP_SECONDS: Final = 8.0
"""For ending agents and writing the snapshot, after running jobs had their time."""


class SystemClock:
    def now(self) -> str:
        return timestamps.moment(datetime.now(UTC))


class Daemon(msgspec.Struct, frozen=True, kw_only=True):
    """A Fairlead that is up. `notes` is what a person should be told about this start."""

    settings: Settings
    flow: Flow
    runtimes: dict[str, Runtime]
    notes: tuple[str, ...]
    http_url: str = ""
    token: str = ""
    broken: asyncio.Future[FairleadError]


def take_lock(state_dir: Path) -> Lock:
    """Only one process writes here. Raises E_STATE_LOCKED with the holder's name."""
    try:
        make_private_directory(state_dir)
        return lock_file(state_dir / LOCK_NAME, f"fairlead {__version__}")
    except AlreadyLocked as held:
        who = f"process {held.pid} ({held.note})" if held.pid else "another process"
        raise error(
            Code.E_STATE_LOCKED,
            f"{state_dir} is in use by {who}.",
            next_step="Stop it, talk to it with `fairlead chat`, or set another STATE_DIR.",
        ) from None
    except OSError as fault:
        raise error(
            Code.E_CONFIG,
            f"STATE_DIR {state_dir} cannot be written: {fault.strerror or fault}.",
            next_step="Set STATE_DIR to a directory that you can write.",
        ) from fault


@asynccontextmanager
async def run_daemon(
    settings: Settings, *, echo_warnings: bool = False, disk: Disk = REAL_DISK
) -> AsyncGenerator[Daemon]:
    """Start in order; leaving the block stops in reverse: nobody comes in, what runs may finish, the journal closes."""
    async with AsyncExitStack() as stack:
        stack.enter_context(take_lock(settings.state_dir))
        (settings.state_dir / ADDRESS_NAME).unlink(missing_ok=True)  # nobody listens there any more
        token = _token(settings)
        redactor = Redactor([*settings.secrets(), token, *secret_values(os.environ)])
        app_log = _open_logs(settings, redactor, echo_warnings=echo_warnings)
        stack.callback(app_log.close)
        job_logs = JobLogDirectory(settings.log_dir, redactor)
        opened = _opened(settings.state_dir, disk)
        for report in opened.reports:
            log.warning("journal", message=report)
        broken: asyncio.Future[FairleadError] = asyncio.get_running_loop().create_future()
        journal = FileJournal(
            settings.state_dir,
            opened,
            disk=disk,
            writer=ThreadedWriter(),
            offload=asyncio.to_thread,
            on_broken=lambda fault: None if broken.done() else broken.set_result(fault),
        )
        stack.push_async_callback(journal.aclose)
        runtimes = available_runtimes(settings, job_logs)
        for runtime in runtimes.values():
            stack.push_async_callback(runtime.aclose)
        adapters = _adapters(settings, opened.state, journal, runtimes, disk)
        flow = Flow(adapters)
        notes = [*opened.reports, *await _begin(settings, flow, adapters, disk)]
        daemon = Daemon(settings=settings, flow=flow, runtimes=runtimes, notes=tuple(notes), broken=broken)
        discord = _join_discord(settings, flow, adapters, redactor)
        await _start_workers(stack, daemon, adapters, journal, disk, *discord)
        if settings.http:
            daemon = await _serve_http(stack, daemon, adapters, journal, token)
        yield daemon


def _opened(state_dir: Path, disk: Disk) -> Opened:
    try:
        return open_state(state_dir, disk)
    except OSError as fault:
        raise error(
            Code.E_CONFIG,
            f"{fault.filename or state_dir} cannot be used: {fault.strerror or fault}.",
            next_step="Make it readable and writable for this user, with room on its disk, and start again.",
        ) from fault


def _open_logs(settings: Settings, redactor: Redactor, *, echo_warnings: bool) -> RotatingFile:
    try:
        return start_logging(settings.log_dir, redactor, echo_warnings=echo_warnings)
    except OSError as fault:
        raise error(
            Code.E_CONFIG,
            f"LOG_DIR {settings.log_dir} cannot be written: {fault.strerror or fault}.",
            next_step="Set LOG_DIR to a directory that you can write.",
        ) from fault


def _adapters(
    settings: Settings, state: State, journal: FileJournal, runtimes: dict[str, Runtime], disk: Disk
) -> Adapters:
    return Adapters(
        state=state,
        journal=journal,
        blobs=FileBlobs(settings.state_dir, disk=disk, offload=asyncio.to_thread),
        directories=RealDirectories(),
        clock=SystemClock(),
        limits=settings.limits(tuple(runtimes)),
        runtimes=runtimes,
        channels={},
        fetchers={},
        random=Random(),
        turn_settings=TurnSettings(
            time_limit_sec=settings.cli_timeout_sec, workspaces=str(settings.state_dir / "workspaces")
        ),
        language=settings.lang,
    )


async def _begin(settings: Settings, flow: Flow, adapters: Adapters, disk: Disk) -> list[str]:
    """Under the lock and before any job may start: what is left over from the last time, and what is there now."""
    ledger, state = flow.ledger, adapters.state
    config_path = settings.state_dir / CONFIG_NAME
    edits = config_import.read_edits(config_path, state, adapters.directories, disk)
    await recovery.found_and_begin(
        ledger,
        state_id=state.state_id or secrets.token_hex(2),
        version=__version__,
        pid=os.getpid(),
        owner_id=settings.person_with(settings.discord_owner_id) or edits.owner_id,
    )
    notes = _sweep(state.state_id)
    for command in edits.commands:
        try:
            await ledger.record_durably(command)
        except FairleadError as problem:
            raise refused_edit(config_path, disk, command.name, problem) from None
    sources = recovery.ProjectSources(settings.projects, settings.project_root)
    notes += await recovery.register_projects(ledger, sources, adapters.directories)
    interrupted = await recovery.mark_interrupted(ledger)
    if interrupted:
        notes.append(f"Interrupted by the last stop: {', '.join(interrupted)}. `/retry JOB` runs one again.")
    assert isinstance(adapters.blobs, FileBlobs)
    adapters.blobs.forget_unnamed(named_blobs(state))
    await _try_to_write_config(config_path, encode_config(state), disk)
    return notes


def _sweep(state_id: str) -> list[str]:
    """Agents that outlived the last daemon are ended before a new one may touch the same sessions."""
    swept = sweep(f"{state_id}:")
    for process in swept:
        log.warning("left over process ended", pid=process.pid, command=process.command[:200])
    return [f"{len(swept)} agent process(es) of the last run were still there and have been ended."] if swept else []


def _join_discord(
    settings: Settings, flow: Flow, adapters: Adapters, redactor: Redactor
) -> list[Coroutine[Any, Any, None]]:
    """Before any job may start: its channel and its fetcher must be there when the first one wants them."""
    if settings.discord_token is None:
        return []
    from fairlead.channels.discord import DiscordChannel

    channel = DiscordChannel(
        flow.gate,
        flow.view,
        settings=settings,
        identities=settings.people(),
        blobs=adapters.blobs,
        token=lambda: current_token(settings, redactor),
    )
    adapters.channels[channel.name] = channel
    adapters.fetchers[channel.name] = channel
    adapters.recheckers[channel.name] = channel
    return [channel.run()]


def current_token(settings: Settings, redactor: Redactor) -> str:
    """The bot's token as it stands in the settings now: a rotated one is used from then on, without a restart."""
    try:
        token = load_settings().discord_token
    except FairleadError:
        token = None
    token = token or settings.discord_token
    assert token is not None
    redactor.learn(token.get_secret_value())
    return token.get_secret_value()


async def _start_workers(
    stack: AsyncExitStack,
    daemon: Daemon,
    adapters: Adapters,
    journal: FileJournal,
    disk: Disk,
    *more: Coroutine[Any, Any, None],
) -> None:
    settings = daemon.settings
    owner = await stack.enter_async_context(TaskOwner("daemon"))
    stack.push_async_callback(_stop, owner, daemon, journal, disk)
    pace = SnapshotPace(settings.snapshot_every_events, settings.snapshot_every_seconds)
    owner.start(daemon.flow.run(), name="flow")
    for number, work in enumerate(more):
        owner.start(work, name=f"channel {number}")
    owner.start(keep_snapshots(journal, adapters.state, pace), name="snapshots")
    owner.start(_keep_config(daemon.flow, settings.state_dir / CONFIG_NAME, disk), name="config")


def _token(settings: Settings) -> str:
    """What clients of HTTP must show; nothing where HTTP is off."""
    if not settings.http:
        return ""
    from fairlead.channels.http.token import read_or_make_token

    return read_or_make_token(settings.state_dir)


async def _serve_http(
    stack: AsyncExitStack, daemon: Daemon, adapters: Adapters, journal: FileJournal, token: str
) -> Daemon:
    from fairlead.channels.http.channel import HttpChannel

    settings = daemon.settings
    channel = HttpChannel(
        daemon.flow.gate,
        daemon.flow.view,
        token=token,
        identities=settings.people(),
        agent_id=settings.agent_id,
        blobs=adapters.blobs,
        vitals=journal,
        max_body_bytes=2 * settings.max_message_bytes,
    )
    pulled: tuple[Channel, ...] = channel.channels
    adapters.channels.update({c.name: c for c in pulled})
    host, port = await stack.enter_async_context(channel.serve(settings.http_host, settings.http_port))
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    address = settings.state_dir / ADDRESS_NAME
    replace_durably(address, f"{url}\n".encode())
    stack.callback(address.unlink, missing_ok=True)
    return msgspec.structs.replace(daemon, http_url=url, token=token)


async def _keep_config(flow: Flow, path: Path, disk: Disk) -> None:
    """The readable copy follows the journal, unless a person is editing it: that is taken over at the next start."""
    ledger = flow.ledger
    while True:
        stamps = _config_stamps(ledger.state)
        await _follow_with_config(flow, path, disk)
        while _config_stamps(ledger.state) == stamps:
            await ledger.until_changed(ledger.state.seq)


async def _follow_with_config(flow: Flow, path: Path, disk: Disk) -> None:
    shown = encode_config(flow.ledger.state)
    await flow.ledger.until_all_durable()
    if was_edited(path, disk):
        log.warning("config.json was edited", message=f"{path} was edited; the next start takes it over")
    else:
        await _try_to_write_config(path, shown, disk)


async def _try_to_write_config(path: Path, data: bytes, disk: Disk) -> None:
    """It is only a copy: a full disk delays it and ends nothing."""
    try:
        await asyncio.to_thread(write_config, path, data, disk)
    except OSError as fault:
        log.warning("config.json not written", message=f"{path}: {fault}", error_code="E_DISK_FULL")


def _config_stamps(state: State) -> tuple[str, tuple[tuple[str, str], ...]]:
    return state.owner_id, tuple((p.name, p.updated_at) for p in state.projects.values())


async def _stop(owner: TaskOwner, daemon: Daemon, journal: FileJournal, disk: Disk) -> None:
    """Bounded, come what may: on a full disk the end of a job, or the snapshot, would wait for room for ever."""
    limit = daemon.settings.drain_sec + STOP_SECONDS
    try:
        async with asyncio.timeout(limit):
            await daemon.flow.scheduler.drain(daemon.settings.drain_sec)
            # Whoever edits the copy after a stop must not bring back what was so before it.
            await _follow_with_config(daemon.flow, daemon.settings.state_dir / CONFIG_NAME, disk)
            await journal.snapshot(daemon.flow.ledger.state)
    except TimeoutError:
        print(f"fairlead: not everything ended within {limit:.0f} s; the next start says what.", file=sys.stderr)  # noqa: T201
    except (FairleadError, OSError) as fault:
        print(f"fairlead: {fault}", file=sys.stderr)  # noqa: T201 - the journal may be what broke; say it where it is seen
    finally:
        owner.cancel()
