"""A connection to a NATS server that is made again for ever. Knows nothing of what it carries.

Every connection is a client of its own: nats-py closes a client for good after some errors of the server, and keeps
what was published while it reconnects, which nobody wants here. With tls:// the handshake comes first: otherwise the
server says in clear text whether it wants TLS, and a computer in between could say no."""

import asyncio
import logging
import random
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeVar, cast

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from fairlead.kit.backoff import Backoff
from fairlead.kit.tasks import OwnedTasks, TaskOwner
from fairlead.nats_wire.access import ServerAddress
from fairlead.nats_wire.lean_nats import allow_websockets
from fairlead.observe import log_failure

T = TypeVar("T")
CONNECT_SEC: Final = 10
PING_SEC: Final = 5
MOST_UNANSWERED_PINGS: Final = 2
ASK_SEC: Final = 5.0
REFUSED_KEY_SEC: Final = 5.0
CLOSE_SEC: Final = 2.0
_REFUSALS: Final = ("authorization", "authentication")
_PAUSE: Final = Backoff(first=0.2, ceiling=5.0)
_NOISE: Final = "returning true from eof_received()"


def _is_worth_saying(record: logging.LogRecord) -> bool:
    """asyncio says this of every TLS connection that the other end has closed."""
    return _NOISE not in record.getMessage()


logging.getLogger("asyncio").addFilter(_is_worth_saying)

FAULTS: Final = (NatsError, OSError, TimeoutError)
"""All that nats-py raises where a server is away, slow or unwilling."""


class ServerSilent(TimeoutError):  # noqa: N818 - says what happened
    """The connection stands, and nothing comes through it."""


class Down(msgspec.Struct, frozen=True):
    reason: str
    is_key_refused: bool = False


class NatsConnection:
    """`run` connects for ever. While it is up, `while_up` runs with the client; it is cancelled when the connection is
    lost. `on_down` hears of every loss, and of the first of several attempts that failed for the same reason."""

    def __init__(self, address: ServerAddress, *, name: str, ping_sec: float = PING_SEC) -> None:
        self._address = address
        self._name = name
        self._ping_sec = ping_sec
        self._client: Client | None = None
        self._up = asyncio.Event()
        self._is_closing = False
        self._was_turned_away = False

    def close(self) -> None:
        """Before `run` is cancelled: nats-py swallows the cancellation of a task that waits in some of its calls."""
        self._is_closing = True

    @property
    def client(self) -> Client | None:
        """None while there is no connection."""
        return self._client

    async def run(self, while_up: Callable[[Client], Awaitable[None]], on_down: Callable[[Down], None]) -> None:
        last = Down("")
        failures = 0
        while not self._is_closing:
            down, was_up = await self._connect_once(while_up)
            failures = 1 if was_up else failures + 1
            self._was_turned_away = not was_up
            if was_up or down != last:
                on_down(down)
            last = down
            if self._is_closing:
                return
            await asyncio.sleep(REFUSED_KEY_SEC if down.is_key_refused else _PAUSE.delay(failures, random.random))

    async def _connect_once(self, while_up: Callable[[Client], Awaitable[None]]) -> tuple[Down, bool]:
        """How it ended, and whether it had been up."""
        was_up = False
        client = Client()
        lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        reasons: list[Exception] = []

        async def note_error(fault: Exception) -> None:
            reasons.append(fault)

        async def note_end() -> None:
            if not lost.done():
                lost.set_result(None)

        try:
            async with asyncio.timeout(CONNECT_SEC):
                options = _options(self._address, self._name, asks_why=self._was_turned_away)
                await wait_for(client.connect(error_cb=note_error, closed_cb=note_end, **options))
            if not self._is_closing:
                was_up = True
                await self._serve(client, lost, while_up)
        except FAULTS as fault:
            reasons.append(fault)
        except Exception as fault:  # a message that nobody foresaw must not end the connection for ever
            reasons.extend(_faults_in(fault, self._name))
        finally:
            self._client = None
            self._up.clear()
            _abort(client)
            await _close(client)
        return _explain(reasons), was_up

    async def _serve(
        self, client: Client, lost: asyncio.Future[None], while_up: Callable[[Client], Awaitable[None]]
    ) -> None:
        self._client = client
        self._up.set()
        async with TaskOwner(f"nats {self._name}") as owner:
            owner.start(_call(while_up, client), name="up")
            owner.start(self._watch(client), name="watch")
            await lost
            owner.cancel()

    async def _watch(self, client: Client) -> None:
        """Until the server does not answer. nats-py would notice too, and then wait for the farewell of a TLS
        connection that carries nothing."""
        while True:
            await asyncio.sleep(self._ping_sec)
            try:
                async with asyncio.timeout(MOST_UNANSWERED_PINGS * self._ping_sec):
                    await wait_for(client.flush())
            except TimeoutError:
                raise ServerSilent("the server does not answer") from None

    async def ask(self, subject: str, data: bytes = b"", headers: dict[str, str] | None = None) -> Msg:
        """The answer of the server, as soon as there is one: waits for the connection, and asks again where nobody
        answers. Only for what may be asked twice."""
        while True:
            await self._up.wait()
            client = self._client
            if client is not None:
                with suppress(*FAULTS):
                    return await wait_for(client.request(subject, data, timeout=ASK_SEC, headers=headers))
            await asyncio.sleep(0.5)


def _faults_in(fault: Exception, name: str) -> list[Exception]:
    """Several tasks may hear of one loss in several ways; whatever else it is, is a mistake here."""
    if isinstance(fault, ExceptionGroup):
        group = cast("ExceptionGroup[Exception]", fault)
        return [one for each in group.exceptions for one in _faults_in(each, name)]
    if not isinstance(fault, FAULTS):
        log_failure("a connection to the NATS server broke", fault, connection=name)
    return [fault]


async def _call(while_up: Callable[[Client], Awaitable[None]], client: Client) -> None:
    await while_up(client)


async def wait_for(call: Coroutine[Any, Any, T]) -> T:
    """A call of nats-py, which may swallow the cancellation of its caller: asyncio's wait_for of Python 3.11 does so if
    the answer comes at the same moment. So it runs in a task, which ends with its caller."""
    task = OwnedTasks("nats").start(call, name="call")
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        raise
    return task.result()


def heed_cancellation() -> None:
    """After `publish`, which swallows the cancellation of a task that waits for room in nats-py's buffer: such a task
    would go on for ever, and its owner would wait for it."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


@asynccontextmanager
async def connect(address: ServerAddress, *, name: str) -> AsyncGenerator[Client]:
    """One connection, for one errand. Raises one of FAULTS if it cannot be had."""
    client = Client()
    reasons: list[Exception] = []

    async def note_error(fault: Exception) -> None:
        reasons.append(fault)

    try:
        try:
            await wait_for(client.connect(error_cb=note_error, **_options(address, name, asks_why=True)))
        except NatsError as fault:
            raise NatsError(_explain([fault, *reasons]).reason) from fault
        yield client
    finally:
        await _close(client)


async def subscribe(client: Client, subject: str, hear: Callable[[Msg], Awaitable[None]]) -> Subscription:
    return await wait_for(client.subscribe(subject, cb=hear))  # pyright: ignore[reportUnknownMemberType] - a Future of its own


def _options(address: ServerAddress, name: str, *, asks_why: bool) -> dict[str, Any]:
    """A server that refuses a key says so and closes the connection; nats-py has mostly written on by then, and loses
    what was said. With `asks_why` it reads the server's answer first. The server then confirms every later message too,
    so it is only asked where an attempt has just failed."""
    if any(url.startswith(("ws://", "wss://")) for url in address.urls):
        allow_websockets()
    return {
        "servers": list(address.urls),
        "name": name,
        "verbose": asks_why,
        "allow_reconnect": False,
        "max_reconnect_attempts": 1,
        "reconnect_time_wait": 0,
        "connect_timeout": CONNECT_SEC,
        "ping_interval": 3600,  # `_watch` does it
        "nkeys_seed_str": address.seed,
        "tls": _tls_context(address),
        "tls_handshake_first": any(url.startswith("tls://") for url in address.urls),
    }


def _abort(client: Client) -> None:
    """Without a farewell, which a cut cable would never carry. nats-py has no such call, and its websocket has no such
    writer: there the time limit of `_close` counts."""
    transport = client._transport  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001 - see above
    writer: asyncio.StreamWriter | None = getattr(transport, "_io_writer", None)
    if writer is not None:
        writer.transport.abort()


async def _close(client: Client) -> None:
    """Within a time limit: a server that does not answer must not hold up the next attempt."""
    with suppress(*FAULTS):
        async with asyncio.timeout(CLOSE_SEC):
            await client.close()


def _explain(reasons: list[Exception]) -> Down:
    text = next((str(fault) or type(fault).__name__ for fault in reversed(reasons) if str(fault)), "connection lost")
    return Down(text, is_key_refused=any(word in text.lower() for word in _REFUSALS))


def _tls_context(address: ServerAddress) -> ssl.SSLContext | None:
    if not any(url.startswith(("tls://", "wss://")) for url in address.urls):
        return None
    if not address.certificate:
        return ssl.create_default_context()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # This one certificate and no other: what name the server has here, nobody could know when it was made.
    context.check_hostname = False
    context.load_verify_locations(cadata=address.certificate)
    return context
