"""A sweep ends what a dead owner left, and nobody else."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.kit.process_sweep import Family, kill_until_gone
from fairlead.kit.process_table import MARK_VARIABLE, ProcessEntry, system_table
from fairlead.kit.processes import (
    AT_ONCE,
    sweep,
)
from tests.kit.harness import CHILDREN, child, run
from tests.kit.living_processes import living_with


def test_what_forks_and_exits_all_the_time_is_caught(mark: str, tmp_path: Path):
    async def story() -> None:
        async with child(mark, "comet", "5000", str(tmp_path / "last words")) as process:
            await anext(process.lines())
            await process.end(AT_ONCE)

    run(story())
    assert living_with(mark) == []
    assert not list(tmp_path.iterdir())


def test_after_kill_9_of_the_owner_the_next_start_sweeps_what_it_left(mark: str):
    prefix = mark.partition(":")[0]
    argv = [sys.executable, CHILDREN, "daemon", mark]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pids = sorted(int(owner.stdout.readline().split()[1]) for _ in range(2))
        owner.kill()
    assert sorted(living_with(mark)) == pids
    swept = sweep(prefix)
    assert sorted(process.pid for process in swept) == pids
    assert {process.mark for process in swept} == {mark}
    assert living_with(prefix) == []
    assert sweep(prefix) == []


def test_a_sweep_spares_itself_and_other_marks(mark: str):
    async def story() -> None:
        async with child(f"other-{mark}", "deaf") as bystander:
            await anext(bystander.lines())
            async with child(mark, "sweeper", mark.partition(":")[0]) as sweeper:
                assert [line async for line in sweeper.lines()] == [b"[]", b"still here"]
            assert bystander.returncode is None

    run(story())


def test_a_sweep_of_everybody_is_refused():
    with pytest.raises(ValueError, match="not empty"):
        sweep("")


class ChildrenFirst:
    """The process table of a machine whose numbers have begun again: a child's is lower than its parent's. What a
    signal to the child sets off has happened before the parent is met."""

    def __init__(self, agent: int, command: int, next_command: Path) -> None:
        self._agent = agent
        self._command = command
        self._next_command = next_command
        self.start_time = system_table().start_time

    def scan(self) -> Iterator[ProcessEntry]:
        for entry in sorted(system_table().scan(), key=lambda entry: entry.pid, reverse=True):
            yield entry
            if entry.pid == self._command:
                self._give_the_agent_time()

    def _give_the_agent_time(self) -> None:
        deadline = time.monotonic() + 2
        while "T" not in {state_of(self._agent), state_of(self._command)} and time.monotonic() < deadline:
            if self._next_command.exists():
                return


def state_of(pid: int) -> str:
    """One letter, as ps shows it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_agent_whose_command_is_killed_begins_no_other_one(mark: str, tmp_path: Path):
    next_command = tmp_path / "next"
    script = f"sleep 1000 & echo $!; wait; touch {next_command}"
    argv = ["env", f"{MARK_VARIABLE}={mark}", "sh", "-c", script]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        command = int(agent.stdout.readline())
        family = Family(lambda found: found == mark, table=ChildrenFirst(agent.pid, command, next_command))
        assert {process.pid for process in kill_until_gone(family, limit=10)} == {agent.pid, command}
    assert not next_command.exists()
