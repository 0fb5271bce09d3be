"""A link on a wire: frames to and from bytes, sending in time. Used by the daemon, once for each machine, and by a
runner. What the messages mean is its owner's business."""

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from fairlead.core.machines.link import NOTHING, Link, LinkFrame
from fairlead.kit.tasks import OwnedTasks
from fairlead.machine_ports import Arrived, Lane, Wire
from fairlead.observe import log

_FRAME: Final = msgspec.json.Decoder(LinkFrame)
_ENCODER: Final = msgspec.json.Encoder()
ENVELOPE: Final = 512
"""A frame takes so many bytes beside its message, at most."""
RECEIPT_SEC: Final = 0.2
"""A receipt waits so long for a message that it can go with: nobody waits for receipts, and each frame costs both
ends."""
SOONEST_SEC: Final = 0.05


class LinkOwner(Protocol):
    def on_new_peer(self, epoch: int) -> None:
        """The other end is there, for the first time or as a new process: whatever it was told before, it may not know.
        Called before the messages of the same frame."""
        ...

    def on_receipt(self) -> None:
        """The other end has taken more of what it was sent on this link."""
        ...

    def on_message(self, number: int, message: Any) -> None:
        """In order, each once. The owner calls `take(number)` when it is safe."""
        ...

    def on_live(self, message: Any) -> None: ...

    def on_superseded(self, epoch: int) -> None: ...


class LinkEndpoint:
    """`lane` is that on which this end sends; `decode` reads the other's messages, `decode_live` those of the lane that
    is never stored."""

    def __init__(
        self,
        wire: Wire,
        machine: str,
        lane: Lane,
        link: Link,
        *,
        owner: LinkOwner,
        decode: Callable[[msgspec.Raw], Any],
        decode_live: Callable[[msgspec.Raw], Any] | None = None,
    ) -> None:
        self.link = link
        self._wire = wire
        self._machine = machine
        self._lane: Lane = lane
        self._owner = owner
        self._decode = decode
        self._decode_live = decode_live
        self._blobs = OwnedTasks(f"blobs of {machine}")
        self._timer: asyncio.TimerHandle | None = None
        self._receipt_timer: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """For ever: send what is owed again in time."""
        try:
            async with self._blobs:
                self._on_time()
                await asyncio.get_running_loop().create_future()
        finally:
            for timer in (self._timer, self._receipt_timer):
                if timer is not None:
                    timer.cancel()

    def _on_time(self) -> None:
        self.pump()
        self._set_timer()

    def _set_timer(self) -> None:
        """A message that is posted later is due later than all that are owed now, so it needs no earlier timer."""
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(max(SOONEST_SEC, self.link.wait_for_resend(loop.time())), self._on_time)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def rename(self, machine: str) -> None:
        """Frames go to the machine of this name from now on."""
        self._machine = machine

    # --- out

    def post(self, message: Any) -> int:
        """The message is owed from now on, and on its way."""
        number = self.link.post(message)
        self.pump()
        return number

    def take(self, number: int) -> None:
        """The receipt goes with the next message, or a moment later by itself."""
        self.link.take(number)
        self._send_receipt_soon()

    def resend_all(self) -> None:
        self.link.resend_all()
        self.pump()

    def pump(self) -> None:
        now = self._now()
        for number, message in self.link.due(now):
            self._send_message(number, _ENCODER.encode(message))
        if not self.link.is_up:
            self._send_signs()

    def _send_signs(self) -> None:
        for sign in self.link.signs(self._now()):
            self._send(sign)

    def _send_receipt_soon(self) -> None:
        if self._receipt_timer is None and self.link.has_receipt:
            self._receipt_timer = asyncio.get_running_loop().call_later(RECEIPT_SEC, self._send_receipt)

    def _send_receipt(self) -> None:
        self._receipt_timer = None
        self._send_signs()

    def _send_message(self, number: int, data: bytes) -> None:
        if len(data) + ENVELOPE <= self._wire.largest_frame:
            self._send(self.link.frame(number=number, message=msgspec.Raw(data)))
        else:
            self._blobs.start(self._send_as_blob(number, data, self.link.peer_epoch), name=f"message {number}")

    async def _send_as_blob(self, number: int, data: bytes, peer_epoch: int) -> None:
        digest = hashlib.sha256(data).hexdigest()
        await self._wire.put_blob(self._machine, digest, data)
        if self.link.peer_epoch == peer_epoch and self.link.is_owed(number):
            self._send(self.link.frame(number=number, blob=digest))

    def _send(self, frame: LinkFrame) -> None:
        self._wire.send(self._machine, self._lane, _ENCODER.encode(frame))

    def send_live(self, message: Any) -> None:
        """Once, and never again; carries a receipt too."""
        frame = self.link.frame(message=msgspec.Raw(_ENCODER.encode(message)))
        data = _ENCODER.encode(frame)
        if len(data) <= self._wire.largest_frame:
            self._wire.send(self._machine, "live", data)

    # --- in

    def hear(self, arrived: Arrived) -> None:
        try:
            frame = _FRAME.decode(arrived.data)
        except msgspec.MsgspecError as fault:
            log.warning("a frame that cannot be read", machine=self._machine, lane=arrived.lane, message=str(fault))
            return
        if frame.blob:
            self._blobs.start(self._fetch(frame), name=f"frame {frame.number}")
        else:
            self._take_in(frame, frame.message)

    async def _fetch(self, frame: LinkFrame) -> None:
        """A blob that is gone is put there again when its frame is sent again."""
        data = await self._wire.get_blob(self._machine, frame.blob)
        if data is not None:
            self._take_in(frame, msgspec.Raw(data))
            if frame.sender == self.link.peer_epoch and frame.receiver == self.link.epoch:
                await self._wire.drop_blob(self._machine, frame.blob)

    def _take_in(self, frame: LinkFrame, raw: msgspec.Raw) -> None:
        message = None
        if frame.number:
            try:
                message = self._decode(raw)
            except msgspec.MsgspecError as fault:
                log.warning("a message that cannot be understood", machine=self._machine, message=str(fault))
        was_up = self.link.is_up
        heard = self.link.hear(frame, self._now(), message)
        if self.link.superseded_by:
            self._owner.on_superseded(self.link.superseded_by)
            return
        for answer in heard.frames:
            self._send(answer)
        if heard.is_new_peer:
            self._owner.on_new_peer(self.link.peer_epoch)
        elif heard.has_receipt:
            self._owner.on_receipt()
        for number, said in heard.messages:
            self._owner.on_message(number, said)
        if (
            not frame.number
            and bytes(raw) != bytes(NOTHING)
            and self._decode_live is not None
            and self._is_of_peer(frame)
        ):
            self._hear_live(raw)
        self.pump()
        self._send_receipt_soon()
        if self._timer is not None and self.link.is_up != was_up:
            self._set_timer()  # greetings are due sooner than messages

    def _is_of_peer(self, frame: LinkFrame) -> bool:
        return self.link.is_up and (frame.sender, frame.receiver) == (self.link.peer_epoch, self.link.epoch)

    def _hear_live(self, raw: msgspec.Raw) -> None:
        assert self._decode_live is not None
        try:
            self._owner.on_live(self._decode_live(raw))
        except msgspec.MsgspecError as fault:
            log.warning("live words that cannot be understood", machine=self._machine, message=str(fault))
