"""The HTTP server: from bytes to a Call, from a struct or an error to bytes. The handlers make the replies."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from fairlead.api.wire import MAX_FILES_BYTES
from fairlead.channels.http.agent_peers import AgentPeers
from fairlead.channels.http.call import Call, Service, channel_of
from fairlead.channels.http.console.assets import PATH as ASSET_PATHS
from fairlead.channels.http.console.console import CONSOLE_PATHS, Console, ConsoleParts
from fairlead.channels.http.console.feed import ConsoleFeed
from fairlead.channels.http.errors import REFUSED, HttpRefusal, json_reply, refusal
from fairlead.channels.http.event_limits import EventLimits
from fairlead.channels.http.guard import Access, RequestGuard
from fairlead.channels.http.health_samples import HealthSamples
from fairlead.channels.http.hooks import EVENT_PATH
from fairlead.channels.http.job_stream import JobStreams
from fairlead.channels.http.logins import ConsoleLogins
from fairlead.channels.http.openapi import openapi_document
from fairlead.channels.http.proxies import Proxies
from fairlead.channels.http.request_fields import decode_body, decode_query
from fairlead.channels.http.routes import PUBLIC_PATHS, Endpoint, endpoints
from fairlead.core.command_spec import CommandCatalogue
from fairlead.core.commands import COMMANDS
from fairlead.core.identity import Identities
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.tasks import TaskOwner, run_to_end
from fairlead.observe import log_failure, take_over_log
from fairlead.ports import Blobs, Durability, Gate, View

MAX_BODY_BYTES: Final = 8 * 1024 * 1024
_FILES_ROOM: Final = MAX_FILES_BYTES * 4 // 3 + 64 * 1024
"""What the files of a message add to its body: base64 makes four bytes of three."""
_FORM_ROOM: Final = 64 * 1024
REQUEST_SEC: Final = 30.0
_SHUTDOWN_SEC: Final = 2.0
_LINGERING_SEC: Final = 5.0
"""How long a body is read and dropped after its request was refused, so that the client reads the refusal."""
_ACCESS: Final[dict[str, Access]] = {**dict.fromkeys((*PUBLIC_PATHS, "/openapi.json"), "public"), "/": "page"}

_Next = Callable[[web.Request], Awaitable[web.StreamResponse]]


class HttpServer:
    """Implements `listener.LoadedServer`."""

    def __init__(
        self,
        gate: Gate,
        view: View,
        *,
        token: str,
        identities: Identities,
        agent_id: str,
        blobs: Blobs,
        vitals: Durability,
        allowed_hosts: tuple[str, ...] = (),
        max_body_bytes: int = MAX_BODY_BYTES,
        request_sec: float = REQUEST_SEC,
        commands: CommandCatalogue = COMMANDS,
        state_directory: Path | None = None,
        proxies: tuple[str, ...] = (),
        samples: HealthSamples | None = None,
    ) -> None:
        feed = ConsoleFeed()
        self._service = Service(
            gate=gate,
            view=view,
            blobs=blobs,
            vitals=vitals,
            identities=identities,
            agent_id=agent_id,
            streams=JobStreams(view, tell_too=feed.note),
            events=EventLimits(seconds=request_sec),
            logins=ConsoleLogins(state_directory),
            proxies=Proxies(proxies),
            samples=samples,
        )
        self._feed = feed
        self._console = Console(
            self._service,
            ConsoleParts(
                feed=feed,
                is_closed=lambda: self._service.streams.closed,
                most_form_bytes=max_body_bytes + MAX_FILES_BYTES + _FORM_ROOM,
            ),
        )
        self._agent_peers = AgentPeers(lambda: f"{view.state_id}:")
        self._endpoints = endpoints(commands)
        self._token = token
        self._allowed_hosts = allowed_hosts
        self._max_body_bytes = max_body_bytes
        self._request_sec = request_sec
        self._runner: web.AppRunner | None = None

    @property
    def connections(self) -> int:
        """How many connections clients have open now."""
        server = None if self._runner is None else self._runner.server
        return 0 if server is None else len(server.connections)

    @asynccontextmanager
    async def run(self, host: str) -> AsyncGenerator[Callable[[], asyncio.Protocol]]:
        """`host` is the address where the listener listens."""
        take_over_log("aiohttp")  # it tells of broken requests, with their headers: the token may be among them
        runner = web.AppRunner(
            self._application(RequestGuard(self._token, host, self._allowed_hosts)),
            handler_cancellation=True,  # a handler ends when its client disconnects; the job goes on
            shutdown_timeout=_SHUTDOWN_SEC,
            access_log=None,
            # Of a connection that is open and sends no whole head, and of one that waits for its next request.
            keepalive_timeout=self._request_sec,
            lingering_time=min(_LINGERING_SEC, self._request_sec),
            auto_decompress=False,  # aiohttp would inflate a body while it comes in, before anybody is authorised
        )
        await runner.setup()
        self._runner = runner
        streams = self._service.streams
        try:
            async with TaskOwner("http") as owner:
                owner.start(streams.run(), name="streams")
                try:
                    assert runner.server is not None
                    yield runner.server
                finally:
                    streams.close()
                    self._feed.wake_all()
                    owner.cancel()
        finally:
            await runner.cleanup()

    def _application(self, guard: RequestGuard) -> web.Application:
        application = web.Application(
            middlewares=[
                self._show_refusals(),
                _guard_middleware(guard, self._access_of, self._refuse_agents),
            ],  # every request passes here, also one for an unknown path
            client_max_size=self._max_body_bytes,
        )
        for endpoint in self._endpoints:
            _add_route(application, endpoint.method, endpoint.path, self._route(endpoint))
        _add_route(application, "GET", "/openapi.json", self._get_document)
        for method, path, handler in self._console.routes():
            _add_route(application, method, path, handler)
        return application

    def _show_refusals(self) -> Any:
        """A person in a browser reads a page about what was refused, not its JSON."""

        @web.middleware
        async def middleware(request: web.Request, handler: _Next) -> web.StreamResponse:
            response = await handler(request)
            problem = response.get(REFUSED)
            if problem is None or not request.path.startswith(CONSOLE_PATHS):
                return response
            return self._console.show_refusal(request, response.status, problem) or response

        return middleware

    def _access_of(self, request: web.Request) -> Access:
        if request.method == "POST" and EVENT_PATH.fullmatch(request.path) and self._service.view.has_hooks:
            return "signed"
        if request.path.startswith(CONSOLE_PATHS):
            is_asset = request.path.startswith(ASSET_PATHS)
            return "public" if is_asset else "form" if request.method == "POST" else "page"
        return _ACCESS.get(request.path, "token")

    async def _refuse_agents(self, request: web.Request) -> None:
        """An agent can read the token, and is nevertheless no person."""
        agent = await self._agent_peers.find(request)
        if agent is None:
            return
        asked = f"{request.method} {request.path[:200]}"
        await run_to_end(self._service.gate.report_agent_request(agent.job_id, asked, agent.program))
        raise error(Code.E_AGENT_CALLER, f"This request comes from a process of an agent: {agent.program!r}.")

    async def _get_document(self, _request: web.Request) -> web.StreamResponse:
        return json_reply(openapi_document(self._endpoints))

    def _route(self, endpoint: Endpoint) -> _Next:
        async def respond(request: web.Request) -> web.StreamResponse:
            if endpoint.path == "/":
                login = await self._console.find_login(request)
                if login is not None:
                    await self._refuse_agents(request)
                    return await self._console.get_now(request, login)
            call = await self._parse_call(endpoint, request)
            reply = await endpoint.handler(call)
            return reply if isinstance(reply, web.StreamResponse) else json_reply(reply)

        return respond

    async def _parse_call(self, endpoint: Endpoint, request: web.Request) -> Call:
        try:
            largest = self._max_body_bytes + (_FILES_ROOM if endpoint.takes_files else 0)
            async with asyncio.timeout(self._request_sec):
                body = await decode_body(endpoint, request.clone(client_max_size=largest), largest)
        except TimeoutError:
            sentence = f"The body was not received completely within {self._request_sec:g} s (timed out)."
            raise HttpRefusal(408, error(Code.E_INVALID_ARGS, sentence), {"Connection": "close"}) from None
        return Call(
            service=self._service,
            http=request,
            channel=channel_of(request),
            body=body,
            query=decode_query(endpoint, request),
        )


def _add_route(application: web.Application, method: str, path: str, handler: _Next) -> None:
    """What can be fetched can be asked for without its body: monitors send HEAD."""
    for each in ("GET", "HEAD") if method == "GET" else (method,):
        application.router.add_route(each, path, handler)


def _guard_middleware(
    guard: RequestGuard,
    access_of: Callable[[web.Request], Access],
    refuse_agents: Callable[[web.Request], Awaitable[None]],
) -> Any:
    @web.middleware
    async def middleware(request: web.Request, handler: _Next) -> web.StreamResponse:
        try:
            access = access_of(request)
            guard.admit(request.headers, access=access)
            if access in {"token", "signed", "form"} or (access == "page" and request.path.startswith(CONSOLE_PATHS)):
                await refuse_agents(request)
            return await handler(request)
        except HttpRefusal as refused:
            _log_refusal(refused.problem, request)
            response = refusal(refused.problem, status=refused.status)
            response.headers.update(refused.headers)
            return response
        except FairleadError as problem:
            _log_refusal(problem, request)
            return refusal(problem)
        except web.HTTPException as foreign:
            return _convert_refusal(foreign, request)
        except ConnectionError:
            raise
        except Exception as bug:  # a bug in one request must not end the connection without a response
            _log_refusal(bug, request)
            return refusal(error(Code.E_INTERNAL))

    return middleware


def _log_refusal(problem: Exception, request: web.Request) -> None:
    log_failure("http request refused", problem, request=f"{request.method} {request.path[:200]}")


def _convert_refusal(foreign: web.HTTPException, request: web.Request) -> web.Response:
    """A refusal by aiohttp itself, in the JSON shape of all other refusals."""
    match foreign:
        case web.HTTPRequestEntityTooLarge():
            return refusal(error(Code.E_MESSAGE_TOO_LARGE, "The request's body is too large."))
        case web.HTTPMethodNotAllowed():
            sentence = f"{request.path[:100]} does not support {request.method[:20]}."
        case _:
            sentence = f"There is no route {request.path[:100]!r}."
    problem = error(Code.E_INVALID_ARGS, sentence, next_step="/openapi.json lists all routes.")
    response = refusal(problem, status=foreign.status)
    if "Allow" in foreign.headers:
        response.headers["Allow"] = foreign.headers["Allow"]
    return response
