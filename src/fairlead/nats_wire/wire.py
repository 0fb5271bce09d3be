"""What both ends of the wire share: frames out, frames in, claims and blobs, and the events that the end hears.

1. `send` never waits. Frames leave in order while there is a connection and are dropped while there is none.
2. A stored frame is acknowledged at the server after the listener has asked for the event behind it: by then it was
   handled. Those of a moment are acknowledged together, with `ack_sync` for the last, which covers the ones before it:
   what the frames brought does not wait for that.
3. Connected is said when the streams are there, not when the socket is: what is sent from then on is carried.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from fairlead.kit.tasks import OwnedTasks, TaskOwner
from fairlead.machine_ports import Arrived, Claim, Connected, Disconnected, KeyRemoved, Lane, WireEvent
from fairlead.nats_wire import blobs, claims
from fairlead.nats_wire.access import ServerAddress
from fairlead.nats_wire.connection import PING_SEC, Down, NatsConnection, heed_cancellation, wait_for
from fairlead.nats_wire.pull import Pull
from fairlead.nats_wire.subjects import MachineSubjects
from fairlead.observe import log

LARGEST_FRAME: Final = 512 * 1024
MOST_WAITING: Final = 4096
MOST_LIVE_WAITING: Final = 1024
ACK_SEC: Final = 5.0
ACK_TOGETHER_SEC: Final = 0.1
_ACK: Final = b"+ACK"


class _Stored(msgspec.Struct, frozen=True):
    """A frame that is to be acknowledged."""

    arrived: Arrived
    message: Msg
    pull: Pull


class NatsWire:
    """`Wire` of machine_ports but for what differs between the ends: `while_connected`, `subjects_of`, `claim_name`."""

    def __init__(self, address: ServerAddress, *, name: str, ping_sec: float = PING_SEC) -> None:
        self._name = name
        self._tasks = OwnedTasks(f"wire of {name}")
        self._connection = NatsConnection(address, name=f"fairlead {name}", ping_sec=ping_sec)
        self._events: deque[WireEvent | _Stored] = deque()
        self._has_event = asyncio.Event()
        self._live_waiting = 0
        self._outgoing: deque[tuple[str, bytes]] = deque()
        self._acks: deque[_Stored] = deque()
        self._has_outgoing = asyncio.Event()
        self._has_acks = asyncio.Event()
        self._is_up: bool | None = None
        """None before anybody was told whether it is up."""

    def start(self) -> None:
        self._tasks.start(self._connection.run(self._while_up, self._note_down), name="connection")

    async def aclose(self) -> None:
        self._connection.close()
        await self._tasks.__aexit__()

    # --- what differs between the ends

    async def while_connected(self, client: Client) -> None:
        """Sees to the streams, reads from them, and calls `come_up`; for as long as the connection lasts."""
        raise NotImplementedError

    def subjects_of(self, machine: str) -> MachineSubjects | None:
        raise NotImplementedError

    def claim_name(self, name: str) -> str:
        raise NotImplementedError

    # --- Wire

    @property
    def largest_frame(self) -> int:
        return LARGEST_FRAME

    def send(self, machine: str, lane: Lane, data: bytes) -> None:
        subjects = self.subjects_of(machine)
        if not self._is_up or subjects is None:
            return
        if len(self._outgoing) >= (MOST_LIVE_WAITING if lane == "live" else MOST_WAITING):
            return
        self._outgoing.append((subjects.frame(lane, data), data))
        self._has_outgoing.set()

    async def events(self) -> AsyncIterator[WireEvent]:
        while True:
            while not self._events:
                self._has_event.clear()
                await self._has_event.wait()
            event = self._events.popleft()
            if isinstance(event, _Stored):
                yield event.arrived
                event.pull.release()
                self._acks.append(event)
                self._has_acks.set()
            else:
                if isinstance(event, Arrived):
                    self._live_waiting -= 1
                yield event

    async def read_claim(self, name: str) -> Claim | None:
        return await claims.read_claim(self._connection, self.claim_name(name))

    async def write_claim(self, name: str, claim: Claim, *, after: int) -> bool:
        return await claims.write_claim(self._connection, self.claim_name(name), claim, after=after)

    async def put_blob(self, machine: str, digest: str, data: bytes) -> None:
        subjects = self.subjects_of(machine)
        if subjects is not None:
            await blobs.put_blob(self._connection, subjects, digest, data)

    async def get_blob(self, machine: str, digest: str) -> bytes | None:
        subjects = self.subjects_of(machine)
        return None if subjects is None else await blobs.get_blob(self._connection, subjects, digest)

    async def drop_blob(self, machine: str, digest: str) -> None:
        subjects = self.subjects_of(machine)
        if subjects is not None:
            await blobs.drop_blob(self._connection, subjects, digest)

    # --- for the ends

    def come_up(self) -> None:
        if not self._is_up:
            self._is_up = True
            self._put(Connected())

    def go_down(self, reason: str) -> None:
        """Also while the connection lasts: the streams are gone."""
        if self._is_up is not False:
            self._is_up = False
            self._outgoing.clear()
            self._put(Disconnected(reason))

    def hear_stored(self, machine: str, lane: Lane, message: Msg, pull: Pull) -> None:
        self._put(_Stored(Arrived(machine, lane, message.data), message, pull))

    def hear_live(self, machine: str, data: bytes) -> None:
        if self._live_waiting < MOST_LIVE_WAITING:
            self._live_waiting += 1
            self._put(Arrived(machine, "live", data))

    # --- its own

    def _put(self, event: WireEvent | _Stored) -> None:
        self._events.append(event)
        self._has_event.set()

    async def _while_up(self, client: Client) -> None:
        async with TaskOwner("connected") as owner:
            owner.start(self._keep_sending(client), name="sending")
            owner.start(self._keep_acknowledging(client), name="acknowledging")
            owner.start(self.while_connected(client), name="streams")

    def _note_down(self, down: Down) -> None:
        was_down = self._is_up is False
        self.go_down(down.reason)
        if down.is_key_refused:
            log.warning("the NATS server does not accept the key of this end", end=self._name, message=down.reason)
            self._put(KeyRemoved(down.reason))
        elif was_down:
            self._put(Disconnected(down.reason))

    async def _keep_sending(self, client: Client) -> None:
        while True:
            await self._has_outgoing.wait()
            self._has_outgoing.clear()
            while self._outgoing:
                subject, data = self._outgoing.popleft()
                await client.publish(subject, data)
                heed_cancellation()

    async def _keep_acknowledging(self, client: Client) -> None:
        """What the server does not hear of, it delivers again; it is known by its number then."""
        while True:
            await self._has_acks.wait()
            await asyncio.sleep(ACK_TOGETHER_SEC)
            self._has_acks.clear()
            while self._acks:
                stored = self._acks.popleft()
                if self._acks:
                    await client.publish(stored.message.reply, _ACK)
                    heed_cancellation()
                else:
                    with suppress(NatsError, TimeoutError):
                        await wait_for(client.request(stored.message.reply, _ACK, timeout=ACK_SEC))
