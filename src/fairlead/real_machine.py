"""Puts the real parts of Fairlead together: `RealMachine`. `flow.startup.sequence` has the order of a start.

This imports nearly all of Fairlead, so `app` loads it while the channels connect."""

import asyncio
import os
import secrets
import sys
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import msgspec

from fairlead import __version__
from fairlead.channels.http.health_samples import HealthMeters, HealthSamples
from fairlead.core import timestamps
from fairlead.core.ids import JobId
from fairlead.core.state import State
from fairlead.errors import FairleadError
from fairlead.flow.agent_calls import AgentToolSettings
from fairlead.flow.assembly import Adapters, Flow
from fairlead.flow.commands.handlers import BUILT_IN, Commands
from fairlead.flow.commands.parts import DefaultAgent
from fairlead.flow.schedules.checks import CommandChecks
from fairlead.flow.schedules.schedules import ScheduleDefaults
from fairlead.flow.startup.config_copy import keep_config, update_config
from fairlead.flow.startup.machine import ChannelStart, StartFacts
from fairlead.flow.startup.recovery import ProjectSources
from fairlead.flow.turns.turn import TurnSettings
from fairlead.flow.work_trees.turn_snapshots import TreeSettings
from fairlead.git.command import Git
from fairlead.git.late_worktrees import LateWorktrees
from fairlead.git.tree_status import FileLimits
from fairlead.git.work_trees import GitWorkTrees
from fairlead.kit.addresses import find_openable_url, leaves_loopback
from fairlead.kit.confinement import confine_children
from fairlead.kit.durations import DurationMeter
from fairlead.kit.files import Disk, make_private_directory, replace_durably
from fairlead.kit.local_zone import find_local_zone
from fairlead.kit.other_user import AnotherUser
from fairlead.kit.process_sweep import SweptProcess, sweep
from fairlead.kit.tasks import TaskOwner, run_to_end
from fairlead.machine_ports import NO_MACHINES
from fairlead.observe import JobLogDirectory, Redactor, log
from fairlead.ports import Journal, Runtime, Worktrees
from fairlead.runtimes.acp.available_agents import default_acp_name
from fairlead.runtimes.catalogue import Catalogue
from fairlead.runtimes.codex.sandbox import describe_exposed_state
from fairlead.runtimes.environment import child_environment
from fairlead.runtimes.separation import check_giving, make_confinements
from fairlead.runtimes.tool_policy import WorkspaceTiers
from fairlead.runtimes.tool_server import ToolServer
from fairlead.settings import OPEN_HTTP_ADVICE, Settings, load_settings
from fairlead.state_directory import ADDRESS_NAME, AGENTS_NAME, explain_unusable_state
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
from fairlead.store.writer import JournalWriter
from fairlead.tree_ports import NO_TREES, WorkTrees

if TYPE_CHECKING:
    from fairlead.channels.discord.gateway.first_connection import FirstConnection
    from fairlead.channels.http.listener import HttpListener, LoadedServer
    from fairlead.flow.agent_runtimes import RuntimeCatalogue
    from fairlead.real_machines import RealMachines

PASSABLE_DIRECTORY: Final = 0o711
STOP_SECONDS: Final = 8.0
"""How long a stop may take to end agents and write the snapshot, after running jobs had their time."""


class SystemClock:
    def now(self) -> str:
        return timestamps.moment(datetime.now(UTC))


class RealMachine:
    """`Machine` of flow.startup: this computer, as the settings describe it. Its methods stand in the order in which a
    start calls them."""

    def __init__(
        self,
        settings: Settings,
        disk: Disk,
        commands: Commands | None,
        redactor: Redactor,
        discord: "FirstConnection | None" = None,
    ) -> None:
        self._settings = settings
        self._commands = commands or BUILT_IN
        self._state_dir = settings.state_dir
        self._disk = disk
        self._redactor = redactor
        self._first_connection = discord
        self._opened: Opened | None = None
        self._http: HttpListener | None = None
        self._meters = HealthMeters(DurationMeter(), DurationMeter())
        self._samples: HealthSamples | None = None
        self.config = ConfigFile(settings.state_dir, disk=disk, offload=asyncio.to_thread)
        self.broken: asyncio.Future[FairleadError] = asyncio.get_running_loop().create_future()
        self.runtimes: dict[str, Runtime] = {}
        self.token = ""
        self.http_url = ""
        self._first_state_id = secrets.token_hex(2)

    async def open(self, stack: AsyncExitStack) -> Adapters:
        settings = self._settings
        # The address is that of the last daemon, which listens no more.
        (self._state_dir / ADDRESS_NAME).unlink(missing_ok=True)
        self.token = _read_or_make_token(settings)
        self._redactor.learn(self.token)
        with explain_unusable_state(self._state_dir):
            self._opened = opened = await self._read_state()
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
        self._trees = self._make_trees(stack)
        self._machines = self._make_machines(opened.state, stack)
        return self._make_adapters(opened.state)

    def _make_machines(self, state: State, stack: AsyncExitStack) -> "RealMachines | None":
        """None with one machine: nothing of NATS is imported then."""
        if not self._settings.machines:
            return None
        from fairlead.real_machines import RealMachines

        # The state gets its id at the very first start, and no machine can have been added before.
        machines = RealMachines(
            self._settings, self._disk, lambda: state.machines, state_id=state.state_id or self._first_state_id
        )
        stack.push_async_callback(machines.aclose)
        return machines

    async def _read_state(self) -> Opened:
        """In a thread, so that the channels go on connecting. It may cut off an unfinished end of the journal, so a
        start that is cancelled still waits for it, with the lock."""
        return await run_to_end(asyncio.to_thread(open_state, self._state_dir, self._disk))

    def _make_trees(self, stack: AsyncExitStack) -> WorkTrees:
        settings = self._settings
        if not settings.tree_snapshots:
            return NO_TREES
        git = self._git_for(stack)
        if not git.program:
            log.warning(
                "no snapshots of files", message="git was not found on PATH, so there is no /changes and no /undo."
            )
            return NO_TREES
        limits = FileLimits(largest=settings.tree_file_max_bytes, most_new=settings.tree_new_max_bytes)
        return GitWorkTrees(git, self._state_dir, limits=limits, home=Path.home())

    def _git_for(self, stack: AsyncExitStack) -> Git:
        git = Git(os.environ)
        stack.callback(git.close)
        return git

    def _separate_agents(self, stack: AsyncExitStack) -> Callable[[Path | int], None] | None:
        """From here on every agent is started as the settings ask for. Returns what gives a file to their user."""
        confinements = make_confinements(self._settings, self._find_shown)
        stack.enter_context(confine_children(confinements))
        user = next((c for c in confinements if isinstance(c, AnotherUser)), None)
        git = self._git_for(stack)
        self._worktrees = LateWorktrees(lambda: self._make_worktrees(git, user, are_separated=bool(confinements)))
        if user is None:
            return None
        # The agents' user passes through to its inboxes, and can list nothing on the way.
        for directory in (self._state_dir, self._state_dir / INBOX_NAME):
            make_private_directory(directory, disk=self._disk)
            directory.chmod(PASSABLE_DIRECTORY)
        check_giving(user, self._state_dir / INBOX_NAME)
        self._tools.give = user.give
        return user.give

    def _make_worktrees(self, git: Git, user: AnotherUser | None, *, are_separated: bool) -> Worktrees:
        from fairlead.git.worktree_files import WorktreeFiles
        from fairlead.git.worktrees import RealWorktrees

        files = (
            WorktreeFiles()
            if user is None
            else WorktreeFiles(prepare=user.share_directory, give=user.share_tree, remove_theirs=user.remove_tree)
        )
        return RealWorktrees(
            git,
            os.environ,
            state_id=lambda: "" if self._opened is None else self._opened.state.state_id,
            files=files,
            are_separated=are_separated,
        )

    def _find_shown(self, mark: str) -> list[Path]:
        """What an agent's own session has in the state directory, and the repository of its worktree."""
        assert self._opened is not None
        state = self._opened.state
        job = state.jobs.get(JobId(mark.rpartition(":")[2]))
        inbox = [] if job is None else [self._inboxes.path_of(job.session_key)]
        worktree = None if job is None else state.worktree_of(job.session_key, job.project)
        tree = [] if worktree is None else [Path(worktree.path), Path(worktree.common_dir)]
        return [*inbox, *tree, *self._tools.paths_for(mark)]

    def _open_journal(self, opened: Opened) -> Journal:
        broken = self.broken
        return FileJournal(
            self._state_dir,
            opened,
            disk=self._disk,
            writer=JournalWriter(times=self._meters.syncs),
            offload=asyncio.to_thread,
            on_broken=lambda fault: None if broken.done() else broken.set_result(fault),
        )

    def _make_adapters(self, state: State) -> Adapters:
        """With other machines, files and directories are looked at where they are."""
        adapters = self._make_local_adapters(state)
        if self._machines is None:
            return adapters
        from fairlead.machines.directories import DirectoriesAcross
        from fairlead.machines.remote_trees import FilesAcross, TreesAcross
        from fairlead.machines.remote_worktrees import WorktreesAcross

        hub = self._machines.hub
        return msgspec.structs.replace(
            adapters,
            directories=DirectoriesAcross(adapters.directories, hub),
            project_files=FilesAcross(adapters.project_files, hub),
            worktrees=WorktreesAcross(adapters.worktrees, hub),
            trees=TreesAcross(adapters.trees, hub) if self._settings.tree_snapshots else adapters.trees,
        )

    def _make_local_adapters(self, state: State) -> Adapters:
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
            catalogue=self._catalogue_with(state),
            machines=NO_MACHINES if self._machines is None else self._machines,
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
            worktrees=self._worktrees,
            default_agent=DefaultAgent(name=default_acp_name(settings), goes_first=bool(settings.agent_command)),
            trees=self._trees,
            tree_settings=TreeSettings(start_sec=settings.tree_snapshot_sec),
        )

    def _catalogue_with(self, state: State) -> "RuntimeCatalogue":
        if self._machines is None:
            return self._catalogue
        from fairlead.machines.catalogue import CatalogueWithMachines

        catalogue = CatalogueWithMachines(
            self._catalogue,
            self.runtimes,
            self._machines.hub,
            lambda: state.machines,
            limit_sec=self._settings.cli_timeout_sec,
        )
        catalogue.follow(state.agents)
        return catalogue

    def reports(self) -> tuple[str, ...]:
        exposed = describe_exposed_state(self._state_dir, self.runtimes)
        if exposed:
            log.warning("state", message=exposed)
        return (*(self._opened.reports if self._opened is not None else ()), *([exposed] if exposed else ()))

    def start_facts(self) -> StartFacts:
        settings = self._settings
        return StartFacts(
            new_state_id=self._first_state_id,
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
        if not (self._state_dir / AGENTS_NAME).is_dir():
            return
        from fairlead.runtimes.install.agent_files import AgentFiles

        try:
            AgentFiles(self._state_dir).forget_unnamed(state.agents.values())
        except OSError as fault:  # files that nobody uses are no reason not to start
            log.warning("files of old agents stay", message=str(fault))

    def make_channels(self, flow: Flow, adapters: Adapters) -> list[ChannelStart]:
        if self._settings.http:
            self._samples = HealthSamples(flow.view, adapters.clock, self._meters)
            self._http = self._make_http(flow, adapters)
        return [self._make_discord(flow, adapters)] if self._settings.discord_token is not None else []

    def _make_discord(self, flow: Flow, adapters: Adapters) -> ChannelStart:
        from fairlead.channels.discord.channel import DiscordChannel

        settings, redactor = self._settings, self._redactor
        channel = DiscordChannel(
            flow.gate,
            flow.view,
            settings=settings,
            identities=settings.people(),
            blobs=adapters.blobs,
            token=lambda: current_token(settings, redactor),
            commands=adapters.commands.catalogue,
            first=self._first_connection,
            waits=self._meters.rate_limit,
        )
        adapters.channels[channel.name] = channel
        adapters.fetchers[channel.name] = channel
        adapters.recheckers[channel.name] = channel
        return channel

    def _make_http(self, flow: Flow, adapters: Adapters) -> "HttpListener":
        from fairlead.channels.http.listener import HttpListener
        from fairlead.channels.http.pull_channels import PULL_CHANNELS, PullChannel

        adapters.channels.update({name: PullChannel(name) for name in PULL_CHANNELS})
        return HttpListener(partial(self._load_http_server, flow, adapters))

    async def _load_http_server(self, flow: Flow, adapters: Adapters) -> "LoadedServer":
        code = await asyncio.to_thread(import_module, "fairlead.channels.http.server")
        settings = self._settings
        server: LoadedServer = code.HttpServer(
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
            state_directory=self._state_dir,
            proxies=settings.http_proxies,
            samples=self._samples,
        )
        return server

    def background_work(self, flow: Flow, adapters: Adapters) -> dict[str, Coroutine[Any, Any, None]]:
        pace = SnapshotPace(self._settings.snapshot_every_events, self._settings.snapshot_every_seconds)
        if self._machines is not None:
            self._machines.check_ports()
        return {
            "snapshots": keep_snapshots(adapters.journal, adapters.state, pace),
            "index": adapters.journal.keep_index(),
            "check": adapters.journal.keep_checking(),
            "tidying": self._tidying.keep_tidy(adapters.state, self._journal, self._blobs, self._inboxes),
            "config": keep_config(flow.ledger, self.config),
            "agent tools": self._tools.run(flow.agent_calls),
            **({} if self._samples is None else {"samples": self._samples.keep_sampling()}),
            **({} if self._machines is None else self._machines.work()),
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


def _read_or_make_token(settings: Settings) -> str:
    """The bearer token of HTTP clients; empty where HTTP is off."""
    if not settings.http:
        return ""
    from fairlead.channels.http.token import read_or_make_token

    return read_or_make_token(settings.state_dir)


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
