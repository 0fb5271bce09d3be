"""The HTTP server: from bytes to a Call, from a struct or an error to bytes. The handlers make the replies."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, NoReturn

import msgspec
from aiohttp import web

from fairlead.channels.http.call import PULL_CHANNELS, Call, Service, channel_of
from fairlead.channels.http.errors import HttpRefusal, json_reply, refusal
from fairlead.channels.http.guard import RequestGuard
from fairlead.channels.http.job_stream import JobStreams
from fairlead.channels.http.openapi import openapi_document
from fairlead.channels.http.routes import PUBLIC_PATHS, Endpoint, endpoints
from fairlead.core.command_spec import CommandCatalogue
from fairlead.core.commands import COMMANDS
from fairlead.core.identity import Identities
from fairlead.core.inbound import clean_text
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log_failure
from fairlead.ports import Blobs, ChannelCapabilities, Durability, Gate, OutgoingMessage, View

MAX_BODY_BYTES: Final = 8 * 1024 * 1024
_SHUTDOWN_SEC: Final = 2.0
_PUBLIC: Final = PUBLIC_PATHS | {"/openapi.json"}

_Next = Callable[[web.Request], Awaitable[web.StreamResponse]]


class PullChannel:
    """A channel whose clients fetch for themselves: nothing is ever sent."""

    capabilities = ChannelCapabilities(files=True, push=False)

    def __init__(self, name: str) -> None:
        self.name = name

    async def send(self, outgoing: OutgoingMessage) -> str:
        self._refuse_push(outgoing)

    async def find(self, outgoing: OutgoingMessage) -> str | None:
        self._refuse_push(outgoing)

    def _refuse_push(self, outgoing: OutgoingMessage) -> NoReturn:
        raise AssertionError(f"{self.name} has no push; {outgoing.entry_id} waits to be fetched")


class HttpChannel(PullChannel):
    """`async with channel.serve("127.0.0.1", 0) as address:` answers until the block is left."""

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
        max_body_bytes: int = MAX_BODY_BYTES,
        commands: CommandCatalogue = COMMANDS,
    ) -> None:
        super().__init__("http")
        self._service = Service(
            gate=gate,
            view=view,
            blobs=blobs,
            vitals=vitals,
            identities=identities,
            agent_id=agent_id,
            streams=JobStreams(view),
        )
        self._endpoints = endpoints(commands)
        self._token = token
        self._max_body_bytes = max_body_bytes

    @property
    def channels(self) -> tuple[PullChannel, ...]:
        """Every channel that is served here: the terminal speaks HTTP too, and is told apart by a header."""
        return (self, *(PullChannel(name) for name in PULL_CHANNELS if name != self.name))

    @asynccontextmanager
    async def serve(self, host: str, port: int) -> AsyncGenerator[tuple[str, int]]:
        runner = web.AppRunner(
            self._application(RequestGuard(self._token, host)),
            handler_cancellation=True,  # a handler ends when its client disconnects; the job goes on
            shutdown_timeout=_SHUTDOWN_SEC,
            access_log=None,
        )
        await runner.setup()
        streams = self._service.streams
        try:
            async with TaskOwner("http") as owner:
                owner.start(streams.run(), name="feeds")
                try:
                    yield await _listen(runner, host, port)
                finally:
                    streams.close()
                    owner.cancel()
        finally:
            await runner.cleanup()

    def _application(self, guard: RequestGuard) -> web.Application:
        application = web.Application(
            middlewares=[_guard_middleware(guard)],  # every request passes here, also one for an unknown path
            client_max_size=self._max_body_bytes,
        )
        for endpoint in self._endpoints:
            application.router.add_route(endpoint.method, endpoint.path, self._route(endpoint))
        application.router.add_route("GET", "/openapi.json", self._get_document)
        return application

    async def _get_document(self, _request: web.Request) -> web.StreamResponse:
        return json_reply(openapi_document(self._endpoints))

    def _route(self, endpoint: Endpoint) -> _Next:
        async def respond(request: web.Request) -> web.StreamResponse:
            call = await _parse_call(endpoint, self._service, request)
            reply = await endpoint.handler(call)
            return reply if isinstance(reply, web.StreamResponse) else json_reply(reply)

        return respond


def _guard_middleware(guard: RequestGuard) -> Any:
    @web.middleware
    async def middleware(request: web.Request, handler: _Next) -> web.StreamResponse:
        try:
            guard.admit(request.headers, public=request.path in _PUBLIC)
            return await handler(request)
        except HttpRefusal as refused:
            _tell(refused.problem, request)
            response = refusal(refused.problem, status=refused.status)
            response.headers.update(refused.headers)
            return response
        except FairleadError as problem:
            _tell(problem, request)
            return refusal(problem)
        except web.HTTPException as foreign:
            return _convert_refusal(foreign, request)
        except ConnectionError:
            raise
        except Exception as bug:  # a bug in one request must not end the connection without a response
            _tell(bug, request)
            return refusal(error(Code.E_INTERNAL))

    return middleware


def _tell(problem: Exception, request: web.Request) -> None:
    log_failure("http request refused", problem, request=f"{request.method} {request.path[:200]}")


async def _listen(runner: web.AppRunner, host: str, port: int) -> tuple[str, int]:
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as fault:
        raise error(
            Code.E_CONFIG,
            f"HTTP cannot listen on {host}:{port}: {fault.strerror or fault}.",
            next_step="Set FAIRLEAD_HTTP_PORT to a free port (0 chooses one), or stop what uses it.",
        ) from fault
    bound: tuple[Any, ...] = runner.addresses[0]
    return str(bound[0]), int(bound[1])


async def _parse_call(endpoint: Endpoint, service: Service, request: web.Request) -> Call:
    return Call(
        service=service,
        http=request,
        channel=channel_of(request),
        body=await _body(endpoint, request),
        query=_query(endpoint, request),
    )


async def _body(endpoint: Endpoint, request: web.Request) -> msgspec.Struct | None:
    if endpoint.body is None:
        return None
    if endpoint.body_is_optional and not request.body_exists:
        return endpoint.body()
    if request.content_type != "application/json":
        sentence = f"The body must be application/json, not {request.content_type[:80]!r}."
        raise HttpRefusal(415, error(Code.E_INVALID_ARGS, sentence))
    data = await request.read()
    try:
        return msgspec.json.decode(data, type=endpoint.body)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise _parse_error(str(fault), "The body") from fault


def _query(endpoint: Endpoint, request: web.Request) -> msgspec.Struct | None:
    if endpoint.query is None:
        return None
    given = {clean_text(name): clean_text(value) for name, value in request.query.items()}
    try:
        return msgspec.convert(given, endpoint.query, strict=False)
    except msgspec.ValidationError as fault:
        raise _parse_error(str(fault), "The query") from fault


def _parse_error(fault: str, what: str) -> FairleadError:
    code = Code.E_INVALID_USER if "userId" in fault else Code.E_INVALID_ARGS
    return error(code, f"{what} cannot be understood: {fault}.")


def _convert_refusal(foreign: web.HTTPException, request: web.Request) -> web.Response:
    """A refusal by aiohttp itself, in the JSON shape of all other refusals."""
    match foreign:
        case web.HTTPRequestEntityTooLarge():
            return refusal(error(Code.E_MESSAGE_TOO_LARGE, "The request's body is too large."))
        case web.HTTPMethodNotAllowed():
            sentence = f"{request.path[:100]} does not take {request.method[:20]}."
        case _:
            sentence = f"There is no {request.path[:100]!r} here."
    problem = error(Code.E_INVALID_ARGS, sentence, next_step="/openapi.json describes everything there is.")
    response = refusal(problem, status=foreign.status)
    if "Allow" in foreign.headers:
        response.headers["Allow"] = foreign.headers["Allow"]
    return response
