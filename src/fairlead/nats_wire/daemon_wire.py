"""The daemon's end of the wire: one connection for all machines. It makes their streams, and makes them again when the
server has lost them."""

import asyncio
from collections.abc import Container, Mapping
from contextlib import suppress
from typing import Final

from nats.aio.client import Client
from nats.aio.msg import Msg

from fairlead.kit.tasks import OwnedTasks
from fairlead.machine_ports import DAEMON
from fairlead.nats_wire.access import ServerAddress
from fairlead.nats_wire.connection import PING_SEC, subscribe
from fairlead.nats_wire.pull import Pull
from fairlead.nats_wire.streams import ServerRefused, ensure_claims, ensure_machine, forget_machine
from fairlead.nats_wire.subjects import EVERY_LIVE, MachineSubjects, machine_id_in
from fairlead.nats_wire.wire import NatsWire
from fairlead.observe import log

AGAIN_SEC: Final = 2.0


class DaemonWire(NatsWire):
    """`follow` says which machines there are: their names and ids. A machine that was renamed keeps its id."""

    def __init__(self, address: ServerAddress, machines: Mapping[str, str], *, ping_sec: float = PING_SEC) -> None:
        super().__init__(address, name=DAEMON, ping_sec=ping_sec)
        self._ids = dict(machines)
        self._names = {machine_id: name for name, machine_id in machines.items()}
        self._changed = asyncio.Event()
        self._forgotten: set[str] = set()
        self._missing: set[str] = set()

    def follow(self, machines: Mapping[str, str]) -> None:
        self._forgotten |= set(self._names) - set(machines.values())
        self._ids = dict(machines)
        self._names = {machine_id: name for name, machine_id in machines.items()}
        self._changed.set()

    def subjects_of(self, machine: str) -> MachineSubjects | None:
        machine_id = self._ids.get(machine)
        return None if machine_id is None else MachineSubjects(machine_id)

    def claim_name(self, name: str) -> str:
        return name if name == DAEMON else self._ids.get(name, name)

    async def while_connected(self, client: Client) -> None:
        await subscribe(client, EVERY_LIVE, self._hear_live)
        async with OwnedTasks("facts") as pulls:
            reading: dict[str, asyncio.Task[None]] = {}
            while True:
                self._changed.clear()
                is_complete = await self._update(client, pulls, reading)
                with suppress(TimeoutError):
                    async with asyncio.timeout(None if is_complete else AGAIN_SEC):
                        await self._changed.wait()

    async def _update(self, client: Client, pulls: OwnedTasks, reading: dict[str, asyncio.Task[None]]) -> bool:
        """Whether every machine has its streams now, and is read from. One that the server refuses is tried again, and
        keeps no other waiting."""
        try:
            await ensure_claims(self._connection)
        except ServerRefused as fault:
            log.warning("machines: the NATS server refuses to keep anything", message=str(fault))
            self.go_down(str(fault))
            return False
        refused = [machine_id for machine_id in tuple(self._names) if not await self._make_streams(machine_id, reading)]
        for machine_id in set(self._names) - set(reading) - set(refused):
            reading[machine_id] = pulls.start(self._read_facts(client, machine_id), name=machine_id)
        for machine_id in set(reading) - set(self._names):
            reading.pop(machine_id).cancel()
        for machine_id in tuple(self._forgotten):
            await forget_machine(self._connection, MachineSubjects(machine_id))
            self._forgotten.discard(machine_id)
        self.come_up()
        return not refused

    async def _make_streams(self, machine_id: str, reading: Container[str]) -> bool:
        if machine_id in reading and machine_id not in self._missing:
            return True
        try:
            await ensure_machine(self._connection, MachineSubjects(machine_id))
        except ServerRefused as fault:
            log.warning("machines: the NATS server refuses a stream", message=str(fault))
            return False
        self._missing.discard(machine_id)
        return True

    async def _read_facts(self, client: Client, machine_id: str) -> None:
        subjects = MachineSubjects(machine_id)

        def deliver(message: Msg) -> None:
            name = self._names.get(machine_id)
            if name is not None:
                self.hear_stored(name, "facts", message, pull)

        pull = Pull(
            client,
            subjects.stream("facts"),
            DAEMON,
            deliver=deliver,
            on_found=lambda: None,
            on_missing=lambda: self._make_again(machine_id),
        )
        await pull.run()

    def _make_again(self, machine_id: str) -> None:
        """Somebody removed a stream while the connection lasted."""
        self._missing.add(machine_id)
        self.go_down("streams were removed from the server")
        self._changed.set()

    async def _hear_live(self, message: Msg) -> None:
        name = self._names.get(machine_id_in(message.subject))
        if name is not None:
            self.hear_live(name, message.data)
