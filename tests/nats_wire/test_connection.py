"""A cable between a runner and the server that is cut, in one direction or in both, and is whole again."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from fairlead.machine_ports import Arrived, Disconnected
from fairlead.nats_wire.runner_wire import RunnerWire
from tests.nats_wire.cable import BOTH, Direction, cable_to
from tests.nats_wire.harness import HASTY_PING_SEC, nats_stage, run


@pytest.mark.req("H6")
@pytest.mark.parametrize("cut", [BOTH, ("to server",), ("to client",)])
def test_a_runner_behind_a_cut_cable_says_so_and_gets_what_was_sent_meanwhile(
    tmp_path: Path, cut: tuple[Direction, ...]
):
    async def story() -> None:
        async with nats_stage(tmp_path, "gpu") as stage, cable_to(stage.port) as cable:
            daemon, heard = await stage.daemon()
            await heard.connected()
            gpu, at_gpu = await stage.runner("gpu", port=cable.port, ping_sec=HASTY_PING_SEC)
            await at_gpu.connected()
            cable.cut(*cut)
            daemon.send("gpu", "orders", b"sent while the cable was cut")
            gone = await at_gpu.wait_for(lambda event: isinstance(event, Disconnected))
            assert gone.reason
            gpu.send("gpu", "facts", b"dropped")
            cable.mend()
            await at_gpu.connected()
            assert await at_gpu.frame() == b"sent while the cable was cut"
            gpu.send("gpu", "facts", b"carried")
            assert await heard.wait_for(lambda e: isinstance(e, Arrived)) == Arrived("gpu", "facts", b"carried")

    run(story())


@pytest.mark.req("H6")
def test_a_runner_that_starts_before_its_server_and_its_streams_are_there_waits_for_both(tmp_path: Path):
    async def story() -> None:
        async with nats_stage(tmp_path, "gpu") as stage:
            gpu, at_gpu = await stage.runner("gpu")
            first = await at_gpu.wait_for(lambda event: isinstance(event, Disconnected))
            assert first == Disconnected("the server has no streams for this machine")
            _, heard = await stage.daemon()
            await at_gpu.connected()
            gpu.send("gpu", "facts", b"here I am")
            assert await heard.frame() == b"here I am"

    run(story())


@pytest.mark.req("H6")
def test_streams_that_somebody_removed_are_made_again(tmp_path: Path):
    from fairlead.nats_wire.connection import connect
    from fairlead.nats_wire.subjects import MachineSubjects

    async def story() -> None:
        async with nats_stage(tmp_path, "gpu") as stage:
            daemon, heard = await stage.daemon()
            await heard.connected()
            _gpu, at_gpu = await stage.runner("gpu")
            await at_gpu.connected()
            gpu_subjects = MachineSubjects("id-gpu")
            async with connect(stage.server.address(), name="operator") as client:
                for lane in ("facts", "orders"):
                    await client.request(f"$JS.API.STREAM.DELETE.{gpu_subjects.stream(lane)}", b"")
            await heard.wait_for(lambda event: isinstance(event, Disconnected))
            await heard.connected()
            await at_gpu.wait_for(lambda event: isinstance(event, Disconnected))
            await at_gpu.connected()
            daemon.send("gpu", "orders", b"again")
            assert await at_gpu.frame() == b"again"

    run(story())


@pytest.mark.req("H6")
def test_a_wire_closes_while_what_it_sends_goes_nowhere(tmp_path: Path):
    """nats-py swallows the cancellation of a task that waits until its buffer has room."""

    async def story() -> None:
        async with nats_stage(tmp_path, "gpu") as stage:
            _, heard = await stage.daemon()
            await heard.connected()
            gpu, at_gpu = await stage.runner("gpu")
            await at_gpu.connected()
            assert stage.server.process is not None
            os.kill(stage.server.process.pid, signal.SIGSTOP)
            try:
                for number in range(200):
                    gpu.send("gpu", "facts", b"%d" % number + b"x" * 400_000)
                while not is_waiting_for_room(gpu):
                    await asyncio.sleep(0.01)
                closing = asyncio.ensure_future(gpu.aclose())
                done, _ = await asyncio.wait({closing}, timeout=15)
                assert done == {closing}
            finally:
                os.kill(stage.server.process.pid, signal.SIGCONT)

    run(story())


def is_waiting_for_room(wire: RunnerWire) -> bool:
    """More is on its way to the socket than nats-py keeps, and it takes no more."""
    client = wire._connection.client
    assert client is not None
    transport = client._transport._io_writer.transport
    return transport.get_write_buffer_size() > client._max_pending_size
