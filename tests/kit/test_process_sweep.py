"""A sweep ends what a dead owner left, and nobody else."""

import subprocess
import sys
from pathlib import Path

import pytest

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
