"""The loopback Discord itself: one port with REST v10, gateway and CDN.

Starts, stops, goes down and comes back.
"""

import fnmatch
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from aiohttp import web

from . import (
    routes_accounts,
    routes_channels,
    routes_interactions,
    routes_messages,
    routes_webhooks,
    schema,
    threads,
)
from .board import PATIENCE_SEC, Board
from .clock import Clock
from .conversations import Conversation
from .faults import Faults
from .gateway import Gateway
from .model import Guild
from .people import Person
from .pipeline import PREFIX, Pipeline, Record, rendered
from .ratelimits import RateLimits
from .routing import Reply
from .sockets import abort, abort_transport
from .world import Event, World

Found = TypeVar("Found")
log = logging.getLogger("loopback_discord")
ROUTES = (
    *routes_accounts.routes.all, *routes_channels.routes.all, *routes_messages.routes.all,
    *routes_webhooks.routes.all, *routes_interactions.routes.all,
)  # fmt: skip


class LoopbackDiscord:
    """Use `async with LoopbackDiscord.start() as discord:`;

    every part that tests steer is a public attribute.
    """

    def __init__(self, *, clock: Clock | None = None, virtual_rate_limits: bool = False) -> None:
        self.clock = clock or Clock()
        self.board = Board()
        self.world = World(self.clock, self.board)
        self.gateway = Gateway(self.world)
        self.limits = RateLimits(self.clock, virtual_time=virtual_rate_limits)
        self.faults = Faults()
        self.schema = schema.from_environment()
        self.violations: list[schema.Violation] = []
        self.gateway.check = self._check_event
        self.requests: list[Record] = []
        self.typings: list[tuple[float, int]] = []
        self.port = 0
        self._pipeline = Pipeline(self)
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None
        self.board.describe = self.summary
        self.clock.on_advance(lambda: threads.archive_the_idle(self.world))
        self.clock.on_advance(self.board.changed)

    @classmethod
    @asynccontextmanager
    async def start(
        cls, *, clock: Clock | None = None, virtual_rate_limits: bool = False
    ) -> AsyncIterator["LoopbackDiscord"]:
        server = cls(clock=clock, virtual_rate_limits=virtual_rate_limits)
        await server._listen()
        try:
            yield server
        finally:
            await server._stop()

    # addresses

    @property
    def api(self) -> str:
        """For `discord.http.Route.BASE`, and for DISCORD_API_BASE."""
        return f"http://127.0.0.1:{self.port}{PREFIX}"

    @property
    def gateway_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/gateway"

    @property
    def token(self) -> str:
        return self.world.token

    # people and conversations

    @property
    def owner(self) -> Person:
        """Who owns the application."""
        return Person(self, self.world.application.owner)

    def person(self, name: str, *, locale: str = "en-US", guild: Guild | None = None) -> Person:
        user = self.world.add_user(name, locale=locale)
        for each in [guild] if guild else self.world.guilds.values():
            self.world.join(each, user)
        return Person(self, user)

    def guild(self, name: str = "harbour", *, locale: str = "en-US") -> Guild:
        return self.world.add_guild(name, locale=locale)

    def text_channel(self, guild: Guild, name: str = "general", *, deny: int = 0) -> Conversation:
        channel = self.world.add_text_channel(guild, name)
        channel.denied = deny
        return Conversation(self, channel)

    def conversation(self, channel_id: int) -> Conversation:
        return Conversation(self, self.world.channels[channel_id])

    # what was seen

    def calls(self, method: str = "*", pattern: str = "*", *, status: int | None = None) -> list[Record]:
        """Of the request log; `pattern` is a shell pattern over the path below /api/v10."""
        return [
            each
            for each in self.requests
            if method in (each.method, "*")
            and fnmatch.fnmatchcase(each.path, pattern)
            and status in (each.status, None)
        ]

    def violated(self, side: str, operation: str, problem: str, body: object) -> None:
        violation = schema.Violation(side, operation, problem, body)
        log.error("VIOLATION: %s", violation)
        self.violations.append(violation)

    @property
    def invalid_requests(self) -> int:
        """What Discord counts towards its ban at 10,000 in ten minutes."""
        return sum(each.status in (401, 403, 429) for each in self.requests)

    def count(self, status: int) -> int:
        return len(self.calls(status=status))

    async def wait_for(
        self, look: Callable[[], Found | None], *, timeout: float = PATIENCE_SEC, what: str = "it"
    ) -> Found:
        return await self.board.wait_for(look, timeout=timeout, what=what)

    async def wait_for_call(
        self, method: str, pattern: str, *, times: int = 1, timeout: float = PATIENCE_SEC
    ) -> list[Record]:
        """Until that many such requests have come in, answered or not."""
        return await self.wait_for(
            lambda: found if len(found := self.calls(method, pattern)) >= times else None,
            timeout=timeout, what=f"{method} {pattern} x{times}",
        )  # fmt: skip

    def summary(self) -> str:
        last = [f"{each.method} {each.path} -> {each.status}" for each in self.requests[-5:]]
        wrong = "".join(f"\n  violation: {each}" for each in self.violations[-3:])
        sessions = len(self.gateway.connected())
        return f"{sessions} gateway sessions; {len(self.requests)} requests, last: {last}{wrong}"

    # token, up and down

    def rotate_token(self) -> str:
        """The old token is worth nothing from now on; its sessions are closed with 4004."""
        self.world.token = f"rotated.{secrets.token_hex(12)}"
        self.gateway.forget_sessions()
        self.gateway.close(4004)
        return self.world.token

    async def go_down(self) -> None:
        """Connections are reset and new ones refused, until `come_back`."""
        assert self._site is not None
        assert self._runner is not None
        await self._site.stop()
        self._site = None
        for line in list(self.gateway.lines):
            line.drop()
        assert self._runner.server is not None
        for connection in list(self._runner.server.connections):
            if connection.transport is not None:
                abort_transport(connection.transport)
        await self.gateway.disconnected()

    async def come_back(self) -> None:
        """On the same port."""
        assert self._runner is not None
        self._site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await self._site.start()

    async def _listen(self) -> None:
        app = web.Application(client_max_size=256 * 1024 * 1024, middlewares=[self._loud])
        # literal names such as @me before the placeholders that would swallow them
        for route in sorted(ROUTES, key=lambda each: "@" not in each.template):
            app.router.add_route(route.method, PREFIX + route.template, self._pipeline.endpoint(route))
        app.router.add_get("/gateway", self.gateway.serve)
        app.router.add_get("/gateway/", self.gateway.serve)
        app.router.add_get("/attachments/{channel_id}/{attachment_id}/{filename}", self._cdn)
        app.router.add_route("*", "/{tail:.*}", self._lost)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        await self.come_back()
        self.port = self._runner.addresses[0][1]
        self.gateway.url = self.gateway_url
        self.world.cdn = f"http://127.0.0.1:{self.port}"

    async def _stop(self) -> None:
        self.faults.clear()
        for fault in self._pipeline.hanging:
            fault.release()
        for line in list(self.gateway.lines):
            abort(line.request)
        assert self._runner is not None
        await self._runner.cleanup()

    def _check_event(self, event: Event) -> None:
        problem = self.schema.event_problem(event.name, event.data)
        if problem:
            self.violated("event", event.name, problem, event.data)

    @web.middleware
    async def _loud(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """A bug of the loopback fails the test: a client that tries again would only hide it."""
        try:
            return await handler(request)
        except Exception as bug:
            if request.transport is None or request.transport.is_closing():
                raise  # nobody is there any more: a killed client, a dropped connection
            log.exception("the loopback Discord failed at %s %s", request.method, request.path)
            self.violated("loopback", f"{request.method} {request.path}", repr(bug), None)
            return rendered(Reply(500, {"message": "500: Internal Server Error", "code": 0}), {})

    async def _lost(self, request: web.Request) -> web.Response:
        """A route that the loopback lacks is a hole in the tests, so it is a violation."""
        problem = "the loopback Discord does not have this route"
        self.violated("request", f"{request.method} {request.path}", problem, None)
        return rendered(Reply(404, {"message": "404: Not Found", "code": 0}), {})

    async def _cdn(self, request: web.Request) -> web.StreamResponse:
        return await self._pipeline.serve_file(request)
