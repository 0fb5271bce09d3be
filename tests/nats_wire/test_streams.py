"""The streams of an earlier version on a real server: what its daemon made becomes what this one needs."""

import asyncio
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from fairlead.machine_ports import DAEMON, Claim, Lane
from fairlead.nats_wire.connection import connect
from fairlead.nats_wire.subjects import CLAIMS_STREAM, RUNNER, MachineSubjects, claim
from tests.nats_wire.harness import nats_stage, run

GPU = MachineSubjects("id-gpu")
IN_FILES = {"storage": "file", "num_replicas": 1, "max_msgs_per_subject": 1}
PICTURE = b"a picture"
DIGEST = sha256(PICTURE).hexdigest()
MEBIBYTE = 1024 * 1024
LIMITS = {
    "bytes": ({"max_bytes": 64 * MEBIBYTE}, {"max_bytes": 1024 * MEBIBYTE}),
    "messages": ({"max_msgs": 50_000}, {"max_msgs": 4096}),
}
"""Of frames and of blobs, in the two earlier versions. Both kept frames in files."""


async def ask(client: Client, what: str, config: dict[str, Any]) -> dict[str, Any]:
    answer = json.loads((await client.request(f"$JS.API.{what}", json.dumps(config).encode())).data)
    assert "error" not in answer, answer
    return answer


async def make_old_streams(client: Client, limits: str) -> None:
    """As the daemon of that version did."""
    frames, blobs = LIMITS[limits]
    claims = {"name": CLAIMS_STREAM, "subjects": [claim("*")], "allow_direct": True, "discard": "new"}
    few = {"max_msgs": 10_000} if limits == "messages" else frames
    await ask(client, f"STREAM.CREATE.{CLAIMS_STREAM}", IN_FILES | claims | few)
    await make_frame_streams(client, GPU, frames)
    kept = {"name": GPU.blobs_stream, "subjects": [GPU.every_blob], "allow_direct": True, "discard": "old"}
    await ask(client, f"STREAM.CREATE.{GPU.blobs_stream}", IN_FILES | kept | blobs | {"max_age": 30 * 86400 * 10**9})


async def make_frame_streams(client: Client, machine: MachineSubjects, limits: dict[str, int]) -> None:
    lanes: tuple[tuple[Lane, str], ...] = (("orders", RUNNER), ("facts", DAEMON))
    for lane, consumer in lanes:
        name = machine.stream(lane)
        stream = {"name": name, "subjects": [f"{machine.lane(lane)}.*"], "retention": "workqueue", "discard": "old"}
        await ask(client, f"STREAM.CREATE.{name}", IN_FILES | stream | limits)
        durable = {"durable_name": consumer, "ack_policy": "explicit", "ack_wait": 5 * 10**9, "max_ack_pending": 1024}
        await ask(client, f"CONSUMER.DURABLE.CREATE.{name}.{consumer}", {"stream_name": name, "config": durable})


@pytest.mark.req("H1", "H6")
@pytest.mark.parametrize("limits", LIMITS)
def test_streams_in_files_of_an_earlier_version_become_streams_in_memory_and_claims_and_blobs_stay(
    tmp_path: Path, limits: str
):
    async def story() -> None:
        async with nats_stage(tmp_path, "gpu") as stage:
            async with connect(stage.server.address(), name="an earlier version") as client:
                await make_old_streams(client, limits)
                await ask_to_keep(client, claim(GPU.machine_id), b'{"epoch":7,"token":"one"}')
                await ask_to_keep(client, GPU.frame("orders", b"not fetched"), b"not fetched")
                await ask_to_keep(client, f"{GPU.blob(DIGEST)}.0", PICTURE)
                await ask_to_keep(client, f"{GPU.blob(DIGEST)}.parts", b'{"parts":1}')
            gpu, at_gpu = await stage.runner("gpu")
            await at_gpu.connected()
            daemon, heard = await stage.daemon()
            await heard.connected()
            async with connect(stage.server.address(), name="operator") as client:
                storage = [await storage_of(client, GPU.stream(lane)) for lane in ("orders", "facts")]
                assert storage == ["memory", "memory"]
                assert await storage_of(client, CLAIMS_STREAM) == await storage_of(client, GPU.blobs_stream) == "file"
            assert await gpu.get_blob("gpu", DIGEST) == PICTURE
            found = await daemon.read_claim("gpu")
            assert found == await gpu.read_claim("gpu")
            assert found is not None
            assert (found.epoch, found.token) == (7, "one")
            assert await gpu.write_claim("gpu", Claim(8, "two"), after=found.revision)
            daemon.send("gpu", "orders", b"after")
            while await at_gpu.frame() != b"after":
                pass
            answer = asyncio.ensure_future(heard.frame())
            while not answer.done():  # a runner that has not seen its new streams yet sends nothing
                gpu.send("gpu", "facts", b"too")
                await asyncio.wait({answer}, timeout=0.1)
            assert answer.result() == b"too"

    run(story())


async def ask_to_keep(client: Client, subject: str, data: bytes) -> None:
    answer = json.loads((await client.request(subject, data)).data)
    assert answer.get("seq"), answer


async def storage_of(client: Client, stream: str) -> str:
    return (await ask(client, f"STREAM.INFO.{stream}", {}))["config"]["storage"]
