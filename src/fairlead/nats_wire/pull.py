"""The messages of one JetStream consumer, as they come. Pulled, because a pull is answered when the stream is gone."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg

from fairlead.nats_wire.connection import FAULTS, heed_cancellation, subscribe, wait_for
from fairlead.nats_wire.subjects import next_message

MOST_AHEAD: Final = 256
"""So many messages may be on their way, or here and not acknowledged."""
EXPIRES_SEC: Final = 30
HEARTBEAT_SEC: Final = 5
SILENCE_SEC: Final = 3.0 * HEARTBEAT_SEC
PROBE_SEC: Final = 5.0
AGAIN_SEC: Final = 0.5
_NANO: Final = 1_000_000_000


class Pull:
    """`deliver` gets every message; its receiver says by `release` that one was handled. `on_found` is called when the
    stream has answered for the first time, and again after `on_missing`, which says that there is no such stream."""

    def __init__(
        self,
        client: Client,
        stream: str,
        consumer: str,
        *,
        deliver: Callable[[Msg], None],
        on_found: Callable[[], None],
        on_missing: Callable[[], None],
    ) -> None:
        self._client = client
        self._subject = next_message(stream, consumer)
        self._inbox = client.new_inbox()
        self._deliver = deliver
        self._on_found = on_found
        self._on_missing = on_missing
        self._wake = asyncio.Event()
        self._asked = 0
        self._held = 0
        self._is_found: bool | None = None
        self._answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def release(self) -> None:
        self._held -= 1
        if self._room >= MOST_AHEAD // 2:
            self._wake.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        subscription = await subscribe(self._client, self._inbox, self._hear)
        try:
            while True:
                await self._probe()
                await self._keep_asking()
        finally:
            with suppress(*FAULTS):  # a connection that is lost has no subscriptions
                await wait_for(subscription.unsubscribe())

    @property
    def _room(self) -> int:
        return MOST_AHEAD - self._asked - self._held

    async def _probe(self) -> None:
        """Until the stream answers. A request that may not wait is answered at once."""
        while True:
            self._asked = 0
            self._answer = asyncio.get_running_loop().create_future()
            await self._ask({"batch": max(1, self._room), "no_wait": True})
            await asyncio.wait([self._answer], timeout=PROBE_SEC)
            if self._answer.done() and self._answer.result():
                break
            self._lose()
            await asyncio.sleep(AGAIN_SEC)
        if not self._is_found:
            self._is_found = True
            self._on_found()

    async def _keep_asking(self) -> None:
        """Until the stream is silent, or gone."""
        self._asked = 0
        while self._is_found:
            if self._room >= MOST_AHEAD // 2:
                room = self._room
                self._asked += room
                await self._ask(
                    {"batch": room, "expires": EXPIRES_SEC * _NANO, "idle_heartbeat": HEARTBEAT_SEC * _NANO}
                )
            if not await self._wait(SILENCE_SEC):
                return

    def _lose(self) -> None:
        if self._is_found is not False:
            self._is_found = False
            self._on_missing()

    async def _ask(self, request: dict[str, object]) -> None:
        await self._client.publish(self._subject, msgspec.json.encode(request), reply=self._inbox)
        heed_cancellation()

    async def _wait(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return False
        self._wake.clear()
        return True

    async def _hear(self, message: Msg) -> None:
        headers = message.headers or {}
        match headers.get("Status"):
            case None:
                self._asked = max(0, self._asked - 1)
                self._held += 1
                self._note_answer(is_there=True)
                self._deliver(message)
            case "100":  # a heartbeat
                self._wake.set()
            case "503":  # nobody answers there
                self._note_answer(is_there=False)
                if self._is_found:
                    self._lose()
                self._wake.set()
            case _:
                self._end_request(headers)

    def _end_request(self, headers: dict[str, str]) -> None:
        """A request has ended: no messages, its time is over, or its consumer was removed."""
        if "Deleted" in headers.get("Description", ""):
            self._lose()
        else:
            self._note_answer(is_there=True)
            self._asked = max(0, self._asked - int(headers.get("Nats-Pending-Messages", 0)))
        self._wake.set()

    def _note_answer(self, *, is_there: bool) -> None:
        if not self._answer.done():
            self._answer.set_result(is_there)
