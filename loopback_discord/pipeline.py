"""What every REST request goes through: log, faults, token, limits, schemas, handler.

Knows no single route.
"""

import asyncio
import json
from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import web

from . import cdn, errors
from .errors import Refusal
from .faults import Fault
from .model import Upload
from .ratelimits import Limited
from .routing import Call, Handler, Reply, Route
from .sockets import abort

if TYPE_CHECKING:
    from .server import LoopbackDiscord

PREFIX = "/api/v10"
BODY: web.ResponseKey[Any] = web.ResponseKey("body", object)


class Record(msgspec.Struct, eq=False):
    """One line of the request log; `status` is 0 while nothing has been answered, and after a reset."""

    at: float
    method: str
    path: str
    template: str
    query: dict[str, str]
    body: Any
    files: list[Upload]
    status: int = 0
    answer: Any = None
    fault: str | None = None

    @property
    def code(self) -> int | None:
        return self.answer.get("code") if isinstance(self.answer, dict) else None


class Pipeline:
    def __init__(self, server: "LoopbackDiscord") -> None:
        self._server = server
        self.hanging: set[Fault] = set()

    def endpoint(self, route: Route) -> Any:
        async def serve(request: web.Request) -> web.StreamResponse:
            call = await self._decode(request, route)
            server = self._server
            record = record_of(call)
            server.requests.append(record)
            fault = server.faults.strike(call.method, call.path, call.body)
            record.fault = fault.kind if fault else None
            server.board.changed()
            response = await self._answer(request, route, call, fault)
            if request.transport is not None and not request.transport.is_closing():
                record.status, record.answer = response.status, response.get(BODY)
            server.board.changed()
            return response

        return serve

    async def serve_file(self, request: web.Request) -> web.StreamResponse:
        """The CDN: in the log and open to faults, but without token, limits and schemas."""
        server = self._server
        record = Record(
            server.clock.now(), request.method, request.path, "/attachments", dict(request.query), None, []
        )  # fmt: skip
        server.requests.append(record)
        fault = server.faults.strike(request.method, request.path, None)
        struck = await self._suffer(request, fault) if fault else None
        response = cdn.file_response(server.world, request) if struck is None else struck
        record.status = response.status
        server.board.changed()
        return response

    async def _decode(self, request: web.Request, route: Route) -> Call:
        body, files = await decoded(request)
        return Call(
            self._server, request.method, route.template, request.path.removeprefix(PREFIX),
            dict(request.match_info), request.query, body, files,
        )  # fmt: skip

    async def _answer(self, request: web.Request, route: Route, call: Call, fault: Fault | None) -> web.StreamResponse:
        if fault and not fault.worked:
            struck = await self._suffer(request, fault)
            if struck is not None:
                return struck
        response = await self._work(request, route, call)
        if fault and fault.worked:
            struck = await self._suffer(request, fault)
            return response if struck is None else struck
        return response

    async def _suffer(self, request: web.Request, fault: Fault) -> web.StreamResponse | None:
        """None means: go on as if nothing had been."""
        match fault.kind:
            case "status":
                body = {"message": f"{fault.code}: injected", "code": 0}
                return rendered(Reply(fault.code, body), {})
            case "rate_limit":
                scope = "global" if fault.is_global else "user"
                return limited(Limited(fault.retry_after, scope=scope, headers={}))
            case "ban":
                return banned(fault.retry_after)
            case "redirect":
                return web.Response(status=302, headers={"Location": fault.location})
            case "reset":
                abort(request)
                return web.Response(status=500)
            case "slow":
                await asyncio.sleep(fault.delay_s)
            case _:
                self.hanging.add(fault)
                await fault.released.wait()
        return None

    async def _work(self, request: web.Request, route: Route, call: Call) -> web.StreamResponse:
        headers: dict[str, str] = {}
        try:
            self._authorize(request, route)
            limits = self._server.limits
            headers = limits.admit(call.method, call.template, call.params, globally=route.needs_token)
            self._check_request(call)
            reply = await self._handle(route.handler, call)
        except Refusal as refusal:
            reply = Reply(refusal.status, refusal.body())
        except Limited as limit:
            self._check_response(call, Reply(429, limit_body(limit)))
            return limited(limit)
        self._check_response(call, reply)
        return rendered(reply, headers)

    def _authorize(self, request: web.Request, route: Route) -> None:
        given = request.headers.get("Authorization", "")
        if route.needs_token and given != f"Bot {self._server.world.token}":
            raise errors.unauthorized()

    async def _handle(self, handler: Handler, call: Call) -> Reply:
        try:
            return await handler(call)
        except Refusal as refusal:
            if refusal.code == 50035:
                self._violated("request", call, json.dumps(refusal.errors), call.body)
            raise

    def _check_request(self, call: Call) -> None:
        given = {**call.params, **call.query}
        problem = self._server.schema.request_problem(call.method, call.template, call.body, given)
        if problem:
            self._violated("request", call, problem, call.body)
            raise errors.invalid_form("body", "SCHEMA", problem)

    def _check_response(self, call: Call, reply: Reply) -> None:
        problem = self._server.schema.response_problem(call.method, call.template, reply.status, reply.body)
        if problem:
            self._violated("response", call, problem, reply.body)

    def _violated(self, side: str, call: Call, problem: str, body: object) -> None:
        self._server.violated(side, f"{call.method} {call.template}", problem, body)


def record_of(call: Call) -> Record:
    at = call.server.clock.now()
    return Record(at, call.method, call.path, call.template, dict(call.query), call.body, call.files)


async def decoded(request: web.Request) -> tuple[Any, list[Upload]]:
    """JSON, or the JSON of a form's payload_json with its files in the order of their numbers."""
    if request.content_type == "multipart/form-data":
        return await decoded_form(request)
    raw = await request.read()
    return (json.loads(raw) if raw else None), []


async def decoded_form(request: web.Request) -> tuple[Any, list[Upload]]:
    body: Any = {}
    files: dict[str, Upload] = {}
    async for part in await request.multipart():
        data = bytes(await part.read(decode=False))
        if part.name == "payload_json":
            body = json.loads(data)
        else:
            files[part.name] = Upload(part.filename or "unknown", data, part.headers.get("Content-Type"))
    numbered = sorted(files, key=lambda name: int(name.removeprefix("files[").removesuffix("]")))
    return body, [files[name] for name in numbered]


def rendered(reply: Reply, headers: dict[str, str]) -> web.Response:
    """`application/json` without a charset: discord.py compares the header as a whole."""
    if reply.body is None:
        response = web.Response(status=reply.status, headers=headers)
    else:
        headers = headers | {"Content-Type": "application/json"}
        response = web.Response(status=reply.status, body=json.dumps(reply.body).encode(), headers=headers)
    response[BODY] = reply.body
    return response


def banned(retry_after: float) -> web.Response:
    """As Cloudflare answers: no `Via`, no JSON, and a server that says who it is."""
    headers = {"Retry-After": str(int(retry_after)), "Server": "cloudflare"}
    page = "<!doctype html><html><title>Access denied | discord.com used Cloudflare</title>Error 1015</html>"
    return web.Response(status=429, text=page, content_type="text/html", headers=headers)


def limit_body(limit: Limited) -> dict[str, Any]:
    body = {"message": "You are being rate limited.", "retry_after": round(limit.retry_after, 3)}
    return body | {"global": limit.scope == "global", "code": limit.code}


def limited(limit: Limited) -> web.Response:
    """Without `Via` discord.py takes a 429 for a ban by Cloudflare and raises at once."""
    headers = limit.headers | {"Via": "1.1 google", "Retry-After": str(int(limit.retry_after) + 1)}
    headers |= {"X-RateLimit-Scope": limit.scope}
    if limit.scope == "global":
        headers["X-RateLimit-Global"] = "true"
    return rendered(Reply(429, limit_body(limit)), headers)
