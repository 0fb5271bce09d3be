"""Copies of a runner's or a daemon's files, with a real server and real processes: of two, the older one ends or gives
no orders."""

import shutil
import signal
from pathlib import Path

import pytest

from tests.two_machines.harness import Site, run, site


def copy_runner(here: Site, name: str, to: str) -> None:
    """While it runs; the lock of its directory is not copied."""
    shutil.copytree(here.home / name, here.home / to, ignore=shutil.ignore_patterns("lock"))


@pytest.mark.req("H5", "H6")
def test_a_copy_of_a_runner_beside_the_original_is_a_new_runner_and_the_original_ends_with_its_agents(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            await here.start_daemon()
            original = await here.bring_up("gpu")
            copy_runner(here, "gpu", "copy")
            job_id = await here.say("gpu", f"this is one\nuntil {here.gate('one')}")
            await here.until_begun("one")
            known = len(here.runner_facts("copy", "EpochBegun"))
            await here.until(lambda: len(here.runner_facts("gpu", "EpochBegun")) > known)
            await here.start_runner("gpu", directory="copy")
            assert await original.process.wait() == 78
            assert "E_RUNNER_SUPERSEDED" in original.said.read_text()
            # On one computer the copy's start ends the original's agent, and the original may have told of that.
            assert (await here.end_of(job_id)).state in {"unknown_after_crash", "failed"}
            founded = [fact["runner_id"] for fact in here.runner_facts("copy", "RunnerFounded")]
            assert len(set(founded)) == 2
            assert (await here.end_of(await here.say("gpu", "this is two"))).state == "success"
            assert here.prompts() == ["one", "two"]
            assert here.prompts("ended") == ["two"]

    run(story())


@pytest.mark.req("H5")
@pytest.mark.parametrize("server", ["kept", "set back too"])
def test_a_restored_backup_gives_no_orders_until_a_person_says_that_it_goes_on(tmp_path: Path, server: str):
    state, backup = tmp_path / "state", tmp_path / "backup"

    async def story() -> None:
        async with site(tmp_path) as here:
            daemon = await here.start_daemon()
            await here.bring_up("gpu")
            await here.end_of(await here.say("gpu", "this is one"))
            shutil.copytree(state, backup, ignore=shutil.ignore_patterns("lock"))
            told = len(here.runner_facts("gpu", "DaemonMet"))
            await here.end_of(await here.say("gpu", "this is two"))
            await here.until(lambda: len(here.runner_facts("gpu", "DaemonMet")) > told)
            await daemon.end(signal.SIGKILL)
            if server == "kept":
                shutil.rmtree(backup / "machines")
                shutil.copytree(state / "machines", backup / "machines")
            shutil.rmtree(state)
            shutil.copytree(backup, state)
            daemon = await here.start_daemon()
            await here.until(lambda: "no orders are given to other machines" in daemon.said.read_text())
            waiting = await here.say("gpu", "this is three")
            row = await here.machine("gpu")
            assert not row.is_there
            assert here.prompts() == ["one", "two"]
            await daemon.end()
            restored = await here.start("restore", here.daemon_environment(), "restore", "--yes")
            assert await restored.process.wait() == 0, restored.said.read_text()
            await here.start_daemon()
            assert (await here.end_of(waiting)).state == "success"
            assert here.prompts() == ["one", "two", "three"]

    run(story())
