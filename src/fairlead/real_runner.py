"""Puts a runner on this computer together, from its lock to its end: `open_runner`. A runner serves no channel and
listens nowhere; it dials the server of the daemon that it has joined."""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Final

import msgspec

from fairlead import __version__
from fairlead.core import timestamps
from fairlead.core.agents import ConfiguredAgent
from fairlead.core.machines.runner_state import RUNNER_FACTS, RunnerState, named_files
from fairlead.errors import Code, FairleadError, error
from fairlead.git.command import Git
from fairlead.git.tree_status import FileLimits
from fairlead.git.work_trees import GitWorkTrees
from fairlead.git.worktrees import RealWorktrees
from fairlead.kit.files import REAL_DISK, Disk, make_private_directory, read_if_there, replace_durably
from fairlead.kit.process_sweep import sweep
from fairlead.nats_wire.join_line import Joining
from fairlead.nats_wire.runner_wire import RunnerWire
from fairlead.observe import JobLogDirectory, Redactor, log, start_logging
from fairlead.runner.added_agents import AddedAgents
from fairlead.runner.call_handler import RealCallHandler
from fairlead.runner.file_call_handler import FileCallHandler
from fairlead.runner.remote_tools import RemoteTools
from fairlead.runner.runner import Runner, RunnerBook, RunnerParts
from fairlead.runner.runtimes import RunnerRuntimes
from fairlead.runner.separated_agents import SeparatedAgents
from fairlead.runner.turn_inputs import WORKTREES_NAME, RealInputs
from fairlead.runtimes.catalogue import Catalogue
from fairlead.runtimes.environment import secret_values
from fairlead.runtimes.install.agent_files import AgentFiles
from fairlead.runtimes.tool_server import ToolServer
from fairlead.settings import Settings
from fairlead.state_directory import JOINED_NAME, take_lock
from fairlead.store.agents_file import AgentsFile
from fairlead.store.blobs import FileBlobs
from fairlead.store.directories import RealDirectories
from fairlead.store.project_files import RealProjectFiles
from fairlead.store.small_journal import SmallJournal
from fairlead.store.writer import JournalWriter
from fairlead.tree_ports import NO_TREES, WorkTrees

JOURNAL_NAME: Final = "runner.ndjson"


class RunnerClock:
    def now(self) -> str:
        return timestamps.moment(datetime.now(UTC))


def keep_joining(directory: Path, joining: Joining, disk: Disk = REAL_DISK) -> None:
    """What was typed, for this user alone."""
    make_private_directory(directory, disk=disk)
    replace_durably(directory / JOINED_NAME, msgspec.json.encode(joining), disk=disk)


def keep_name(directory: Path, name: str, disk: Disk = REAL_DISK) -> None:
    """What people call this machine now: its own doctor and its next start say it. Its key is the same."""
    joining = read_joined(directory)
    if joining.name != name:
        keep_joining(directory, msgspec.structs.replace(joining, name=name), disk)
        log.info("this machine was renamed", message=f"{joining.name} is now called {name}")


def read_joined(directory: Path) -> Joining:
    found = read_if_there(directory / JOINED_NAME)
    if found is None:
        raise error(
            Code.E_CONFIG,
            f"This machine has not joined a Fairlead: {directory / JOINED_NAME} does not exist.",
            next_step="Run `fairlead machine add NAME` where the daemon runs, and the command that it prints here.",
        )
    return msgspec.json.decode(found, type=Joining)


@asynccontextmanager
async def open_runner(settings: Settings, *, disk: Disk = REAL_DISK) -> AsyncGenerator[Runner]:
    """Everything that a runner needs, in the order of a start; leaving the block ends its agents."""
    directory = settings.runner_dir
    make_private_directory(directory, disk=disk)
    joining = read_joined(directory)
    with take_lock(directory, "a runner"):
        async with AsyncExitStack() as stack:
            redactor = Redactor([*settings.secrets(), *secret_values(os.environ), joining.seed])
            stack.callback(start_logging(directory / "logs", redactor, echo_warnings=True).close)
            mark = f"runner-{joining.machine_id}"
            for ended in sweep(f"{mark}:"):
                log.warning("an agent of the last runner was ended", message=str(ended))
            yield await _make_runner(settings, joining, disk, stack, redactor)


async def _make_runner(
    settings: Settings, joining: Joining, disk: Disk, stack: AsyncExitStack, redactor: Redactor
) -> Runner:
    directory = settings.runner_dir
    mark = f"runner-{joining.machine_id}"

    def end_runner(fault: FairleadError) -> None:
        runner.fail(fault)

    journal = SmallJournal(
        directory / JOURNAL_NAME,
        RUNNER_FACTS,
        disk=disk,
        make_writer=JournalWriter,
        on_broken=end_runner,
    )
    stack.push_async_callback(journal.aclose)
    book = RunnerBook(journal, RunnerClock())
    tools = ToolServer(directory, hide=redactor.learn, forget=redactor.forget, is_on=bool(settings.agent_tools))
    agents = SeparatedAgents(settings, book.state, tools, disk)
    agents.separate(stack)
    tools.prepare()
    catalogue = Catalogue(settings, JobLogDirectory(directory / "logs", redactor), tools)
    added = AddedAgents(AgentsFile(directory, disk), catalogue)
    added.begin()
    stack.push_async_callback(catalogue.aclose)
    blobs = FileBlobs(directory, disk=disk, offload=asyncio.to_thread)
    _remove_old_files(directory, added.agents.values(), blobs, book.state)
    runtimes = RunnerRuntimes(catalogue.runtimes, added)
    wire = RunnerWire(joining.address, name=joining.name, machine_id=joining.machine_id)
    stack.push_async_callback(wire.aclose)
    inputs = RealInputs(directory, machine=joining.name, wire=wire, blobs=blobs, disk=disk, mark=mark, give=agents.give)
    calls = RemoteTools(settings.agent_tools)
    git = Git(os.environ)
    stack.callback(git.close)
    trees = _make_trees(settings, git)
    handler = RealCallHandler(runtimes, RealDirectories(directory), inputs)
    runner = Runner(
        RunnerParts(
            machine=joining.name,
            wire=wire,
            book=book,
            runtimes=runtimes,
            inputs=inputs,
            images=blobs,
            calls=_make_call_handler(settings, handler, agents, git, trees),
            trees=trees,
            make_token=lambda: token_hex(8),
            version=__version__,
            slots=settings.limits(tuple(catalogue.runtimes)).global_max_running,
            on_renamed=lambda name: keep_name(directory, name, disk),
            tools=calls,
            serve_tools=lambda: tools.run(calls),
        )
    )
    inputs.daemon = calls.daemon = runner
    wire.start()
    return runner


def _remove_old_files(directory: Path, agents: Iterable[ConfiguredAgent], blobs: FileBlobs, state: RunnerState) -> None:
    """At a start, when no agent runs: versions that were replaced or removed while the last runner used them, and the
    pictures and sent files of turns that are settled."""
    try:
        AgentFiles(directory).forget_unnamed(agents)
        blobs.forget_unnamed(named_files(state))
    except OSError as fault:  # files that nobody uses are no reason not to start
        log.warning("files of old agents and turns stay", message=str(fault))


def _make_trees(settings: Settings, git: Git) -> WorkTrees:
    if not settings.tree_snapshots or not git.program:
        return NO_TREES
    limits = FileLimits(largest=settings.tree_file_max_bytes, most_new=settings.tree_new_max_bytes)
    return GitWorkTrees(git, settings.runner_dir, limits=limits, home=Path.home())


def _make_call_handler(
    settings: Settings, others: RealCallHandler, agents: SeparatedAgents, git: Git, trees: WorkTrees
) -> FileCallHandler:
    return FileCallHandler(
        others,
        trees=trees,
        worktrees=RealWorktrees(
            git,
            os.environ,
            state_id=lambda: settings.runner_dir.name,
            files=agents.worktree_files,
            are_separated=agents.are_separated,
        ),
        files=RealProjectFiles(asyncio.to_thread),
        directory=Path(settings.worktree_dir) if settings.worktree_dir else settings.runner_dir / WORKTREES_NAME,
    )
