"""Puts the real parts of Fairlead together: `RealMachine`. `flow.startup.sequence` has the order of a start."""

import asyncio
import os
import secrets
import stat
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import msgspec

from fairlead import __version__
from fairlead.core import timestamps
from fairlead.core.conversation import ConversationRef
from fairlead.core.identity import LOCAL_USER
from fairlead.core.ids import JobId
from fairlead.core.keys import user_key
from fairlead.core.replies import Reply
from fairlead.core.requests import Caller, Request
from fairlead.core.state import State
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.agent_calls import AgentToolSettings
from fairlead.flow.assembly import Adapters, Flow
from fairlead.flow.commands.handlers import BUILT_IN, Commands
from fairlead.flow.commands.parts import DefaultAgent
from fairlead.flow.schedules.checks import CommandChecks
from fairlead.flow.schedules.schedules import ScheduleDefaults
from fairlead.flow.startup import sequence
from fairlead.flow.startup.config_copy import keep_config, update_config
from fairlead.flow.startup.machine import ChannelStart, StartFacts
from fairlead.flow.startup.recovery import ProjectSources
from fairlead.flow.turns.turn import TurnSettings
from fairlead.kit.addresses import find_openable_url, leaves_loopback
from fairlead.kit.confinement import confine_children
from fairlead.kit.files import REAL_DISK, AlreadyLocked, Disk, Lock, lock_file, make_private_directory, replace_durably
from fairlead.kit.local_zone import find_local_zone
from fairlead.kit.other_user import AnotherUser
from fairlead.kit.process_sweep import SweptProcess, sweep
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import JobLogDirectory, Redactor, RotatingFile, log, start_logging
from fairlead.ports import Channel, Journal, Runtime
from fairlead.runtimes.acp.available_agents import default_acp_name
from fairlead.runtimes.catalogue import Catalogue
from fairlead.runtimes.codex.sandbox import describe_exposed_state
from fairlead.runtimes.environment import child_environment, secret_values
from fairlead.runtimes.install.agent_files import AgentFiles
from fairlead.runtimes.separation import check_giving, make_confinements
from fairlead.runtimes.tool_policy import WorkspaceTiers
from fairlead.runtimes.tool_server import ToolServer
from fairlead.settings import OPEN_HTTP_ADVICE, Settings, load_settings
from fairlead.store.blobs import BLOBS_NAME, FileBlobs, named_blobs
from fairlead.store.config_copy import ConfigFile
from fairlead.store.directories import RealDirectories
from fairlead.store.hook_secrets import FileHookSecrets
from fairlead.store.inboxes import INBOX_NAME, FileInboxes
from fairlead.store.journal import FileJournal, Opened, open_state
from fairlead.store.name_index import INDEX_NAME
from fairlead.store.project_files import RealProjectFiles
from fairlead.store.snapshot_schedule import SnapshotPace, keep_snapshots
from fairlead.store.tidying import Tidying
from fairlead.store.writer import NO_ROOM, ThreadedWriter

if TYPE_CHECKING:
    from fairlead.channels.http.channel import HttpChannel

LOCK_NAME: Final = "lock"
ADDRESS_NAME: Final = "http-address"
PASSABLE_DIRECTORY: Final = 0o711
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
    count_clients: Callable[[], int]
    """How many connections HTTP clients have open now."""


@asynccontextmanager
async def run_daemon(
    settings: Settings,
    *,
    echo_warnings: bool = False,
    disk: Disk = REAL_DISK,
    commands: Commands = BUILT_IN,
    lock_note: str = "",
) -> AsyncGenerator[Daemon]:
    """Start in order; leaving the block stops in reverse. `lock_note` is shown to a process that finds the state
    directory in use."""
    async with AsyncExitStack() as stack:
        machine = RealMachine(settings, disk, commands, echo_warnings=echo_warnings, lock_note=lock_note)
        with _explain_full_disk(settings.state_dir):
            started = await sequence.start(machine, stack)
        yield Daemon(
            settings=settings,
            flow=started.flow,
            runtimes=machine.runtimes,
            notes=started.notes,
            http_url=machine.http_url,
            token=machine.token if machine.http_url else "",
            broken=machine.broken,
            count_clients=machine.count_clients,
        )


async def record_alone(settings: Settings, request: Request) -> Reply:
    """Carry out a command of the owner while no daemon runs, through the same handler as a daemon. Raises
    E_STATE_LOCKED if one runs.

    The journal is opened under the lock, because a hand edit of config.json would be decided only at the next start:
    what is refused then (a digest that changed) would stop that start instead of this command."""
    async with AsyncExitStack() as stack:
        machine = RealMachine(settings, REAL_DISK, BUILT_IN, echo_warnings=False)
        flow = await sequence.open_alone(machine, stack)
        return await flow.gate.command(request, _owner_here(settings))


def _owner_here(settings: Settings) -> Caller:
    """Who may write the state directory is its owner."""
    person = settings.people().person_of("terminal", LOCAL_USER)
    return Caller(
        person=person,
        conversation=ConversationRef("terminal", settings.agent_id, LOCAL_USER),
        session_key=user_key(agent_id=settings.agent_id, user_id=person),
        pre_authorised=True,
    )


@contextmanager
def _explain_full_disk(state_dir: Path) -> Generator[None]:
    """A start writes many small files; whichever of them finds no room, the reason is the same."""
    try:
        yield
    except OSError as fault:
        if fault.errno not in NO_ROOM:
            raise
        raise _disk_full(fault, state_dir) from fault


def _disk_full(fault: OSError, path: Path) -> FairleadError:
    return error(
        Code.E_DISK_FULL,
        f"There is not enough disk space to start: {fault.filename or path}: {fault.strerror or fault}.",
        next_step="Free some space on that disk; the start then continues by itself. No accepted message is lost.",
    )


class RealMachine:
    """`Machine` of flow.startup: this computer, as the settings describe it. Its methods stand in the order in which a
    start calls them."""

    def __init__(
        self, settings: Settings, disk: Disk, commands: Commands, *, echo_warnings: bool, lock_note: str = ""
    ) -> None:
        self._settings = settings
        self._commands = commands
        self._state_dir = settings.state_dir
        self._disk = disk
        self._lock_note = lock_note
        self._echo_warnings = echo_warnings
        self._opened: Opened | None = None
        self._http: HttpChannel | None = None
        self.config = ConfigFile(settings.state_dir, disk=disk, offload=asyncio.to_thread)
        self.broken: asyncio.Future[FairleadError] = asyncio.get_running_loop().create_future()
        self.runtimes: dict[str, Runtime] = {}
        self.token = ""
        self.http_url = ""

    def lock(self) -> Lock:
        return take_lock(self._state_dir, self._lock_note)

    def open(self, stack: AsyncExitStack) -> Adapters:
        """The logs come first, so that what opening the state finds is in them."""
        settings = self._settings
        # The address is that of the last daemon, which listens no more.
        (self._state_dir / ADDRESS_NAME).unlink(missing_ok=True)
        self.token = _read_or_make_token(settings)
        self._redactor = Redactor([*settings.secrets(), self.token, *secret_values(os.environ)])
        app_log = _open_logs(settings, self._redactor, echo_warnings=self._echo_warnings)
        stack.callback(app_log.close)
        with _explain_unusable_state(self._state_dir):
            self._opened = opened = open_state(self._state_dir, self._disk)
            self._journal = self._open_journal(opened)
        for report in opened.reports:
            log.warning("journal", message=report)
        stack.push_async_callback(self._journal.aclose)
        job_logs = JobLogDirectory(settings.log_dir, self._redactor)
        self._tidying = Tidying(
            (self._state_dir, self._state_dir / BLOBS_NAME, self._state_dir / INDEX_NAME),
            disk=self._disk,
            offload=asyncio.to_thread,
            forget_logs=job_logs.forget_old,
        )
        self._tools = ToolServer(
            self._state_dir,
            hide=self._redactor.learn,
            forget=self._redactor.forget,
            is_on=bool(settings.agent_tools),
        )
        self._catalogue = Catalogue(settings, job_logs, self._tools)
        self._catalogue.follow(opened.state.agents)
        stack.push_async_callback(self._catalogue.aclose)
        self.runtimes = self._catalogue.runtimes
        self._blobs = FileBlobs(self._state_dir, disk=self._disk, offload=asyncio.to_thread)
        self._inboxes = FileInboxes(
            self._state_dir, self._blobs, disk=self._disk, offload=asyncio.to_thread, give=self._separate_agents(stack)
        )
        self._hook_secrets = FileHookSecrets(
            self._state_dir, disk=self._disk, offload=asyncio.to_thread, learn=self._redactor.learn
        )
        self._tools.prepare()
        return self._make_adapters(opened.state)

    def _separate_agents(self, stack: AsyncExitStack) -> Callable[[Path | int], None] | None:
        """From here on every agent is started as the settings ask for. Returns what gives a file to their user."""
        confinements = make_confinements(self._settings, self._find_shown)
        stack.enter_context(confine_children(confinements))
        user = next((c for c in confinements if isinstance(c, AnotherUser)), None)
        if user is None:
            return None
        # The agents' user passes through to its inboxes, and can list nothing on the way.
        for directory in (self._state_dir, self._state_dir / INBOX_NAME):
            make_private_directory(directory, disk=self._disk)
            directory.chmod(PASSABLE_DIRECTORY)
        check_giving(user, self._state_dir / INBOX_NAME)
        self._tools.give = user.give
        return user.give

    def _find_shown(self, mark: str) -> list[Path]:
        """What an agent's own session has in the state directory."""
        assert self._opened is not None
        job = self._opened.state.jobs.get(JobId(mark.rpartition(":")[2]))
        inbox = [] if job is None else [self._inboxes.path_of(job.session_key)]
        return [*inbox, *self._tools.paths_for(mark)]

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
            inboxes=self._inboxes,
            hook_secrets=self._hook_secrets,
            directories=RealDirectories(self._state_dir),
            clock=SystemClock(),
            limits=settings.limits(tuple(self.runtimes)),
            runtimes=self.runtimes,
            catalogue=self._catalogue,
            channels={},
            fetchers={},
            recheckers={},
            random=Random(),
            turn_settings=TurnSettings(
                time_limit_sec=settings.cli_timeout_sec,
                workspaces=str(self._state_dir / "workspaces"),
                tiers=WorkspaceTiers(self._state_dir / "workspaces", settings.runtime_tools),
            ),
            language=settings.lang,
            redact=self._redactor.text,
            commands=self._commands,
            checks=CommandChecks(
                child_environment(os.environ, extra=settings.runtime_environment), settings.schedule_check_sec
            ),
            schedule_defaults=ScheduleDefaults(
                zone=settings.time_zone or find_local_zone(), missed=settings.schedule_missed
            ),
            project_files=RealProjectFiles(asyncio.to_thread),
            agent_tools=AgentToolSettings(
                names=settings.agent_tools,
                calls_per_minute=settings.agent_calls_per_minute,
                max_file_bytes=settings.agent_file_max_bytes,
            ),
            default_agent=DefaultAgent(name=default_acp_name(settings), goes_first=bool(settings.agent_command)),
        )

    def reports(self) -> tuple[str, ...]:
        exposed = describe_exposed_state(self._state_dir, self.runtimes)
        if exposed:
            log.warning("state", message=exposed)
        return (*(self._opened.reports if self._opened is not None else ()), *([exposed] if exposed else ()))

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

    def forget_unnamed_files(self, state: State) -> None:
        self._tidying.remove_leftovers()
        self._blobs.forget_unnamed(named_blobs(state))
        self._inboxes.forget_unneeded(state)
        self._hook_secrets.forget_all_but(state.hooks)
        try:
            AgentFiles(self._state_dir).forget_unnamed(state.agents.values())
        except OSError as fault:  # files that nobody uses are no reason not to start
            log.warning("files of old agents stay", message=str(fault))

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
            allowed_hosts=settings.http_allowed_hosts,
            max_body_bytes=2 * settings.max_message_bytes,
            request_sec=settings.http_timeout_sec,
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
            "check": adapters.journal.keep_checking(),
            "tidying": self._tidying.keep_tidy(adapters.state, self._journal, self._blobs, self._inboxes),
            "config": keep_config(flow.ledger, self.config),
            "agent tools": self._tools.run(flow.agent_calls),
        }

    async def serve(self, stack: AsyncExitStack) -> None:
        if self._http is None:
            return
        settings = self._settings
        host, port = await stack.enter_async_context(self._http.serve(settings.http_host, settings.http_port))
        self.http_url = find_openable_url(host, port)
        if leaves_loopback(host):
            log.warning("plain HTTP leaves loopback", listens_on=f"{host}:{port}", next_step=OPEN_HTTP_ADVICE)
        address = self._state_dir / ADDRESS_NAME
        replace_durably(address, f"{self.http_url}\n".encode(), disk=self._disk)
        stack.callback(address.unlink, missing_ok=True)

    def count_clients(self) -> int:
        return 0 if self._http is None else self._http.connections

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
            print(f"fairlead: shutdown timed out after {limit:.0f} s; the next start has details.", file=sys.stderr)  # noqa: T201
        except (FairleadError, OSError) as fault:
            print(f"fairlead: {fault}", file=sys.stderr)  # noqa: T201 - a broken disk may have no log
        finally:
            owner.cancel()


def take_lock(state_dir: Path, note: str = "") -> Lock:
    """Only one process writes here. Raises E_STATE_LOCKED with the holder's name."""
    try:
        make_private_directory(state_dir)
        _refuse_shared_directory(state_dir)
        return lock_file(state_dir / LOCK_NAME, f"fairlead {__version__} {note}".rstrip())
    except AlreadyLocked as held:
        who = f"process {held.pid} ({held.note})" if held.pid else "another process"
        raise error(
            Code.E_STATE_LOCKED,
            f"{state_dir} is in use by {who}.",
            next_step="Stop it, connect to it with `fairlead chat`, or set another STATE_DIR.",
        ) from None
    except OSError as fault:
        if fault.errno in NO_ROOM:
            raise _disk_full(fault, state_dir) from fault
        raise error(
            Code.E_CONFIG,
            f"STATE_DIR {state_dir} cannot be written: {fault.strerror or fault}.",
            next_step="Set STATE_DIR to a directory that you can write.",
        ) from fault


def _refuse_shared_directory(state_dir: Path) -> None:
    """A user who may write here may replace the journal, the token and the permissions of every project."""
    found = state_dir.stat()
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o022:
        why, fix = f"others may write to it (its mode is {mode:04o})", f"Run: chmod 700 {state_dir}"
    elif found.st_uid not in {0, os.geteuid()}:
        why, fix = f"it belongs to another user ({found.st_uid})", f"Run: chown {os.geteuid()} {state_dir}"
    else:
        return
    raise error(Code.E_CONFIG, f"STATE_DIR {state_dir} is not used, because {why}.", next_step=fix)


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
        if fault.errno in NO_ROOM:
            raise _disk_full(fault, settings.log_dir) from fault
        raise error(
            Code.E_CONFIG,
            f"LOG_DIR {settings.log_dir} cannot be written: {fault.strerror or fault}.",
            next_step="Set LOG_DIR to a directory that you can write.",
        ) from fault


@contextmanager
def _explain_unusable_state(state_dir: Path) -> Generator[None]:
    try:
        yield
    except OSError as fault:
        if fault.errno in NO_ROOM:
            raise _disk_full(fault, state_dir) from fault
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
    redactor.learn(token.reveal())
    return token.reveal()
