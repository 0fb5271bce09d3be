"""The daemon put together: started in order, stopped in reverse, and in time whatever happens to the disk."""

import asyncio
import errno
import json
import os
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from fairlead.app import Daemon, record_alone, run_daemon
from fairlead.core import requests as ask
from fairlead.core.conversation import ConversationRef
from fairlead.core.inbound import Inbound
from fairlead.core.keys import user_key
from fairlead.core.replies import AgentAdded
from fairlead.errors import Code, FairleadError
from fairlead.flow.startup import steps
from fairlead.kit.files import Handle, RealDisk
from fairlead.kit.process_table import MARK_VARIABLE
from fairlead.ports import Receipt
from tests.support.settings import make_settings

pytestmark = [pytest.mark.anyio, pytest.mark.req("A7")]

PATIENCE_SEC = 120.0
"""Only bounds a hang: a machine that is busy with other things may take long."""


class FailingDisk(RealDisk):
    """Full, or no longer able to sync, from the moment it is told so."""

    full = False
    broken = False

    def write(self, handle: Handle, data: bytes | memoryview) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(handle, data)

    def sync(self, handle: Handle) -> None:
        if self.broken:
            raise OSError(errno.EIO, "Input/output error")
        super().sync(handle)


class NearlyFullDisk(RealDisk):
    """Takes so many more writes."""

    def __init__(self, writes: int) -> None:
        self._left = writes

    def write(self, handle: Handle, data: bytes | memoryview) -> int:
        self._left -= 1
        if self._left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(handle, data)


@asynccontextmanager
async def run_daemon_in(directory: Path, disk: RealDisk | None = None, **more):
    (directory / "api").mkdir(exist_ok=True)
    settings = make_settings(
        STATE_DIR=directory / "state",
        LOG_DIR=directory / "logs",
        PROJECTS=(str(directory / "api"),),
        **{"FAIRLEAD_HTTP": False, "FAIRLEAD_HTTP_PORT": 0, **more},
    )
    async with run_daemon(settings, disk=disk or RealDisk()) as daemon:
        yield daemon


async def say(daemon: Daemon, text: str, message_id: str) -> Receipt:
    here = ConversationRef("http", "local", "me")
    key = user_key(agent_id="fairlead", user_id="me")
    return await daemon.flow.gate.submit(
        Inbound(conversation=here, session_key=key, message_id=message_id, person="me", text=text, pre_authorised=True)
    )


async def until(daemon: Daemon, condition) -> None:
    async with asyncio.timeout(PATIENCE_SEC):
        while not condition():
            await daemon.flow.ledger.until_changed(daemon.flow.ledger.state.seq)


@pytest.mark.req("A8")
async def test_what_was_accepted_is_there_after_the_next_start(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        receipt = await say(daemon, "hello", "1")
        await until(daemon, lambda: not daemon.flow.ledger.state.jobs[receipt.job_id].is_live)
    async with run_daemon_in(tmp_path) as daemon:
        again = await say(daemon, "hello", "1")
        assert (again.job_id, again.duplicate) == (receipt.job_id, True)
        assert "echo agent:fairlead:user:me: hello" in (await daemon.flow.view.job(receipt.job_id)).answer


@pytest.mark.req("B10")
async def test_a_stop_on_a_full_disk_comes_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fairlead.real_machine.STOP_SECONDS", 0.5)
    disk = FailingDisk()
    async with asyncio.timeout(PATIENCE_SEC), run_daemon_in(tmp_path, disk, FAIRLEAD_DRAIN_SEC=0.2) as daemon:
        receipt = await say(daemon, "/hang", "1")
        await until(daemon, lambda: daemon.flow.ledger.state.jobs[receipt.job_id].state == "running")
        await daemon.flow.ledger.until_all_durable()  # a start that is not written would leave the job queued
        disk.full = True
        pending = asyncio.ensure_future(say(daemon, "never written", "2"))
        await asyncio.wait({pending}, timeout=0.05)
    pending.cancel()
    disk.full = False
    async with run_daemon_in(tmp_path) as daemon:
        state = daemon.flow.ledger.state
        assert state.jobs[receipt.job_id].state == "unknown_after_crash"
        assert len(state.jobs) == 1, "what was never acknowledged never happened"


@pytest.mark.req("A18")
async def test_a_disk_that_no_longer_syncs_ends_the_daemon_at_once_and_says_so(tmp_path: Path):
    disk = FailingDisk()

    async def live() -> None:
        """Nothing is drained into a journal that cannot be trusted: a drain would outlast this test's patience."""
        drain_sec = 100 * PATIENCE_SEC
        async with asyncio.timeout(PATIENCE_SEC), run_daemon_in(tmp_path, disk, FAIRLEAD_DRAIN_SEC=drain_sec) as daemon:
            receipt = await say(daemon, "/hang deaf", "1")
            await until(daemon, lambda: daemon.flow.ledger.state.jobs[receipt.job_id].state == "running")
            disk.broken = True
            with pytest.raises(FairleadError):
                await say(daemon, "hello", "2")
            raise await daemon.broken

    with pytest.raises(FairleadError) as caught:
        await live()
    assert caught.value.code is Code.E_JOURNAL_BROKEN
    assert str(tmp_path / "state" / "events.ndjson") in caught.value.message


async def test_two_daemons_cannot_run_on_one_state_directory(tmp_path: Path):
    async with run_daemon_in(tmp_path):
        with pytest.raises(FairleadError) as caught:
            async with run_daemon_in(tmp_path):
                pass
        assert caught.value.code is Code.E_STATE_LOCKED
    async with run_daemon_in(tmp_path):
        pass


async def test_every_channel_is_registered_before_a_worker_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    registered: list[list[str]] = []
    start_workers = steps.start_workers

    def look_first(machine, flow, adapters, owner):
        registered.append(sorted(adapters.channels))
        start_workers(machine, flow, adapters, owner)

    monkeypatch.setattr(steps, "start_workers", look_first)
    settings = make_settings(STATE_DIR=tmp_path / "state", LOG_DIR=tmp_path / "logs", FAIRLEAD_HTTP_PORT=0)
    async with run_daemon(settings) as daemon:
        assert registered == [["console", "http", "terminal"]]
        assert daemon.http_url


async def test_a_start_that_fails_half_way_lets_go_of_everything(tmp_path: Path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "config.json").write_text("{")
    with pytest.raises(FairleadError):
        async with run_daemon_in(tmp_path):
            pass
    (tmp_path / "state" / "config.json").unlink()
    async with run_daemon_in(tmp_path) as daemon:
        assert daemon.flow.ledger.state.state_id


@pytest.mark.req("B11", "A17")
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757])
async def test_a_state_directory_that_others_may_write_is_refused(tmp_path: Path, mode: int):
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(mode)
    with pytest.raises(FairleadError, match="others may write") as caught:
        async with run_daemon_in(tmp_path):
            pass
    assert caught.value.code == Code.E_CONFIG
    assert caught.value.next_step == f"Run: chmod 700 {tmp_path / 'state'}"
    assert list((tmp_path / "state").iterdir()) == []


@pytest.mark.req("B11")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")
async def test_a_state_directory_of_another_user_is_refused(tmp_path: Path):
    (tmp_path / "state").mkdir()
    os.chown(tmp_path / "state", 12345, -1)
    with pytest.raises(FairleadError, match="belongs to another user"):
        async with run_daemon_in(tmp_path):
            pass


@pytest.mark.req("B11")
@pytest.mark.parametrize("name", ["config.json", "http-token", "events.ndjson", "snapshot.json"])
async def test_a_named_pipe_in_the_place_of_a_file_of_the_state_stops_no_start_for_ever(tmp_path: Path, name: str):
    (tmp_path / "state").mkdir()
    os.mkfifo(tmp_path / "state" / name)
    with pytest.raises(FairleadError, match="not an ordinary file") as caught:
        async with asyncio.timeout(30), run_daemon_in(tmp_path, FAIRLEAD_HTTP=name == "http-token"):
            pass
    assert caught.value.code == Code.E_CONFIG


# --- without a daemon


GOOSE = ask.AgentAdd(name="goose", command=("goose", "acp"), env=("GOOSE_PROVIDER",))


@pytest.mark.req("B4")
async def test_the_owner_records_an_agent_while_no_daemon_runs_and_the_next_one_offers_it(tmp_path: Path):
    """Also in a state directory that is new, and beside edits of config.json."""
    settings = make_settings(STATE_DIR=tmp_path / "state", LOG_DIR=tmp_path / "logs", FAIRLEAD_HTTP=False)
    assert await record_alone(settings, GOOSE) == AgentAdded("goose", ())
    config = tmp_path / "state" / "config.json"
    assert json.loads(config.read_text())["agents"]["goose"]["command"] == ["goose", "acp"]
    config.write_text(config.read_text().replace('"GOOSE_PROVIDER"', '"GOOSE_PROVIDER", "GOOSE_MODEL"'))
    await record_alone(settings, ask.AgentAdd(name="mine", command=("mine",)))
    async with run_daemon_in(tmp_path) as daemon:
        agents = daemon.flow.ledger.state.agents
        assert {name: agent.env for name, agent in agents.items()} == {
            "goose": ("GOOSE_PROVIDER", "GOOSE_MODEL"),
            "mine": (),
        }
        assert {"goose", "mine"} < set(daemon.runtimes)


@pytest.mark.req("B4")
async def test_nothing_is_recorded_beside_a_daemon_that_runs(tmp_path: Path):
    settings = make_settings(STATE_DIR=tmp_path / "state", LOG_DIR=tmp_path / "logs", FAIRLEAD_HTTP=False)
    async with run_daemon_in(tmp_path):
        with pytest.raises(FairleadError) as refused:
            await record_alone(settings, GOOSE)
    assert refused.value.code is Code.E_STATE_LOCKED


async def test_a_start_ends_the_agents_that_the_last_daemon_left_over(tmp_path: Path):
    """Known by the mark in their environment, which begins with the id of the state."""
    async with run_daemon_in(tmp_path) as daemon:
        state_id = daemon.flow.ledger.state.state_id
    agent = await asyncio.create_subprocess_exec(
        "sleep", "600", env={MARK_VARIABLE: f"{state_id}:somebody", "PATH": os.defpath}
    )
    other = await asyncio.create_subprocess_exec(
        "sleep", "600", env={MARK_VARIABLE: "othr:somebody", "PATH": os.defpath}
    )
    try:
        async with run_daemon_in(tmp_path) as daemon:
            assert await asyncio.wait_for(agent.wait(), 30) != 0
            assert any("have been ended" in note for note in daemon.notes)
            assert other.returncode is None, "an agent of another state is left alone"
    finally:
        for process in (agent, other):
            if process.returncode is None:
                process.kill()
                await process.wait()


@pytest.mark.req("A7")
async def test_a_daemon_that_stays_up_removes_old_logs_and_what_killed_ones_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("fairlead.store.tidying.TIDY_SECONDS", 0.01)
    async with run_daemon_in(tmp_path):
        left = [tmp_path / "logs" / "job" / "job_old.log", tmp_path / "state" / ".snapshot.json.999999999-1.tmp"]
        for file in left:
            file.write_text("left over")
        os.utime(left[0], (0, 0))
        async with asyncio.timeout(60):
            while any(file.exists() for file in left):
                await asyncio.sleep(0.01)


class NoRoom(Exception):  # noqa: N818 - what the start says
    pass


async def start_briefly(directory: Path, disk: RealDisk) -> None:
    try:
        async with asyncio.timeout(1), run_daemon_in(directory, disk):
            pass
    except FairleadError as full:
        if full.code is Code.E_DISK_FULL and "no room" in full.message:
            raise NoRoom from None
        raise


@pytest.mark.req("A16")
async def test_a_start_without_room_says_so_and_one_with_room_goes_on(tmp_path: Path):
    """Wherever the room ends: each write of a start in turn is the first that finds none."""
    for room in range(12):
        disk = NearlyFullDisk(room)
        # A journal that finds no room waits for it, and says so; everything else ends the start.
        with suppress(TimeoutError, NoRoom):
            await start_briefly(tmp_path, disk)
    async with run_daemon_in(tmp_path):
        pass
