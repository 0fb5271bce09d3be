"""What a machine's key can do on the server, by trying; what a stranger can, and a key that was removed."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

from fairlead.machine_ports import DAEMON, Arrived, KeyRemoved
from fairlead.nats_wire.access import ServerAddress, make_key
from fairlead.nats_wire.connection import FAULTS, connect
from fairlead.nats_wire.subjects import CLAIMS_STREAM, RUNNER, MachineSubjects, claim, next_message, purge, read_last
from tests.nats_wire.harness import NatsStage, nats_stage, run

GPU, LAPTOP = MachineSubjects("id-gpu"), MachineSubjects("id-laptop")


async def is_refused(client: Client, subject: str, data: bytes = b"{}") -> bool:
    """Nobody is there who would take it, or JetStream says that this account has none of it."""
    try:
        answer = await client.request(subject, data, timeout=2)
    except NoRespondersError:
        return True
    return b"not enabled" in answer.data


async def with_machines(stage: NatsStage) -> None:
    daemon, heard = await stage.daemon()
    await heard.connected()
    await daemon.put_blob("laptop", "abc", b"secret")
    daemon.send("laptop", "orders", b"for the laptop")


@pytest.mark.req("H7")
def test_a_machines_key_uses_its_own_subjects_and_no_other(tmp_path: Path):
    of_the_laptop = [
        LAPTOP.frame("facts", b"forged"),
        LAPTOP.lane("live"),
        next_message(LAPTOP.stream("orders"), RUNNER),
        f"$JS.ACK.{LAPTOP.stream('orders')}.{RUNNER}.1.1.1.1.0",
        claim("id-laptop"),
        read_last(CLAIMS_STREAM, claim("id-laptop")),
        f"{LAPTOP.blob('abc')}.0",
        read_last(LAPTOP.blobs_stream, f"{LAPTOP.blob('abc')}.0"),
        purge(LAPTOP.blobs_stream),
    ]
    of_the_daemon = [
        GPU.frame("orders", b"to itself"),
        LAPTOP.frame("orders", b"to another"),
        next_message(GPU.stream("facts"), DAEMON),
        claim(DAEMON),
        purge(CLAIMS_STREAM),
        purge(GPU.stream("orders")),
        f"$JS.API.STREAM.INFO.{GPU.stream('orders')}",
        f"$JS.API.STREAM.CREATE.{GPU.stream('orders')}",
        f"$JS.API.STREAM.DELETE.{GPU.stream('orders')}",
        f"$JS.API.STREAM.MSG.GET.{LAPTOP.stream('orders')}",
        f"$JS.API.CONSUMER.CREATE.{GPU.stream('orders')}",
        f"$JS.API.CONSUMER.DURABLE.CREATE.{GPU.stream('orders')}.{RUNNER}",
        "$JS.API.STREAM.NAMES",
        "$JS.API.INFO",
        "$SYS.REQ.SERVER.PING",
        "$SYS.REQ.USER.INFO.of.another",
    ]

    async def story() -> None:
        async with nats_stage(tmp_path, "gpu", "laptop") as stage:
            await with_machines(stage)
            async with connect(stage.address_of(stage.keys["gpu"]), name="compromised") as client:
                for subject in of_the_laptop + of_the_daemon:
                    assert await is_refused(client, subject), subject
                for subject in (claim("id-gpu"), GPU.frame("facts", b"own")):
                    assert not await is_refused(client, subject), subject

    run(story())


@pytest.mark.req("H7")
def test_a_machine_hears_nothing_that_is_not_for_it(tmp_path: Path):
    async def story() -> None:
        async with nats_stage(tmp_path, "gpu", "laptop") as stage:
            daemon, heard = await stage.daemon()
            await heard.connected()
            laptop, at_laptop = await stage.runner("laptop")
            await at_laptop.connected()
            async with connect(stage.address_of(stage.keys["gpu"]), name="compromised") as client:
                everything = await client.subscribe(">")
                await client.flush()
                daemon.send("laptop", "orders", b"private")
                await at_laptop.frame()
                laptop.send("laptop", "facts", b"private")
                await heard.frame()
                await client.flush()
                assert everything.pending_msgs == 0

    run(story())


@pytest.mark.req("H7")
def test_a_reply_cannot_be_sent_as_an_order_to_another_machine(tmp_path: Path):
    """The server replies to whatever subject a client names; in one account that would be the laptop's order."""

    async def story() -> None:
        async with nats_stage(tmp_path, "gpu", "laptop") as stage:
            daemon, heard = await stage.daemon()
            await heard.connected()
            gpu, at_gpu = await stage.runner("gpu")
            _, at_laptop = await stage.runner("laptop")
            await at_gpu.connected()
            await at_laptop.connected()
            await gpu.put_blob("gpu", "evil", b"rm -rf /")
            async with connect(stage.address_of(stage.keys["gpu"]), name="compromised") as client:
                stored = read_last(GPU.blobs_stream, f"{GPU.blob('evil')}.0")
                await client.publish(stored, b"", reply=LAPTOP.frame("orders", b"rm -rf /"))
                await client.flush()
            daemon.send("laptop", "orders", b"an honest order")
            assert await at_laptop.frame() == b"an honest order"
            assert at_laptop.frames == [b"an honest order"]

    run(story())


@pytest.mark.req("H7")
def test_a_machine_reads_and_writes_no_inbox_but_its_own(tmp_path: Path):
    async def story() -> None:
        async with nats_stage(tmp_path, "gpu", "laptop") as stage:
            await with_machines(stage)
            async with (
                connect(stage.address_of(stage.keys["gpu"]), name="compromised") as client,
                connect(stage.address_of(stage.keys["laptop"]), name="laptop") as laptop,
                connect(stage.server.address(), name="daemon") as daemon,
            ):
                spied = await client.subscribe("_INBOX.other.>")
                inboxes = [await other.subscribe("_INBOX.other.>") for other in (laptop, daemon)]
                for other in (laptop, daemon):
                    await other.flush()
                await client.publish("_INBOX.other.1", b"forged")
                await client.flush()
                assert (await spied.next_msg(timeout=2)).data == b"forged"  # its own account has it
                for other in (laptop, daemon):
                    await other.publish("_INBOX.other.1", b"private")
                    await other.flush()
                assert [(await inbox.next_msg(timeout=2)).data for inbox in inboxes] == [b"private"] * 2
                await client.flush()
                assert [spied.pending_msgs, *(inbox.pending_msgs for inbox in inboxes)] == [0, 0, 0]

    run(story())


@pytest.mark.req("H7")
def test_a_stranger_gets_nothing(tmp_path: Path):
    async def story() -> None:
        async with nats_stage(tmp_path, "gpu") as stage:
            with pytest.raises(NatsError, match=r"(?i)authorization"):
                async with connect(stage.address_of(make_key()), name="stranger"):
                    pass
            plain = ServerAddress(urls=(f"nats://127.0.0.1:{stage.port}",), seed=stage.keys["gpu"].seed)
            with pytest.raises(FAULTS):
                async with asyncio.timeout(3), connect(plain, name="without TLS"):
                    pass

    run(story())


@pytest.mark.req("H7")
def test_a_server_with_another_certificate_never_sees_the_key_at_work(tmp_path: Path):
    async def story() -> None:
        async with nats_stage(tmp_path / "real", "gpu") as stage, nats_stage(tmp_path / "false", "gpu") as impostor:
            address = msgspec.structs.replace(
                stage.address_of(stage.keys["gpu"]), urls=(f"tls://127.0.0.1:{impostor.port}",)
            )
            with pytest.raises(FAULTS, match=r"(?i)certificate"):
                async with connect(address, name="deceived"):
                    pass

    run(story())


@pytest.mark.req("H6", "H7")
def test_a_removed_key_is_cut_off_at_once(tmp_path: Path):
    async def story() -> None:
        async with nats_stage(tmp_path, "gpu", "laptop") as stage:
            daemon, heard = await stage.daemon()
            await heard.connected()
            gpu, at_gpu = await stage.runner("gpu")
            laptop, at_laptop = await stage.runner("laptop")
            await at_gpu.connected()
            await at_laptop.connected()
            async with connect(stage.address_of(stage.keys["gpu"]), name="also with the key") as client:
                await stage.remove("gpu")
                daemon.follow(stage.ids)
                with pytest.raises(FAULTS):
                    await client.request(claim("id-gpu"), b"{}", timeout=2)
            removed = await at_gpu.wait_for(lambda event: isinstance(event, KeyRemoved))
            assert "uthorization" in removed.reason or "uthentication" in removed.reason
            gpu.send("gpu", "facts", b"from beyond")
            laptop.send("laptop", "facts", b"still here")
            assert await heard.wait_for(lambda e: isinstance(e, Arrived)) == Arrived("laptop", "facts", b"still here")

    run(story())


@pytest.mark.req("H7")
def test_the_files_of_the_server_are_their_owners_alone_and_its_configuration_holds_no_secret(tmp_path: Path):
    directory = tmp_path / "machines"

    async def story() -> None:
        async with nats_stage(directory, "gpu") as stage:
            assert directory.stat().st_mode & 0o777 == 0o700
            for path in directory.iterdir():
                assert path.stat().st_mode & 0o077 == 0, path
            config = (directory / "server.json").read_text()
            seeds = [stage.keys["gpu"].seed, stage.server.address().seed]
            assert [seed for seed in seeds if seed in config] == []
            assert stage.keys["gpu"].public in config

    run(story())
