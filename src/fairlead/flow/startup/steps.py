"""The steps of a start that need the state, each of them once. `sequence` has their order."""

from collections.abc import Generator, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import Literal

from fairlead.core.decide.agents import RemoveAgent
from fairlead.errors import FairleadError
from fairlead.flow.assembly import Adapters, Flow
from fairlead.flow.ledger import Ledger
from fairlead.flow.startup import recovery
from fairlead.flow.startup.config_copy import update_config
from fairlead.flow.startup.machine import ChannelStart, ConfigCopy, HandEdits, HostMachine
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log


async def open_state(machine: HostMachine, stack: AsyncExitStack) -> Adapters:
    """Under the lock: an unfinished end of the journal is cut off here, which would damage a journal in use."""
    return await machine.open(stack)


async def found_alone(machine: HostMachine, flow: Flow, stack: AsyncExitStack) -> None:
    """For `open_alone`: the state has its id, and the readable copy is up to date when `stack` is left."""
    facts = machine.start_facts()
    await recovery.found_state(flow.ledger, flow.ledger.state.state_id or facts.new_state_id, facts.version)
    stack.push_async_callback(update_config, flow.ledger, machine.config)


async def begin_service(machine: HostMachine, ledger: Ledger, edits: HandEdits) -> None:
    """The first line that this process writes. The hand edits were read before it, so that a mistake in them stops a
    start that has left no trace; their owner is needed here, because everything later is decided for an owner."""
    facts = machine.start_facts()
    await recovery.found_state_and_begin(
        ledger,
        state_id=ledger.state.state_id or facts.new_state_id,
        version=facts.version,
        pid=facts.pid,
        owner_id=facts.owner_id or edits.owner_id,
    )


def end_left_over_agents(machine: HostMachine, ledger: Ledger) -> list[str]:
    """Agents that outlived the last daemon are ended before a new one may touch the same sessions. They are known by
    the state's id, so this comes after the state has one."""
    ended = machine.end_left_over_agents(ledger.state.state_id)
    for process in ended:
        log.warning("left over process ended", pid=process.pid, command=process.command[:200])
    return [f"{len(ended)} agent process(es) of the last run were still running and have been ended."] if ended else []


async def take_over_hand_edits(config: ConfigCopy, flow: Flow, edits: HandEdits) -> None:
    """Before the settings' projects: a project that a person renamed or moved by hand is then known to them. Agents
    come before projects: a project may allow an agent that the same edit adds."""
    for change in edits.agents:
        name = change.name if isinstance(change, RemoveAgent) else change.agent.name
        with _explain_refusal(config, "agents", name):
            await flow.ledger.record_durably(change)
        await flow.agent_runtimes.follow()
    for command in edits.projects:
        with _explain_refusal(config, "projects", command.name):
            await flow.ledger.record_durably(command)


@contextmanager
def _explain_refusal(config: ConfigCopy, section: Literal["projects", "agents"], name: str) -> Generator[None]:
    try:
        yield
    except FairleadError as problem:
        raise config.explain_refusal(section, name, problem) from None


async def register_projects(machine: HostMachine, ledger: Ledger, adapters: Adapters) -> list[str]:
    """Before any job starts, because a job's project must be there, or be known to be gone."""
    return await recovery.register_projects(ledger, machine.start_facts().projects, adapters.directories)


def note_begun_undos(ledger: Ledger) -> list[str]:
    """Undos that a crash cut off: people hear of them at the start, and the workers finish them."""
    return recovery.note_begun_undos(ledger)


async def mark_interrupted_jobs(ledger: Ledger) -> list[str]:
    """Every job that the state calls running is the last process's, and only until the scheduler runs: after that, some
    are ours. So this comes before the workers, and before the channels look at the state."""
    interrupted = await recovery.mark_interrupted(ledger)
    if not interrupted:
        return []
    return [f"Interrupted by the last shutdown or crash: {', '.join(interrupted)}. `/retry JOB` runs one again."]


async def tidy_files(machine: HostMachine, ledger: Ledger) -> None:
    """Files that no live fact names go before anything can write new ones; the readable copy says what is so now."""
    machine.forget_unnamed_files(ledger.state)
    await machine.config.write(machine.config.encode(ledger.state))


def note_left_over_statuses(channels: Sequence[ChannelStart]) -> None:
    """After interrupted jobs have their end and before a job of ours starts: what a channel notes now is the last
    process's alone."""
    for channel in channels:
        channel.prepare()


def hold_queues(flow: Flow) -> None:
    """After every channel is made, because a channel says whether it looks at messages once more, and before the
    scheduler runs, because a job that is not held starts in its first step."""
    flow.queued_recheck.hold()


async def own_workers(machine: HostMachine, flow: Flow, stack: AsyncExitStack) -> TaskOwner:
    """The stop is registered before the first worker runs, so that nothing runs that no stop would end."""
    owner = await stack.enter_async_context(TaskOwner("daemon"))
    stack.push_async_callback(machine.stop, flow, owner)
    return owner


def start_workers(machine: HostMachine, flow: Flow, adapters: Adapters, owner: TaskOwner) -> None:
    """From here on jobs run and answers are delivered. Every channel is registered by now, those whose clients fetch
    included, so that no worker meets an outbox entry whose channel is missing."""
    owner.start(flow.run(), name="flow")
    for name, work in machine.background_work(flow, adapters).items():
        owner.start(work, name=name)


def run_channels(channels: Sequence[ChannelStart], owner: TaskOwner) -> None:
    """After the workers: what a channel catches up on is taken by a flow that runs."""
    for channel in channels:
        owner.start(channel.run(), name=channel.name)
