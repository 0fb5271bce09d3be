"""The house put together: started in order, stopped in reverse, and in time whatever happens to the disk."""

import asyncio
import errno
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fairlead.app import Daemon, run_daemon
from fairlead.core.conversation import ConversationRef
from fairlead.core.inbound import Inbound
from fairlead.core.keys import user_key
from fairlead.errors import Code, FairleadError
from fairlead.flow.startup import sequence
from fairlead.kit.files import Handle, RealDisk
from fairlead.ports import Receipt
from fairlead.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.req("A7")]


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


@asynccontextmanager
async def house_at(place: Path, disk: RealDisk | None = None, **more):
    (place / "api").mkdir(exist_ok=True)
    settings = Settings(
        STATE_DIR=place / "state", LOG_DIR=place / "logs", PROJECTS=(str(place / "api"),), FAIRLEAD_HTTP=False, **more
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
    async with asyncio.timeout(30):
        while not condition():
            await daemon.flow.ledger.until_changed(daemon.flow.ledger.state.seq)


@pytest.mark.req("A8")
async def test_what_was_accepted_is_there_after_the_next_start(tmp_path: Path):
    async with house_at(tmp_path) as daemon:
        receipt = await say(daemon, "hello", "1")
        await until(daemon, lambda: not daemon.flow.ledger.state.jobs[receipt.job_id].is_live)
    async with house_at(tmp_path) as daemon:
        again = await say(daemon, "hello", "1")
        assert (again.job_id, again.duplicate) == (receipt.job_id, True)
        assert "echo agent:fairlead:user:me: hello" in (await daemon.flow.view.job(receipt.job_id)).answer


@pytest.mark.req("B10")
async def test_a_stop_on_a_full_disk_comes_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fairlead.app.STOP_SECONDS", 0.5)
    disk = FailingDisk()
    began = time.monotonic()
    async with house_at(tmp_path, disk, FAIRLEAD_DRAIN_SEC=0.2) as daemon:
        receipt = await say(daemon, "/hang", "1")
        await until(daemon, lambda: daemon.flow.ledger.state.jobs[receipt.job_id].state == "running")
        disk.full = True
        pending = asyncio.ensure_future(say(daemon, "never written", "2"))
        await asyncio.wait({pending}, timeout=0.05)
    assert time.monotonic() - began < 15
    pending.cancel()
    disk.full = False
    async with house_at(tmp_path) as daemon:
        state = daemon.flow.ledger.state
        assert state.jobs[receipt.job_id].state == "unknown_after_crash"
        assert len(state.jobs) == 1, "what was never acknowledged never happened"


@pytest.mark.req("A18")
async def test_a_disk_that_no_longer_syncs_ends_the_house_at_once_and_says_so(tmp_path: Path):
    disk = FailingDisk()
    began = time.monotonic()

    async def live() -> None:
        async with house_at(tmp_path, disk) as daemon:
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
    assert time.monotonic() - began < 20, "nothing is drained into a journal that cannot be trusted"


async def test_two_houses_on_one_state_cannot_be(tmp_path: Path):
    async with house_at(tmp_path):
        with pytest.raises(FairleadError) as caught:
            async with house_at(tmp_path):
                pass
        assert caught.value.code is Code.E_STATE_LOCKED
    async with house_at(tmp_path):
        pass


async def test_every_channel_is_registered_before_a_worker_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    registered: list[list[str]] = []
    start_workers = sequence.start_workers

    def look_first(machine, flow, adapters, owner):
        registered.append(sorted(adapters.channels))
        start_workers(machine, flow, adapters, owner)

    monkeypatch.setattr(sequence, "start_workers", look_first)
    settings = Settings(STATE_DIR=tmp_path / "state", LOG_DIR=tmp_path / "logs", FAIRLEAD_HTTP_PORT=0)
    async with run_daemon(settings) as daemon:
        assert registered == [["http", "terminal"]]
        assert daemon.http_url


async def test_a_start_that_fails_half_way_lets_go_of_everything(tmp_path: Path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "config.json").write_text("{")
    with pytest.raises(FairleadError):
        async with house_at(tmp_path):
            pass
    (tmp_path / "state" / "config.json").unlink()
    async with house_at(tmp_path) as daemon:
        assert daemon.flow.ledger.state.state_id
