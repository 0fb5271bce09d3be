"""Frames, claims and blobs between a daemon and its runners, over a real nats-server."""

import os
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from fairlead.machine_ports import DAEMON, Arrived, Claim, Disconnected
from tests.nats_wire.harness import nats_stage, run


@pytest.mark.req("H1")
def test_orders_go_out_and_facts_and_live_text_come_back(tmp_path: Path):
    async def story() -> None:
        async with nats_stage(tmp_path, "gpu", "laptop") as stage:
            daemon, heard = await stage.daemon()
            await heard.connected()
            gpu, at_gpu = await stage.runner("gpu")
            laptop, at_laptop = await stage.runner("laptop")
            await at_gpu.connected()
            await at_laptop.connected()
            daemon.send("gpu", "orders", b"run this")
            daemon.send("laptop", "orders", b"run that")
            assert (await at_gpu.frame(), await at_laptop.frame()) == (b"run this", b"run that")
            gpu.send("gpu", "facts", b"done")
            assert await heard.wait_for(lambda e: isinstance(e, Arrived)) == Arrived("gpu", "facts", b"done")
            laptop.send("laptop", "live", b"typing")
            assert await heard.wait_for(lambda e: isinstance(e, Arrived)) == Arrived("laptop", "live", b"typing")
            daemon.send("nobody", "orders", b"to a machine that was never there")

    run(story())


@pytest.mark.req("H1")
@pytest.mark.filterwarnings("ignore:.*ws_connect.*:DeprecationWarning", "ignore:.*ClientWSTimeout.*:DeprecationWarning")
@pytest.mark.parametrize("scheme", ["tls", "wss"])
def test_many_frames_arrive_in_order(tmp_path: Path, scheme: str):
    frames = [b"%d" % number for number in range(2000)]

    async def story() -> None:
        async with nats_stage(tmp_path, "gpu", websocket=True) as stage:
            _, heard = await stage.daemon()
            await heard.connected()
            port = stage.port if scheme == "tls" else stage.websocket_port
            gpu, at_gpu = await stage.runner("gpu", port=port, scheme=scheme)
            await at_gpu.connected()
            for frame in frames:
                gpu.send("gpu", "facts", frame)
            await heard.wait_for(lambda e: e == Arrived("gpu", "facts", frames[-1]))
            assert heard.frames == frames

    run(story())


def test_a_runner_that_is_away_gets_each_order_once_however_often_it_was_sent(tmp_path: Path):
    async def story() -> None:
        async with nats_stage(tmp_path, "gpu") as stage:
            daemon, heard = await stage.daemon()
            await heard.connected()
            for _ in range(5):
                daemon.send("gpu", "orders", b"first")
                daemon.send("gpu", "orders", b"second")
            _, at_gpu = await stage.runner("gpu")
            await at_gpu.frame()
            await at_gpu.frame()
            daemon.send("gpu", "orders", b"first")
            await at_gpu.frame()
            assert at_gpu.frames == [b"first", b"second", b"first"]

    run(story())


def test_claims_are_written_by_compare_and_set(tmp_path: Path):
    async def story() -> None:
        async with nats_stage(tmp_path, "gpu") as stage:
            daemon, heard = await stage.daemon()
            await heard.connected()
            gpu, at_gpu = await stage.runner("gpu")
            await at_gpu.connected()
            assert await gpu.read_claim("gpu") is None
            assert await gpu.write_claim("gpu", Claim(1, "one"), after=0)
            assert not await gpu.write_claim("gpu", Claim(1, "two"), after=0)
            first = await gpu.read_claim("gpu")
            assert first is not None
            assert (first.epoch, first.token) == (1, "one")
            assert await gpu.write_claim("gpu", Claim(2, "two"), after=first.revision)
            seen = await daemon.read_claim("gpu")
            assert seen is not None
            assert (seen.epoch, seen.token) == (2, "two")
            assert await daemon.read_claim(DAEMON) is None
            assert await daemon.write_claim(DAEMON, Claim(7, "me"), after=0)

    run(story())


@pytest.mark.parametrize("size", [0, 1, 3_000_000])
def test_a_blob_of_any_size_arrives_whole_or_not_at_all(tmp_path: Path, size: int):
    data = os.urandom(size)
    digest = sha256(data).hexdigest()

    async def story() -> None:
        async with nats_stage(tmp_path, "gpu", "laptop") as stage:
            daemon, heard = await stage.daemon()
            await heard.connected()
            gpu, at_gpu = await stage.runner("gpu")
            await at_gpu.connected()
            assert await gpu.get_blob("gpu", digest) is None
            await daemon.put_blob("gpu", digest, data)
            await daemon.put_blob("gpu", digest, data)
            assert await gpu.get_blob("gpu", digest) == data
            assert await daemon.get_blob("laptop", digest) is None
            await gpu.drop_blob("gpu", digest)
            assert await daemon.get_blob("gpu", digest) is None
            await gpu.put_blob("gpu", "0" * 64, data)
            assert await daemon.get_blob("gpu", "0" * 64) is None

    run(story())


@pytest.mark.req("H6")
@pytest.mark.parametrize("disk", ["kept", "wiped"])
def test_a_server_that_was_killed_comes_back_and_carries_again(tmp_path: Path, disk: str):
    async def story() -> None:
        async with nats_stage(tmp_path, "gpu") as stage:
            daemon, heard = await stage.daemon()
            await heard.connected()
            gpu, at_gpu = await stage.runner("gpu")
            await at_gpu.connected()
            if disk == "wiped":
                shutil.rmtree(tmp_path / "store" / "jetstream")
            await stage.kill_server()
            for ear in (heard, at_gpu):
                await ear.wait_for(lambda e: isinstance(e, Disconnected))
                await ear.connected()
            daemon.send("gpu", "orders", b"after")
            assert await at_gpu.frame() == b"after"
            gpu.send("gpu", "facts", b"too")
            assert await heard.frame() == b"too"

    run(story())
