"""Puts the real parts of Fairlead together: `RealMachine`. `flow.startup.sequence` has the order of a start."""

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import msgspec

from fairlead import __version__
from fairlead.core import timestamps
from fairlead.core.state import State
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.assembly import Adapters, Flow
from fairlead.flow.commands.handlers import BUILT_IN, Commands
from fairlead.flow.startup import sequence
from fairlead.flow.startup.config_copy import keep_config, update_config
from fairlead.flow.startup.machine import ChannelStart, StartFacts
from fairlead.flow.startup.recovery import ProjectSources
from fairlead.flow.turns.turn import TurnSettings
from fairlead.kit.files import REAL_DISK, AlreadyLocked, Disk, Lock, lock_file, make_private_directory, replace_durably
from fairlead.kit.process_sweep import SweptProcess, sweep
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import JobLogDirectory, Redactor, RotatingFile, log, start_logging
from fairlead.ports import Channel, Journal, Runtime
from fairlead.runtimes.catalogue import available_runtimes
from fairlead.runtimes.environment import secret_values
from fairlead.settings import Settings, load_settings
from fairlead.store.blobs import FileBlobs, named_blobs
from fairlead.store.config_copy import ConfigFile
from fairlead.store.directories import RealDirectories
from fairlead.store.journal import FileJournal, Opened, open_state
from fairlead.store.snapshot_schedule import SnapshotPace, keep_snapshots
from fairlead.store.writer import ThreadedWriter

if TYPE_CHECKING:
    from fairlead.channels.http.channel import HttpChannel

LOCK_NAME: Final = "lock"
ADDRESS_NAME: Final = "http-address"
STOP_SECONDS: Final = 8.0
"""How long a stop may take to end agents and write the snapshot, after running jobs had their time."""


class SystemClock:
    def now(self) -> str:
        return timestamps.moment(datetime.now(UTC))


class Daemon(msgspec.Struct, frozen=True, kw_only=True):
    """A Fairlead that is up. `notes` are for the person who started it."""

    settings: Settings
    flow: Flow
    runtimes: dict[str, Runtime]
    notes: tuple[str, ...]
    http_url: str = ""
    token: str = ""
    broken: asyncio.Future[FairleadError]


@asynccontextmanager
async def run_daemon(
    settings: Settings, *, echo_warnings: bool = False, disk: Disk = REAL_DISK, commands: Commands = BUILT_IN
) -> AsyncGenerator[Daemon]:
    """Start in order; leaving the block stops in reverse."""
    async with AsyncExitStack() as stack:
        machine = RealMachine(settings, disk, commands, echo_warnings=echo_warnings)
        started = await sequence.start(machine, stack)
        yield Daemon(
            settings=settings,
            flow=started.flow,
            runtimes=machine.runtimes,
            notes=started.notes,
            http_url=machine.http_url,
            token=machine.token if machine.http_url else "",
            broken=machine.broken,
        )


class RealMachine:
    """`Machine` of flow.startup: this computer, as the settings describe it. Its methods stand in the order in which a
    start calls them."""

    def __init__(self, settings: Settings, disk: Disk, commands: Commands, *, echo_warnings: bool) -> None:
        self._settings = settings
        self._commands = commands
        self._state_dir = settings.state_dir
        self._disk = disk
        self._echo_warnings = echo_warnings
        self._opened: Opened | None = None
        self._http: HttpChannel | None = None
        self.config = ConfigFile(settings.state_dir, disk=disk, offload=asyncio.to_thread)
        self.broken: asyncio.Future[FairleadError] = asyncio.get_running_loop().create_future()
        self.runtimes: dict[str, Runtime] = {}
        self.token = ""
        self.http_url = ""

    def lock(self) -> Lock:
        return take_lock(self._state_dir)

    def open(self, stack: AsyncExitStack) -> Adapters:
        """The logs come first, so that what opening the state finds is in them."""
        settings = self._settings
        (self._state_dir / ADDRESS_NAME).unlink(
            missing_ok=True
        )  # the address of the last daemon, which listens no more
        self.token = _read_or_make_token(settings)
        self._redactor = Redactor([*settings.secrets(), self.token, *secret_values(os.environ)])
        app_log = _open_logs(settings, self._redactor, echo_warnings=self._echo_warnings)
        stack.callback(app_log.close)
        self._opened = opened = _open_state(self._state_dir, self._disk)
        for report in opened.reports:
            log.warning("journal", message=report)
        self._journal = self._open_journal(opened)
        stack.push_async_callback(self._journal.aclose)
        self.runtimes = available_runtimes(settings, JobLogDirectory(settings.log_dir, self._redactor))
        for runtime in self.runtimes.values():
            stack.push_async_callback(runtime.aclose)
        self._blobs = FileBlobs(self._state_dir, disk=self._disk, offload=asyncio.to_thread)
        return self._make_adapters(opened.state)

    def _open_journal(self, opened: Opened) -> Journal:
        broken = self.broken
        return FileJournal(
            self._state_dir,
            opened,
            disk=self._disk,
            writer=ThreadedWriter(),
            offload=asyncio.to_thread,
            on_broken=lambda fault: None if broken.done() else broken.set_result(fault),
        )

    def _make_adapters(self, state: State) -> Adapters:
        settings = self._settings
        return Adapters(
            state=state,
            journal=self._journal,
            blobs=self._blobs,
            directories=RealDirectories(),
            clock=SystemClock(),
            limits=settings.limits(tuple(self.runtimes)),
            runtimes=self.runtimes,
            channels={},
            fetchers={},
            recheckers={},
            random=Random(),
            turn_settings=TurnSettings(
                time_limit_sec=settings.cli_timeout_sec, workspaces=str(self._state_dir / "workspaces")
            ),
            language=settings.lang,
            commands=self._commands,
        )

    def reports(self) -> tuple[str, ...]:
        return self._opened.reports if self._opened is not None else ()

    def start_facts(self) -> StartFacts:
        settings = self._settings
        return StartFacts(
            new_state_id=secrets.token_hex(2),
            version=__version__,
            pid=os.getpid(),
            owner_id=settings.person_with(settings.discord_owner_id),
            projects=ProjectSources(settings.projects, settings.project_root),
        )

    def end_left_over_agents(self, state_id: str) -> list[SweptProcess]:
        return sweep(f"{state_id}:")

    def forget_unnamed_blobs(self, state: State) -> None:
        self._blobs.forget_unnamed(named_blobs(state))

    def make_channels(self, flow: Flow, adapters: Adapters) -> list[ChannelStart]:
        if self._settings.http:
            self._http = self._make_http(flow, adapters)
        return [self._make_discord(flow, adapters)] if self._settings.discord_token is not None else []

    def _make_discord(self, flow: Flow, adapters: Adapters) -> ChannelStart:
        from fairlead.channels.discord import DiscordChannel

        settings, redactor = self._settings, self._redactor
        channel = DiscordChannel(
            flow.gate,
            flow.view,
            settings=settings,
            identities=settings.people(),
            blobs=adapters.blobs,
            token=lambda: current_token(settings, redactor),
            commands=adapters.commands.catalogue,
        )
        adapters.channels[channel.name] = channel
        adapters.fetchers[channel.name] = channel
        adapters.recheckers[channel.name] = channel
        return channel

    def _make_http(self, flow: Flow, adapters: Adapters) -> "HttpChannel":
        from fairlead.channels.http.channel import HttpChannel

        settings = self._settings
        channel = HttpChannel(
            flow.gate,
            flow.view,
            token=self.token,
            identities=settings.people(),
            agent_id=settings.agent_id,
            blobs=adapters.blobs,
            vitals=self._journal,
            max_body_bytes=2 * settings.max_message_bytes,
            commands=adapters.commands.catalogue,
        )
        pulled: Sequence[Channel] = channel.channels
        adapters.channels.update({c.name: c for c in pulled})
        return channel

    def background_work(self, flow: Flow, adapters: Adapters) -> dict[str, Coroutine[Any, Any, None]]:
        pace = SnapshotPace(self._settings.snapshot_every_events, self._settings.snapshot_every_seconds)
        return {
            "snapshots": keep_snapshots(adapters.journal, adapters.state, pace),
            "index": adapters.journal.keep_index(),
            "config": keep_config(flow.ledger, self.config),
        }

    async def serve(self, stack: AsyncExitStack) -> None:
        if self._http is None:
            return
        settings = self._settings
        host, port = await stack.enter_async_context(self._http.serve(settings.http_host, settings.http_port))
        self.http_url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        address = self._state_dir / ADDRESS_NAME
        replace_durably(address, f"{self.http_url}\n".encode())
        stack.callback(address.unlink, missing_ok=True)

    async def stop(self, flow: Flow, owner: TaskOwner) -> None:
        """Within a time limit: on a full disk the end of a job, or the snapshot, would wait for ever."""
        limit = self._settings.drain_sec + STOP_SECONDS
        try:
            async with asyncio.timeout(limit):
                await flow.scheduler.drain(self._settings.drain_sec)
                # The copy must be current: a person may edit it after the stop, and the edit would restore old values.
                await update_config(flow.ledger, self.config)
                await self._journal.snapshot(flow.ledger.state)
        except TimeoutError:
            print(f"fairlead: not everything ended within {limit:.0f} s; the next start says what.", file=sys.stderr)  # noqa: T201
        except (FairleadError, OSError) as fault:
            print(f"fairlead: {fault}", file=sys.stderr)  # noqa: T201 - a broken disk may have no log
        finally:
            owner.cancel()


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


def _read_or_make_token(settings: Settings) -> str:
    """The bearer token of HTTP clients; empty where HTTP is off."""
    if not settings.http:
        return ""
    from fairlead.channels.http.token import read_or_make_token

    return read_or_make_token(settings.state_dir)


def _open_logs(settings: Settings, redactor: Redactor, *, echo_warnings: bool) -> RotatingFile:
    try:
        return start_logging(settings.log_dir, redactor, echo_warnings=echo_warnings)
    except OSError as fault:
        raise error(
            Code.E_CONFIG,
            f"LOG_DIR {settings.log_dir} cannot be written: {fault.strerror or fault}.",
            next_step="Set LOG_DIR to a directory that you can write.",
        ) from fault


def _open_state(state_dir: Path, disk: Disk) -> Opened:
    try:
        return open_state(state_dir, disk)
    except OSError as fault:
        raise error(
            Code.E_CONFIG,
            f"{fault.filename or state_dir} cannot be used: {fault.strerror or fault}.",
            next_step="Make it readable and writable for this user, with space on its disk, and start again.",
        ) from fault


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
