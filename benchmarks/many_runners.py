"""Many runners in one process, each with the echo agent, a wire and a journal of its own: a room of machines on one.
`python -m benchmarks.many_runners DIRECTORY` reads one line of `fairlead machine add` from each file in it."""

import asyncio
import sys
from pathlib import Path
from secrets import token_hex

from fairlead.core.machines.runner_state import RUNNER_FACTS
from fairlead.kit.files import REAL_DISK
from fairlead.nats_wire.join_line import Joining, read_joining
from fairlead.nats_wire.runner_wire import RunnerWire
from fairlead.real_runner import RunnerClock
from fairlead.runner.call_handler import RealCallHandler
from fairlead.runner.runner import Runner, RunnerBook, RunnerParts
from fairlead.runner.runtimes import RunnerRuntimes
from fairlead.runner.turn_inputs import RealInputs
from fairlead.runtimes.echo import EchoRuntime
from fairlead.store.blobs import FileBlobs
from fairlead.store.directories import RealDirectories
from fairlead.store.small_journal import SmallJournal
from fairlead.store.writer import JournalWriter

SLOTS = 20


def make_runner(joining: Joining, directory: Path) -> Runner:
    directory.mkdir(mode=0o700)
    journal = SmallJournal(
        directory / "runner.ndjson",
        RUNNER_FACTS,
        disk=REAL_DISK,
        make_writer=JournalWriter,
        on_broken=print,
    )
    wire = RunnerWire(joining.address, name=joining.name, machine_id=joining.machine_id)
    blobs = FileBlobs(directory, disk=REAL_DISK, offload=asyncio.to_thread)
    mark = f"runner-{joining.machine_id}"
    echo = RunnerRuntimes({"echo": EchoRuntime()})
    runner = Runner(
        RunnerParts(
            machine=joining.name,
            wire=wire,
            book=RunnerBook(journal, RunnerClock()),
            runtimes=echo,
            inputs=RealInputs(directory, machine=joining.name, wire=wire, blobs=blobs, disk=REAL_DISK, mark=mark),
            images=blobs,
            calls=RealCallHandler(echo, RealDirectories(directory)),
            make_token=lambda: token_hex(8),
            version="bench",
            slots=SLOTS,
        )
    )
    wire.start()
    return runner


def read_lines(directory: Path) -> list[str]:
    return [path.read_text() for path in sorted(directory.glob("*.line"))]


async def main(directory: Path) -> None:
    lines = await asyncio.to_thread(read_lines, directory)
    joinings = [read_joining(line) for line in lines]
    runners = [make_runner(joining, directory / f"{joining.name}.runner") for joining in joinings]
    await asyncio.gather(*(runner.run() for runner in runners))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
