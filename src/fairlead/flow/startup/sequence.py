"""A start, step by step: the one order that the daemon and the simulator both run.

 1. take the lock              2. open the state              3. begin the service
 4. end left-over agents       5. take over hand edits        6. register projects
 7. mark interrupted jobs      8. tidy the files              9. make the channels
10. note left-over statuses   11. hold the queues            12. start the workers
13. run the channels, which catch up                         14. serve

Until step 12 nobody but these steps changes the state: no worker runs, no channel listens and nobody is served. So
the steps before it may wait for the disk as often as they like, and what they find stays as they found it.
"""

from collections.abc import Generator, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import Literal

import msgspec

from fairlead.core.decide.agents import RemoveAgent
from fairlead.errors import FairleadError
from fairlead.flow.assembly import Adapters, Flow
from fairlead.flow.ledger import Ledger
from fairlead.flow.startup import recovery
from fairlead.flow.startup.config_copy import update_config
from fairlead.flow.startup.machine import ChannelStart, ConfigCopy, HandEdits, Machine
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """A flow that runs. `notes` is what a person should be told about this start."""

    flow: Flow
    adapters: Adapters
    notes: tuple[str, ...]


async def start(machine: Machine, stack: AsyncExitStack) -> Started:
    """Leaving `stack` stops in reverse: nobody comes in, what runs may finish, the journal closes, the lock is free."""
    take_lock(machine, stack)
    adapters = open_state(machine, stack)
    flow = Flow(adapters)
    edits = machine.config.read_edits(adapters.state, adapters.directories)
    await begin_service(machine, flow.ledger, edits)
    notes = [*machine.reports(), *end_left_over_agents(machine, flow.ledger)]
    await take_over_hand_edits(machine.config, flow, edits)
    notes += await register_projects(machine, flow.ledger, adapters)
    notes += await mark_interrupted_jobs(flow.ledger)
    await tidy_files(machine, flow.ledger)
    channels = machine.make_channels(flow, adapters)
    note_left_over_statuses(channels)
    hold_queues(flow)
    owner = await own_workers(machine, flow, stack)
    start_workers(machine, flow, adapters, owner)
    run_channels(channels, owner)
    await machine.serve(stack)
    return Started(flow=flow, adapters=adapters, notes=tuple(notes))


async def open_alone(machine: Machine, stack: AsyncExitStack) -> Flow:
    """Steps 1 and 2: for a command line that records a fact while no daemon runs. Nothing runs here: the next start
    takes over hand edits and marks interrupted jobs. The readable copy is up to date when `stack` is left."""
    take_lock(machine, stack)
    flow = Flow(open_state(machine, stack))
    facts = machine.start_facts()
    await recovery.found_state(flow.ledger, flow.ledger.state.state_id or facts.new_state_id, facts.version)
    stack.push_async_callback(update_config, flow.ledger, machine.config)
    return flow


def take_lock(machine: Machine, stack: AsyncExitStack) -> None:
    """First, because every later step reads or writes what another daemon might be writing."""
    stack.enter_context(machine.lock())


def open_state(machine: Machine, stack: AsyncExitStack) -> Adapters:
    """Under the lock: an unfinished end of the journal is cut off here, which would damage a journal in use."""
    return machine.open(stack)


async def begin_service(machine: Machine, ledger: Ledger, edits: HandEdits) -> None:
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


def end_left_over_agents(machine: Machine, ledger: Ledger) -> list[str]:
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


async def register_projects(machine: Machine, ledger: Ledger, adapters: Adapters) -> list[str]:
    """Before any job starts, because a job's project must be there, or be known to be gone."""
    return await recovery.register_projects(ledger, machine.start_facts().projects, adapters.directories)


async def mark_interrupted_jobs(ledger: Ledger) -> list[str]:
    """Every job that the state calls running is the last process's, and only until the scheduler runs: after that, some
    are ours. So this comes before the workers, and before the channels look at the state."""
    interrupted = await recovery.mark_interrupted(ledger)
    if not interrupted:
        return []
    return [f"Interrupted by the last shutdown or crash: {', '.join(interrupted)}. `/retry JOB` runs one again."]


async def tidy_files(machine: Machine, ledger: Ledger) -> None:
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


async def own_workers(machine: Machine, flow: Flow, stack: AsyncExitStack) -> TaskOwner:
    """The stop is registered before the first worker runs, so that nothing runs that no stop would end."""
    owner = await stack.enter_async_context(TaskOwner("daemon"))
    stack.push_async_callback(machine.stop, flow, owner)
    return owner


def start_workers(machine: Machine, flow: Flow, adapters: Adapters, owner: TaskOwner) -> None:
    """From here on jobs run and answers are delivered. Every channel is registered by now, those whose clients fetch
    included, so that no worker meets an outbox entry whose channel is missing."""
    owner.start(flow.run(), name="flow")
    for name, work in machine.background_work(flow, adapters).items():
        owner.start(work, name=name)


def run_channels(channels: Sequence[ChannelStart], owner: TaskOwner) -> None:
    """After the workers: what a channel catches up on is taken by a flow that runs."""
    for channel in channels:
        owner.start(channel.run(), name=channel.name)
