"""The loopback HTTP server around the brain: routes, streams, keeps what it was asked. Decides no answer."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Literal, Self

import msgspec
from aiohttp import web

from . import anthropic, brain, gemini, openai, openai_chat
from .conversation import Conversation, last_prompt
from .hands import within_reach
from .replies import Drop, Hang, Pause, Refuse, Reply, Say, Tick, Usage

TICK = 0.1
Dialect = Literal["anthropic", "openai", "openai chat", "gemini"]
Whole = Callable[[Reply, Conversation, Usage], dict[str, Any]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Stream = Callable[[Reply, Conversation, Usage], Iterator[bytes | Pause]]


class Seen(msgspec.Struct, frozen=True):
    """One request as it came; without a conversation if it was beside it (token counts, lists, telemetry)."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any = None
    dialect: Dialect | None = None
    conversation: Conversation | None = None

    @property
    def prompt(self) -> str:
        return last_prompt(self.conversation) if self.conversation else ""


class ModelServer:
    """`async with ModelServer() as server:` then point a CLI at `server.url`."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self.strays: list[str] = []  # hosts a CLI tried to reach through us as its proxy: nobody may leave loopback
        self.port = 0
        self._scripted: deque[Reply | Refuse] = deque()
        self._refused: Counter[bytes] = Counter()
        self._held: set[asyncio.Event] = set()
        self._changed = asyncio.Condition()
        self._stopping = asyncio.Event()
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def turns(self) -> list[Seen]:
        """The requests that asked the model something, without side calls that want structured output."""
        return [seen for seen in self.requests if seen.conversation and seen.conversation.json_schema is None]

    @property
    def holding(self) -> bool:
        """An answer stands still in the middle."""
        return bool(self._held)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=256 * 1024 * 1024, middlewares=[self._catch_strays])
        app.router.add_post("/v1/messages", self._anthropic)
        app.router.add_post("/v1/responses", self._openai)
        app.router.add_post("/v1/chat/completions", self._openai_chat)
        app.router.add_post(r"/{version:v1\w*}/models/{model}:{verb}", self._gemini)
        app.router.add_route("*", "/{rest:.*}", self._beside)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping.set()
        assert self._runner is not None
        await self._runner.cleanup()

    def script(self, *replies: Reply | Refuse) -> None:
        """These answers come next, in this order, whatever is asked; then the brain answers again."""
        self._scripted.extend(replies)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits until a request made this true, e.g. `until(lambda: len(server.turns) == 2)`."""
        async with self._changed:
            await self._changed.wait_for(holds)

    async def until_held(self) -> None:
        """Waits until an answer stands still (hold, slow or hang)."""
        await self.until(lambda: self.holding)

    async def release(self) -> None:
        """Lets the answers that stand still go on; waits for one first, so that it cannot come too early."""
        await self.until_held()
        for event in self._held:
            event.set()

    async def _see(self, request: web.Request, dialect: Dialect, conversation: Conversation, body: Any) -> None:
        await self._keep(Seen(request.method, request.path_qs, dict(request.headers), body, dialect, conversation))

    async def _keep(self, seen: Seen) -> None:
        async with self._changed:
            self.requests.append(seen)
            self._changed.notify_all()

    async def _anthropic(self, request: web.Request) -> web.StreamResponse:
        body = msgspec.json.decode(await request.read())
        conversation = anthropic.conversation_of(body)
        await self._see(request, "anthropic", conversation, body)
        reply = self._decide(conversation)
        if isinstance(reply, Refuse):
            return _refusal(reply, anthropic.error_body)
        if not body.get("stream"):
            return await self._whole(request, anthropic.whole, reply, conversation)
        return await self._stream(request, anthropic.stream, reply, conversation)

    async def _openai(self, request: web.Request) -> web.StreamResponse:
        body = msgspec.json.decode(await request.read())
        conversation = openai.conversation_of(body)
        await self._see(request, "openai", conversation, body)
        reply = self._decide(conversation)
        if isinstance(reply, Refuse):
            return _refusal(reply, openai.error_body)
        return await self._stream(request, openai.stream, reply, conversation)

    async def _openai_chat(self, request: web.Request) -> web.StreamResponse:
        body = msgspec.json.decode(await request.read())
        conversation = openai_chat.conversation_of(body)
        await self._see(request, "openai chat", conversation, body)
        reply = self._decide(conversation)
        if isinstance(reply, Refuse):
            return _refusal(reply, openai_chat.error_body)
        if not body.get("stream"):
            return await self._whole(request, openai_chat.whole, reply, conversation)
        return await self._stream(request, openai_chat.stream, reply, conversation)

    async def _gemini(self, request: web.Request) -> web.StreamResponse:
        body = msgspec.json.decode(await request.read())
        if request.match_info["verb"] == "countTokens":
            return web.json_response({"totalTokens": 100})
        conversation = gemini.conversation_of(body, request.match_info["model"])
        await self._see(request, "gemini", conversation, body)
        reply = self._decide(conversation)
        if isinstance(reply, Refuse):
            return _refusal(reply, gemini.error_body)
        if request.match_info["verb"] != "streamGenerateContent":
            return await self._whole(request, gemini.whole, reply, conversation)
        return await self._stream(request, gemini.stream, reply, conversation)

    @web.middleware
    async def _catch_strays(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.method == "CONNECT":
            self.strays.append(request.path or request.headers.get("Host", "a host without a name"))
        return await handler(request)

    async def _beside(self, request: web.Request) -> web.StreamResponse:
        """Token counts and model lists get an answer, telemetry and the rest a quiet 404."""
        await request.read()
        await self._keep(Seen(request.method, request.path_qs, dict(request.headers)))
        if request.path == "/v1/messages/count_tokens":
            return web.json_response({"input_tokens": 100})
        if request.path == "/v1/models":
            return web.json_response({"object": "list", "data": [], "models": [], "has_more": False})
        return web.json_response({"error": {"message": "not served here"}}, status=404)

    def _decide(self, conversation: Conversation) -> Reply | Refuse:
        if self._scripted and conversation.json_schema is None:
            reply = self._scripted.popleft()
        else:
            reply = self._ask_the_brain(conversation)
        return reply if isinstance(reply, Refuse) else within_reach(reply, conversation.tools)

    def _ask_the_brain(self, conversation: Conversation) -> Reply | Refuse:
        asked = msgspec.json.encode((last_prompt(conversation), len(conversation.messages)))
        reply = brain.answer(conversation, refused_before=self._refused[asked])
        if isinstance(reply, Refuse):
            self._refused[asked] += 1
        return reply

    async def _stream(
        self, request: web.Request, dialect: Stream, reply: Reply, conversation: Conversation
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        async with self._holdable() as released:
            for chunk in dialect(reply, conversation, _usage(reply, conversation)):
                if isinstance(chunk, bytes):
                    await response.write(chunk)
                else:
                    await self._pause(request, chunk, released)
        return response

    async def _whole(
        self, request: web.Request, dialect: Whole, reply: Reply, conversation: Conversation
    ) -> web.StreamResponse:
        """Without a stream the pauses come before the answer (claude asks so after a stream that was cut)."""
        async with self._holdable() as released:
            for step in reply.steps:
                if isinstance(step, Pause):
                    await self._pause(request, step, released)
        return web.json_response(dialect(reply, conversation, _usage(reply, conversation)))

    @asynccontextmanager
    async def _holdable(self) -> AsyncIterator[asyncio.Event]:
        released = asyncio.Event()
        try:
            yield released
        finally:
            self._held.discard(released)
            async with self._changed:
                self._changed.notify_all()

    async def _pause(self, request: web.Request, pause: Pause, released: asyncio.Event) -> None:
        if isinstance(pause, Drop):
            assert request.transport is not None
            request.transport.abort()
            raise ConnectionResetError("dropped, as the reply asked")
        if isinstance(pause, Tick) and released.is_set():
            return
        async with self._changed:
            self._held.add(released)
            self._changed.notify_all()
        limit = TICK if isinstance(pause, Tick) else None
        awaited = self._stopping if isinstance(pause, Hang) else released
        stop = asyncio.create_task(self._stopping.wait())
        wait = asyncio.create_task(awaited.wait())
        try:
            await asyncio.wait({stop, wait}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
            wait.cancel()


def _refusal(refuse: Refuse, body: Callable[[int, str], dict[str, Any]]) -> web.Response:
    headers = {} if refuse.retry_after is None else {"retry-after": str(refuse.retry_after)}
    message = refuse.message or f"refused with {refuse.status} as the test asked"
    return web.json_response(body(refuse.status, message), status=refuse.status, headers=headers)


def _usage(reply: Reply, conversation: Conversation) -> Usage:
    """The reply's own usage, or a plausible one: a token is four characters."""
    if reply.usage is not None:
        return reply.usage
    told = sum(len(str(part)) for message in conversation.messages for part in message.parts)
    said = sum(len(step.text) for step in reply.steps if isinstance(step, Say))
    return Usage(input=1 + told // 4, output=1 + said // 4)
