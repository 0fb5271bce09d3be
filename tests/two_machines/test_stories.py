"""Jobs on another machine, and what goes wrong between two: each story with a real server and real processes."""

import shutil
import signal
from pathlib import Path

import pytest

from fairlead.core import requests
from tests.two_machines.harness import run, site


@pytest.mark.req("H1", "H2", "H3")
def test_a_job_runs_on_another_machine(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            await here.start_daemon()
            runner = await here.bring_up("gpu")
            job = await here.end_of(await here.say("gpu", "this is one"))
            assert (job.state, job.answer) == ("success", "this is one")
            assert here.prompts("ended") == ["one"]
            assert await runner.end() == 0
            await here.presence("gpu", is_there=False)
            token = (tmp_path / "state" / "http-token").read_bytes().strip()
            stored = [path for path in (tmp_path / "state" / "machines" / "store").rglob("*") if path.is_file()]
            assert [path for path in stored if token in path.read_bytes()] == []

    run(story())


@pytest.mark.req("H6", "H8")
def test_a_job_for_an_absent_machine_waits_and_can_be_cancelled(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            await here.start_daemon()
            runner = await here.bring_up("gpu")
            await runner.end()
            await here.presence("gpu", is_there=False)
            waiting = await here.say("gpu", "this is one")
            cancelled = await here.say("gpu", "this is two")
            await here.ask(requests.Cancel(job_id=cancelled))
            assert (await here.job(waiting)).state == "queued"
            await here.start_runner("gpu")
            assert (await here.end_of(waiting)).state == "success"
            assert (await here.end_of(cancelled)).state == "cancelled"
            assert here.prompts() == ["one"]

    run(story())


@pytest.mark.req("H6")
def test_a_runner_that_is_killed_leaves_a_job_whose_outcome_nobody_knows(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            await here.start_daemon()
            runner = await here.bring_up("gpu")
            job_id = await here.say("gpu", f"this is one\nuntil {here.gate('one')}")
            await here.until_begun("one")
            await runner.end(signal.SIGKILL)
            await here.start_runner("gpu")
            assert (await here.end_of(job_id)).state == "unknown_after_crash"
            assert (await here.end_of(await here.say("gpu", "this is two"))).state == "success"
            assert here.prompts() == ["one", "two"]

    run(story())


@pytest.mark.req("H6")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_daemon_that_dies_leaves_remote_turns_running_and_delivers_their_answers(tmp_path: Path, how: signal.Signals):
    async def story() -> None:
        async with site(tmp_path) as here:
            daemon = await here.start_daemon()
            await here.bring_up("gpu")
            going_on = await here.say("gpu", f"this is one\nuntil {here.gate('one')}")
            ended = await here.say("gpu", f"this is two\nuntil {here.gate('two')}", user="other")
            await here.until_begun("one")
            await here.until_begun("two")
            await daemon.end(how)
            here.gate("two").touch()
            while "two" not in here.prompts("ended"):
                await _a_moment()
            await here.start_daemon()
            here.gate("one").touch()
            jobs = [await here.end_of(job_id) for job_id in (going_on, ended)]
            assert [(job.state, job.answer) for job in jobs] == [("success", "this is one"), ("success", "this is two")]
            assert sorted(here.prompts()) == ["one", "two"]

    run(story())


@pytest.mark.req("H6")
@pytest.mark.parametrize("wipe", [False, True], ids=["disk kept", "disk wiped"])
def test_a_server_that_is_killed_costs_no_turn_and_no_answer(tmp_path: Path, wipe: bool):
    async def story() -> None:
        async with site(tmp_path) as here:
            await here.start_daemon()
            await here.bring_up("gpu")
            job_id = await here.say("gpu", f"this is one\nuntil {here.gate('one')}")
            await here.until_begun("one")
            here.kill_server(wipe=wipe)
            here.gate("one").touch()
            job = await here.end_of(job_id)
            assert (job.state, job.answer) == ("success", "this is one")
            assert (await here.end_of(await here.say("gpu", "this is two"))).state == "success"
            assert here.prompts() == ["one", "two"]

    run(story())


@pytest.mark.req("H5", "H6")
def test_of_two_runners_with_one_name_the_later_one_counts(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            await here.start_daemon()
            first = await here.bring_up("gpu")
            shutil.copytree(tmp_path / "gpu", tmp_path / "copy")
            (tmp_path / "copy" / "lock").unlink()
            await here.start_runner("gpu", directory="copy")
            assert await first.process.wait() == 78  # a service is not started again, else the two would take turns
            assert "E_RUNNER_SUPERSEDED" in first.said.read_text()
            await here.presence("gpu", is_there=True)
            assert (await here.end_of(await here.say("gpu", "this is one"))).state == "success"

    run(story())


@pytest.mark.req("H6", "H7")
def test_a_machine_that_was_forgotten_is_cut_off_and_its_job_is_given_up(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            await here.start_daemon()
            runner = await here.bring_up("gpu")
            job_id = await here.say("gpu", f"this is one\nuntil {here.gate('one')}")
            await here.until_begun("one")
            await here.ask(requests.MachineForget("gpu"))
            assert (await here.end_of(job_id)).state == "unknown_after_crash"
            assert await runner.process.wait() == 78
            assert "E_MACHINE_REMOVED" in runner.said.read_text()

    run(story())


async def _a_moment() -> None:
    import asyncio

    await asyncio.sleep(0.02)
