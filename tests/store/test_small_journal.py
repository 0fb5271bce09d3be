"""A journal of a runner: what it called durable survives every crash, and what was settled does not stay for ever."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from fairlead.core.machines.runner_state import RUNNER_FACTS, DaemonMet, RunnerFounded
from fairlead.errors import FairleadError
from fairlead.kit.files import REAL_DISK, make_private_directory
from fairlead.store.small_journal import SmallJournal
from fairlead.store.writer import JournalWriter
from fairlead.testing.clock import VirtualLoop
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.stepped_writer import SteppedWriter

pytestmark = [pytest.mark.req("H3")]
TS = "2026-01-05T08:00:00.000Z"
HERE = Path("/runner")


def no_fault(fault: FairleadError) -> None:
    raise AssertionError(fault)


def open_simulated(disk: SimulatedDisk) -> SmallJournal:
    return SmallJournal(
        HERE / "runner.ndjson",
        RUNNER_FACTS,
        disk=disk,
        make_writer=lambda: SteppedWriter(lambda: 0.01),
        on_broken=no_fault,
    )


@pytest.mark.anyio
async def test_facts_are_read_back_and_a_rewrite_keeps_only_what_is_needed(tmp_path: Path):
    path = tmp_path / "runner.ndjson"

    def open_it() -> SmallJournal:
        return SmallJournal(path, RUNNER_FACTS, disk=REAL_DISK, make_writer=JournalWriter, on_broken=no_fault)

    journal = open_it()
    for epoch in range(50):
        await journal.until_durable(journal.append(TS, [DaemonMet(epoch=epoch)]))
    await journal.rewrite(TS, lambda: [RunnerFounded(runner_id="r", machine="gpu"), DaemonMet(epoch=49)])
    await journal.until_durable(journal.append(TS, [DaemonMet(epoch=50)]))
    await journal.aclose()
    again = open_it()
    assert again.facts == [RunnerFounded(runner_id="r", machine="gpu"), DaemonMet(epoch=49), DaemonMet(epoch=50)]
    await again.aclose()


@pytest.mark.anyio
async def test_who_waits_for_a_fact_hears_of_it_in_order_and_once_it_is_durable(tmp_path: Path):
    path = tmp_path / "runner.ndjson"
    journal = SmallJournal(path, RUNNER_FACTS, disk=REAL_DISK, make_writer=JournalWriter, on_broken=no_fault)
    heard: list[str] = []
    journal.after_sync = lambda: heard.append("synced")
    first = journal.append(TS, [DaemonMet(epoch=1)])
    journal.when_durable(first, lambda: heard.append("first"))
    journal.when_durable(0, lambda: heard.append("behind it"))  # durable already, and not told before the one before it
    second = journal.append(TS, [DaemonMet(epoch=2)])
    journal.when_durable(second, lambda: heard.append("second"))
    assert heard == []
    await journal.until_durable(second)
    journal.when_durable(first, lambda: heard.append("at once"))
    assert heard == ["first", "behind it", "second", "synced", "at once"]
    await journal.aclose()


@pytest.mark.parametrize("seed", range(60))
def test_a_crash_at_any_step_loses_nothing_that_was_durable(seed: int):
    rng = Random(seed)
    disk = SimulatedDisk()
    make_private_directory(HERE, disk=disk)
    durable = -1
    for _ in range(4):
        loop = VirtualLoop()
        loop.crash_at = rng.randint(1, 60)
        said = [durable]

        async def live(said: list[int] = said, disk: SimulatedDisk = disk) -> None:
            journal = open_simulated(disk)
            facts = journal.facts
            assert [f.epoch for f in facts] == list(range(facts[0].epoch, facts[-1].epoch + 1)) if facts else True
            said.append(facts[-1].epoch if facts else -1)
            assert said[-1] >= said[0], "a durable fact is gone"
            epoch = said[-1]
            while True:
                epoch += 1
                await journal.until_durable(journal.append(TS, [DaemonMet(epoch=epoch)]))
                said.append(epoch)
                if epoch % 7 == 0:
                    await journal.rewrite(TS, lambda last=epoch: [DaemonMet(epoch=last)])
                await asyncio.sleep(0)

        with pytest.raises(BaseException, match="step") as ended:
            loop.run(live())
        assert type(ended.value).__name__ == "PowerLost"
        durable = max(said)
        disk = disk.crash(rng)
        loop.close_abruptly()
    assert durable >= 0
