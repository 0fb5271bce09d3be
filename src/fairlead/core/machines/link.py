"""What makes an unreliable wire reliable: numbers, receipts, and epochs. Both ends of a wire have a Link. No I/O, no
clock: the owner brings frames and the time, and sends the frames that it is given.

1. Every message has a number, which rises by one. It is owed until the other end has taken it: it is sent again after
   RESEND_SEC, when the wire is up again, and when the other end asks for it; always with the same number.
2. Messages are given to the owner in the order of their numbers, each of them once. One that comes too early waits, and
   the numbers before it are asked for.
3. A receipt says that everything up to a number was taken. The owner says when: a runner, when it is in its journal.
4. Of two processes with one name the higher epoch counts. A frame of a lower one is not heard; a process that hears of
   a higher epoch under its own name is superseded and ends itself.
5. The numbers belong to one pair of epochs. When either end starts again, they begin at one, and what was owed before
   is forgotten here: the owners know what they still want of each other, and say it again.
"""

from typing import Any, Final

import msgspec

RESEND_SEC: Final = 15.0
GREET_SEC: Final = 5.0
ASK_AGAIN_SEC: Final = 1.0
MOST_EARLY: Final = 4096
"""So many messages may wait for one before them; more are dropped, and are sent again in their time."""
MOST_AT_ONCE: Final = 256


NOTHING: Final = msgspec.Raw(b"null")


class LinkFrame(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """What the wire carries. `sender` and `receiver` are epochs, the latter 0 while it is not known. `number` is 0
    where there is no message. `taken` is the receipt for the other direction; `missing` are the first and the last
    number that are asked for again. A message too large for a frame is a blob, named by its digest."""

    sender: int
    receiver: int = 0
    number: int = 0
    taken: int = 0
    missing: tuple[int, int] | None = None
    message: msgspec.Raw = NOTHING
    blob: str = ""


class Heard(msgspec.Struct, kw_only=True):
    """What came of a frame: `is_new_peer` once, when the other end is certainly there and knows us; messages with their
    numbers; frames to send."""

    is_new_peer: bool = False
    has_receipt: bool = False
    messages: list[tuple[int, Any]] = []
    frames: list[LinkFrame] = []


class _Owed:
    __slots__ = ("message", "sent_at")

    def __init__(self, message: Any) -> None:
        self.message = message
        self.sent_at = -RESEND_SEC


class Link:
    """`epoch` is that of this end; `peer_epoch` the highest of the other end that is known from before."""

    def __init__(self, epoch: int, peer_epoch: int = 0) -> None:
        self.epoch = epoch
        self.peer_epoch = peer_epoch
        self.is_up = False
        self.superseded_by = 0
        self._greeted_at = -GREET_SEC
        self._begin()

    def _begin(self) -> None:
        self._owed: dict[int, _Owed] = {}
        self._last_number = 0
        self._given = 0
        self._taken = 0
        self._receipted = 0
        self._early: dict[int, Any] = {}
        self._asked_at = -ASK_AGAIN_SEC

    @property
    def owes(self) -> int:
        """How many messages the other end has not taken."""
        return len(self._owed)

    # --- what the owner says

    def post(self, message: Any) -> int:
        """The number of a message that is owed from now on; `due` sends it. Only while the link is up."""
        assert self.is_up, "there is nobody to owe anything to"
        self._last_number += 1
        self._owed[self._last_number] = _Owed(message)
        return self._last_number

    def is_owed(self, number: int) -> bool:
        return number in self._owed

    def take(self, number: int) -> None:
        """Everything up to this message is safe here: the other end may forget it."""
        self._taken = max(self._taken, min(number, self._given))

    def resend_all(self) -> None:
        """The wire is up again: nobody knows what it lost."""
        self._greeted_at = -GREET_SEC
        for owed in self._owed.values():
            owed.sent_at = -RESEND_SEC

    def due(self, now: float) -> list[tuple[int, Any]]:
        """The messages to send now, with their numbers; the owner makes a frame of each (`frame`)."""
        if not self.is_up:
            return []
        due = [(n, owed) for n, owed in self._owed.items() if now - owed.sent_at >= RESEND_SEC][:MOST_AT_ONCE]
        for _, owed in due:
            owed.sent_at = now
        return [(number, owed.message) for number, owed in due]

    @property
    def has_receipt(self) -> bool:
        """Whether something was taken that the other end has not been told of."""
        return self.is_up and self._receipted < self._taken

    def signs(self, now: float) -> list[LinkFrame]:
        """Frames without a message to send now: a greeting while the other end does not answer, a receipt."""
        if not self.is_up:
            if now - self._greeted_at < GREET_SEC:
                return []
            self._greeted_at = now
            return [self.frame()]
        return [self.frame()] if self.has_receipt else []

    def frame(self, *, number: int = 0, message: msgspec.Raw | None = None, blob: str = "") -> LinkFrame:
        """With the receipt for all that was taken."""
        self._receipted = self._taken
        return LinkFrame(
            sender=self.epoch,
            receiver=self.peer_epoch,
            number=number,
            taken=self._taken,
            message=NOTHING if message is None else message,
            blob=blob,
        )

    def wait_for_resend(self, now: float) -> float:
        """Seconds until something has to be sent again."""
        if not self.is_up:
            return max(0.0, self._greeted_at + GREET_SEC - now)
        return max(0.0, min((owed.sent_at + RESEND_SEC - now for owed in self._owed.values()), default=RESEND_SEC))

    # --- what the wire brings

    def hear(self, frame: LinkFrame, now: float, message: Any = None) -> Heard:
        """`message` is what the frame carries, decoded; None where it could not be had (a blob that is gone)."""
        heard = Heard(messages=[], frames=[])
        if not self._is_between_us(frame, heard):
            return heard
        if not self.is_up:
            self.is_up = heard.is_new_peer = True
        for number in [n for n in self._owed if n <= frame.taken]:
            del self._owed[number]
            heard.has_receipt = True
        if frame.missing is not None:
            for number in range(frame.missing[0], frame.missing[1] + 1):
                if number in self._owed:
                    self._owed[number].sent_at = -RESEND_SEC
        if frame.number:
            self._hear_message(frame.number, message, now, heard)
        return heard

    def _is_between_us(self, frame: LinkFrame, heard: Heard) -> bool:
        """Whether both ends mean each other. Answers those who do not know of an epoch yet."""
        if frame.receiver > self.epoch:
            self.superseded_by = max(self.superseded_by, frame.receiver)
            return False
        if frame.sender < self.peer_epoch:
            heard.frames.append(LinkFrame(sender=self.epoch, receiver=self.peer_epoch))
            return False
        if frame.sender > self.peer_epoch:
            self.peer_epoch = frame.sender
            self.is_up = False
            self._begin()
        if frame.receiver < self.epoch:
            heard.frames.append(LinkFrame(sender=self.epoch, receiver=self.peer_epoch))
            return False
        return True

    def _hear_message(self, number: int, message: Any, now: float, heard: Heard) -> None:
        if number <= self._given:
            self._receipted = 0  # the other end says it again: our receipt may be lost, and is sent once more
            return
        if message is not None and len(self._early) < MOST_EARLY:
            self._early.setdefault(number, message)
        while (self._given + 1) in self._early:
            self._given += 1
            heard.messages.append((self._given, self._early.pop(self._given)))
        if self._early and now - self._asked_at >= ASK_AGAIN_SEC:
            self._asked_at = now
            gap = (self._given + 1, min(self._early) - 1)
            heard.frames.append(msgspec.structs.replace(self.frame(), missing=gap))
