"""A runner's end of the wire. It may make nothing on the server: it waits until the daemon has made its streams."""

from nats.aio.client import Client
from nats.aio.msg import Msg

from fairlead.machine_ports import DAEMON
from fairlead.nats_wire.access import ServerAddress
from fairlead.nats_wire.connection import PING_SEC
from fairlead.nats_wire.pull import Pull
from fairlead.nats_wire.subjects import RUNNER, MachineSubjects
from fairlead.nats_wire.wire import NatsWire


class RunnerWire(NatsWire):
    """`name` is what people call the machine; it may be an old name, because the server knows its id only."""

    def __init__(self, address: ServerAddress, *, name: str, machine_id: str, ping_sec: float = PING_SEC) -> None:
        super().__init__(address, name=name, ping_sec=ping_sec)
        self._subjects = MachineSubjects(machine_id)

    def subjects_of(self, machine: str) -> MachineSubjects | None:  # noqa: ARG002 - it has one machine
        return self._subjects

    def claim_name(self, name: str) -> str:
        return DAEMON if name == DAEMON else self._subjects.machine_id

    async def while_connected(self, client: Client) -> None:
        def deliver(message: Msg) -> None:
            self.hear_stored(self._name, "orders", message, pull)

        pull = Pull(
            client,
            self._subjects.stream("orders"),
            RUNNER,
            deliver=deliver,
            on_found=self.come_up,
            on_missing=lambda: self.go_down("the server has no streams for this machine"),
        )
        await pull.run()
