"""What goes wrong at one of two machines, or on the way: each with a real server and real processes."""

import asyncio
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import fairlead
from fairlead.api.wire import NewFile
from fairlead.core import requests
from fairlead.errors import Code, FairleadError
from fairlead.nats_wire.access import ServerAddress
from fairlead.nats_wire.connection import connect
from fairlead.render.errors import error_sentence
from tests.nats_wire.cable import BOTH, Direction, cable_to
from tests.two_machines.harness import Site, run, site

SHIFTED_CLOCK = Path(__file__).parent.parent / "support" / "shifted_clock.py"


@pytest.mark.req("H6")
def test_a_runner_that_is_killed_before_its_agent_had_the_prompt_runs_the_turn_again(tmp_path: Path):
    """The order reaches the runner; the file that goes with it does not, because nothing leaves the runner."""

    async def story() -> None:
        async with site(tmp_path) as here, cable_to(here.nats_port) as cable:
            here.address = f"127.0.0.1:{cable.port}"
            await here.start_daemon()
            runner = await here.bring_up("gpu")
            cable.cut("to server")
            job_id = await here.say("gpu", "this is one", files=[NewFile("notes.txt", b"with a file")])
            await here.until(lambda: here.runner_facts("gpu", "TurnTaken"))
            await runner.end(signal.SIGKILL)
            assert here.prompts() == []
            cable.mend()
            await here.start_runner("gpu")
            assert (await here.end_of(job_id)).state == "success"
            assert here.prompts() == ["one"]

    run(story())


@pytest.mark.req("H6")
@pytest.mark.parametrize("cut", [BOTH, ("to server",), ("to client",)], ids=["both", "to the server", "to the runner"])
def test_a_turn_that_ends_behind_a_cut_cable_is_delivered_once_when_the_cable_is_whole(
    tmp_path: Path, cut: tuple[Direction, ...]
):
    async def story() -> None:
        async with site(tmp_path) as here, cable_to(here.nats_port) as cable:
            here.address = f"127.0.0.1:{cable.port}"
            await here.start_daemon()
            await here.bring_up("gpu")
            job_id = await here.say("gpu", f"this is one\nuntil {here.gate('one')}")
            await here.until_begun("one")
            cable.cut(*cut)
            here.gate("one").touch()
            if "to server" in cut:
                away = await here.presence("gpu", is_there=False)
                assert away.since
                assert (await here.job(job_id)).state == "running"
            else:
                await here.until(lambda: "one" in here.prompts("ended"))
            cable.mend()
            job = await here.end_of(job_id)
            assert (job.state, job.answer) == ("success", "this is one")
            assert (await here.end_of(await here.say("gpu", "this is two"))).state == "success"
            assert here.prompts() == ["one", "two"]
            assert len(here.journal("JobCompleted")) == 2

    run(story())


@pytest.mark.req("H4", "H6", "H7")
def test_an_order_that_is_delivered_again_runs_once_and_no_order_has_a_secret(tmp_path: Path):
    """As the server may do, and as somebody with its disk could: while the turn runs, and after its end."""

    async def story() -> None:
        async with site(tmp_path) as here:
            here.more = {"ANTHROPIC_API_KEY": "sk-of-the-daemon", "FAIRLEAD_EXAMPLE_TOKEN": "another-secret"}
            await here.start_daemon()
            runner = await here.bring_up("gpu")
            async with connect(daemon_address(here), name="an operator") as client:
                heard = await client.subscribe("fairlead.orders.*.*")
                await client.flush()
                job_id = await here.say("gpu", f"this is one\nuntil {here.gate('one')}")
                await here.until_begun("one")
                orders = [message async for message in pending(heard)]
                assert any(b"RunTurn" in order.data for order in orders)
                kept = [tmp_path / "state" / name for name in ("http-token", "machines/daemon.nk")]
                secrets = [*here.more.values(), *(path.read_text().strip() for path in kept)]
                assert [s for s in secrets if any(s.encode() in order.data for order in orders)] == []

                async def again() -> None:
                    for order in orders:
                        await client.publish(order.subject + "again", order.data)
                    await client.flush()

                await again()
                here.gate("one").touch()
                assert (await here.end_of(job_id)).state == "success"
                await again()
                assert (await here.end_of(await here.say("gpu", "this is two"))).state == "success"
                await runner.end(signal.SIGKILL)
                await again()
                await here.start_runner("gpu")
                assert (await here.end_of(await here.say("gpu", "this is three"))).state == "success"
            assert here.prompts() == ["one", "two", "three"]

    run(story())


def daemon_address(here: Site) -> ServerAddress:
    """Of an owned server, with the daemon's own key."""
    directory = here.home / "state" / "machines"
    return ServerAddress(
        urls=(f"tls://127.0.0.1:{here.nats_port}",),
        seed=(directory / "daemon.nk").read_text().strip(),
        certificate=(directory / "server.pem").read_text(),
    )


async def pending(subscription):
    while subscription.pending_msgs:
        yield await subscription.next_msg()


@pytest.mark.req("H6")
@pytest.mark.parametrize("seconds", [86400, -86400], ids=["a day ahead", "a day behind"])
def test_clocks_that_differ_by_a_day_change_nothing(tmp_path: Path, seconds: int):
    async def story() -> None:
        async with site(tmp_path) as here:
            await here.start_daemon()
            await here.add("gpu")
            here.runner_launcher = (sys.executable, str(SHIFTED_CLOCK), str(seconds))
            runner = await here.start_runner("gpu")
            row = await here.presence("gpu", is_there=True)
            await here.ask(requests.ProjectAdd(path=f"gpu:{here.home / 'gpu-project'}"))
            job_id = await here.say("gpu", f"this is one\nuntil {here.gate('one')}")
            await here.until_begun("one")
            (handed_over,) = here.journal("JobHandedOver")
            assert handed_over["machine_time"][:10] != row.since[:10]
            await runner.end(signal.SIGKILL)
            await here.start_runner("gpu")
            assert (await here.end_of(job_id)).state == "unknown_after_crash"
            assert (await here.end_of(await here.say("gpu", "this is two"))).state == "success"
            assert here.prompts() == ["one", "two"]

    run(story())


@contextmanager
def small_disk(path: Path) -> Iterator[None]:
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(path)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.decode().strip()}")
    path.chmod(0o700)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)


@pytest.mark.req("H6")
def test_a_runner_whose_disk_is_full_takes_nothing_and_goes_on_when_there_is_space(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            await here.start_daemon()
            await here.bring_up("gpu")
            filling = tmp_path / "gpu" / "filling"
            fill(filling)
            # The last page of the journal may have room for an order; a long one needs more.
            job_id = await here.say("gpu", "this is one\n" + "x" * 20_000)
            await here.until(lambda: "full" in (tmp_path / "runner-gpu.out").read_text())
            assert here.prompts() == []
            filling.unlink()
            assert (await here.end_of(job_id)).state == "success"
            assert here.prompts() == ["one"]

    with small_disk(tmp_path / "gpu"):
        run(story())


def make_older_version(directory: Path) -> Path:
    """Fairlead as it was before the protocol changed: its own files with another number."""
    shutil.copytree(
        Path(fairlead.__file__).parent, directory / "fairlead", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name, now, then in (
        ("core/machines/messages.py", "\nPROTOCOL: Final = 1\n", "\nPROTOCOL: Final = 0\n"),
        ("__init__.py", f'"{fairlead.__version__}"', '"0.0.1"'),
    ):
        path = directory / "fairlead" / name
        text = path.read_text()
        assert now in text
        path.write_text(text.replace(now, then))
    return directory


@pytest.mark.req("H6", "H8")
def test_a_runner_of_an_older_version_is_given_no_orders_and_the_command_to_type_is_told(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            await here.start_daemon()
            old = await here.bring_up("gpu")
            await old.end()
            await here.presence("gpu", is_there=False)
            here.runner_more = {"PYTHONPATH": str(make_older_version(tmp_path / "old"))}
            old = await here.start_runner("gpu")
            while not (row := await here.machine("gpu")).problem:
                await asyncio.sleep(0.05)
            assert "0.0.1" in row.problem
            job_id = await here.say("gpu", "this is one")
            with pytest.raises(FairleadError) as refused:
                await here.ask(requests.ProjectAdd(path=f"gpu:{here.home / 'gpu'}"))
            assert refused.value.code == Code.E_RUNNER_OLD
            assert "0.0.1" in refused.value.message
            assert "uv tool install" in error_sentence(refused.value)
            assert (await here.job(job_id)).state == "queued"
            await old.end()
            here.runner_more = {}
            await here.start_runner("gpu")
            assert (await here.end_of(job_id)).state == "success"

    run(story())


@pytest.mark.req("H6")
def test_a_machine_that_never_comes_back_is_forgotten_with_what_ran_and_waited_there(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            await here.start_daemon()
            runner = await here.bring_up("gpu")
            running = await here.say("gpu", f"this is one\nuntil {here.gate('one')}")
            waiting = await here.say("gpu", "this is two")
            await here.until_begun("one")
            await runner.end(signal.SIGKILL)
            with pytest.raises(FairleadError) as refused:
                await here.ask(requests.MachineRemove("gpu"))
            assert refused.value.code == Code.E_MACHINE_IN_USE
            await here.ask(requests.MachineForget("gpu"))
            assert (await here.end_of(running)).state == "unknown_after_crash"
            assert (await here.end_of(waiting)).state == "cancelled"
            late = await here.start_runner("gpu")
            assert await late.process.wait() == 78
            assert "E_MACHINE_REMOVED" in late.said.read_text()
            assert here.prompts() == ["one"]

    run(story())
