"""The names that one machine has on a NATS server: its subjects, streams and consumers. Pure.

A machine is named by its id, which never changes: people may rename a machine while it is away. Every frame has a
subject of its own, made of its bytes, and a stream keeps one message for each: a frame that is sent again while the
other end is away replaces its first copy."""

from hashlib import blake2b
from typing import Final

import msgspec

from fairlead.machine_ports import Lane

ROOT: Final = "fairlead"
CLAIMS_BUCKET: Final = "fairlead-claims"
CLAIMS_STREAM: Final = f"KV_{CLAIMS_BUCKET}"
RUNNER: Final = "runner"
"""The consumer of a machine's orders; `DAEMON` is that of its facts."""
EVERY_LIVE: Final = f"{ROOT}.live.*"


class MachineSubjects(msgspec.Struct, frozen=True):
    machine_id: str

    def lane(self, lane: Lane) -> str:
        return f"{ROOT}.{lane}.{self.machine_id}"

    def frame(self, lane: Lane, data: bytes) -> str:
        """Live frames are not stored, so they need no subject of their own."""
        return self.lane(lane) if lane == "live" else f"{self.lane(lane)}.{blake2b(data, digest_size=8).hexdigest()}"

    def stream(self, lane: Lane) -> str:
        return f"{ROOT}-{lane}-{self.machine_id}"

    @property
    def blobs_stream(self) -> str:
        return f"{ROOT}-blobs-{self.machine_id}"

    @property
    def every_blob(self) -> str:
        return f"{ROOT}.blobs.{self.machine_id}.>"

    def blob(self, digest: str) -> str:
        return f"{ROOT}.blobs.{self.machine_id}.{digest}"

    @property
    def for_runner(self) -> tuple[str, ...]:
        """All that a runner may publish; each of them stands in the imports of its account."""
        return (
            f"{self.lane('facts')}.*",
            self.lane("live"),
            next_message(self.stream("orders"), RUNNER),
            f"$JS.ACK.{self.stream('orders')}.{RUNNER}.>",
            claim(self.machine_id),
            read_last(CLAIMS_STREAM, claim(self.machine_id)),
            self.every_blob,
            read_last(self.blobs_stream, self.every_blob),
            purge(self.blobs_stream),
        )


def machine_id_in(subject: str) -> str:
    """Of a frame's subject."""
    return subject.split(".", 3)[2]


def claim(name: str) -> str:
    return f"$KV.{CLAIMS_BUCKET}.{name}"


def next_message(stream: str, consumer: str) -> str:
    return f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"


def read_last(stream: str, subject: str) -> str:
    """The last message on a subject is read without a consumer: a key that may make consumers on a stream can have it
    delivered to any subject of the account."""
    return f"$JS.API.DIRECT.GET.{stream}.{subject}"


def purge(stream: str) -> str:
    return f"$JS.API.STREAM.PURGE.{stream}"
