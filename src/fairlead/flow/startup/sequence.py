"""A start, step by step: the one order that the daemon and the simulator both run.

 1. take the lock              2. connect the channels         3. load the code
 4. open the state             5. begin the service            6. end left-over agents
 7. take over hand edits       8. register projects            9. mark interrupted jobs
10. tidy the files            11. make the channels           12. note left-over statuses
13. hold the queues           14. start the workers           15. run the channels, which catch up
16. serve

Until step 14 nobody but these steps changes the state: no worker runs, no channel reads what it is sent and nobody is
served. So the steps before it may wait for the disk as often as they like, and what they find stays as they found it.

Connecting takes as long as the steps 3 to 14 together, and needs none of them: so it begins before them. What a
channel is sent meanwhile waits, unread, until step 15.
"""

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import msgspec

from fairlead.flow.startup.boot import Boot

if TYPE_CHECKING:
    from fairlead.flow.assembly import Adapters, Flow


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """A flow that runs. `notes` is what a person should be told about this start."""

    flow: "Flow"
    adapters: "Adapters"
    notes: tuple[str, ...]


async def start(boot: Boot, stack: AsyncExitStack) -> Started:
    """Leaving `stack` stops in reverse: nobody comes in, what runs may finish, the journal closes, the channels
    disconnect, the lock is free."""
    take_lock(boot, stack)
    connect_channels(boot, stack)
    machine = await boot.load()
    from fairlead.flow.startup import steps  # noqa: PLC0415 - it imports most of Fairlead, which is loaded only now

    adapters = await steps.open_state(machine, stack)
    flow = steps.Flow(adapters)
    edits = machine.config.read_edits(adapters.state, adapters.directories)
    await steps.begin_service(machine, flow.ledger, edits)
    notes = [*machine.reports(), *steps.end_left_over_agents(machine, flow.ledger)]
    await steps.take_over_hand_edits(machine.config, flow, edits)
    notes += await steps.register_projects(machine, flow.ledger, adapters)
    notes += await steps.mark_interrupted_jobs(flow.ledger)
    notes += steps.note_begun_undos(flow.ledger)
    await steps.tidy_files(machine, flow.ledger)
    channels = machine.make_channels(flow, adapters)
    steps.note_left_over_statuses(channels)
    steps.hold_queues(flow)
    owner = await steps.own_workers(machine, flow, stack)
    steps.start_workers(machine, flow, adapters, owner)
    steps.run_channels(channels, owner)
    await machine.serve(stack)
    return Started(flow=flow, adapters=adapters, notes=tuple(notes))


async def open_alone(boot: Boot, stack: AsyncExitStack) -> "Flow":
    """Steps 1, 3 and 4: for a command line that records a fact while no daemon runs. Nothing connects or runs here: the
    next start takes over hand edits and marks interrupted jobs."""
    take_lock(boot, stack)
    machine = await boot.load()
    from fairlead.flow.startup import steps  # noqa: PLC0415 - as in `start`

    flow = steps.Flow(await steps.open_state(machine, stack))
    await steps.found_alone(machine, flow, stack)
    return flow


def take_lock(boot: Boot, stack: AsyncExitStack) -> None:
    """First, because every later step reads or writes what another daemon might be writing, or connects where it is
    connected."""
    stack.enter_context(boot.lock())


def connect_channels(boot: Boot, stack: AsyncExitStack) -> None:
    """Under the lock: a second daemon on this state never shows itself to a channel."""
    boot.connect(stack)
