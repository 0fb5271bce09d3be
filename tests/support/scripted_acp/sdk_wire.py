"""The same wire through the official SDK's agent side: it routes and checks what comes in, and checks what goes out.

A message that breaks the protocol without the test having asked for that fails loudly in the agent.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

from acp import AgentSideConnection, RequestError
from acp.router import Route
from acp.schema import (
    AuthenticateRequest,
    AuthenticateResponse,
    CancelNotification,
    CloseSessionRequest,
    CloseSessionResponse,
    CreateFormSessionElicitationRequest,
    ForkSessionRequest,
    ForkSessionResponse,
    InitializeRequest,
    InitializeResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    LoadSessionResponse,
    NewSessionRequest,
    NewSessionResponse,
    PromptRequest,
    PromptResponse,
    RequestPermissionRequest,
    ResumeSessionRequest,
    ResumeSessionResponse,
    SessionNotification,
    SetSessionConfigOptionResponse,
    SetSessionModeRequest,
    SetSessionModeResponse,
)
from pydantic import BaseModel

from .notes import Notes
from .wire import BareWire, Handler, Payload, Refused, Reply, Stdin, Stdout

RESULTS: dict[str, type[BaseModel]] = {
    "initialize": InitializeResponse,
    "authenticate": AuthenticateResponse,
    "session/new": NewSessionResponse,
    "session/load": LoadSessionResponse,
    "session/resume": ResumeSessionResponse,
    "session/fork": ForkSessionResponse,
    "session/list": ListSessionsResponse,
    "session/close": CloseSessionResponse,
    "session/prompt": PromptResponse,
    "session/set_mode": SetSessionModeResponse,
    "session/set_config_option": SetSessionConfigOptionResponse,
}
ASKED: dict[str, type[BaseModel]] = {
    "session/request_permission": RequestPermissionRequest,
    "elicitation/create": CreateFormSessionElicitationRequest,
}
_request_id: ContextVar[Any] = ContextVar("_request_id")  # of the request whose handler runs
_Forwarded = Callable[..., Coroutine[Any, Any, Any]]


class StdioTransport:
    """The transport under the SDK's connection: a thread reads lines, writing is done at once."""

    def __init__(self, stdin: Stdin, stdout: Stdout, notes: Notes) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._notes = notes
        self._loop = asyncio.get_running_loop()
        self._messages: asyncio.Queue[Payload | None] = asyncio.Queue()
        self.after_response: dict[Any, Callable[[], None]] = {}
        threading.Thread(target=self._read, daemon=True).start()

    async def send(self, message: Payload) -> None:
        self._stdout.write_message(message)
        if "method" not in message and (then := self.after_response.pop(message["id"], None)):
            then()

    async def receive(self) -> Payload | None:
        message = await self._messages.get()
        if message is not None:
            _request_id.set(message.get("id"))  # the task that handles the message inherits this context
        return message

    async def close(self) -> None:
        pass

    def _read(self) -> None:
        while line := self._stdin.read_line():
            message = _message_in(line)
            if message is None:
                continue
            self._notes.message(message)
            self._loop.call_soon_threadsafe(self._messages.put_nowait, message)
        self._loop.call_soon_threadsafe(self._messages.put_nowait, None)


def _message_in(line: bytes) -> Payload | None:
    """The SDK's own transport passes over lines that are no JSON, too."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


class SdkReply(Reply):
    """Resolves what the SDK's handler waits for, from any thread."""

    def __init__(self, transport: StdioTransport, future: asyncio.Future[Any]) -> None:
        self._transport = transport
        self._future = future
        self.request_id = _request_id.get()
        self._loop = future.get_loop()

    def result(self, result: Payload | None, then: Callable[[], None] | None = None) -> None:
        self._settle(lambda: self._future.set_result(result), then)

    def error(self, refused: Refused, then: Callable[[], None] | None = None) -> None:
        error = RequestError(refused.code, refused.message, refused.data)
        self._settle(lambda: self._future.set_exception(error), then)

    def _settle(self, settle: Callable[[], None], then: Callable[[], None] | None) -> None:
        if then is not None:
            self._transport.after_response[self.request_id] = then
        self._loop.call_soon_threadsafe(settle)


def _forward(method: str, model: type[BaseModel]) -> _Forwarded:
    async def forward(self: "SdkAgent", **fields: Any) -> Any:
        params = model(**fields).model_dump(mode="json", by_alias=True, exclude_none=True)
        return await self.answer(method, params)

    return forward


class SdkAgent:
    """The SDK's `Agent`: every method hands the request, which the SDK has checked, to the script."""

    def __init__(self, handle: Handler, transport: StdioTransport) -> None:
        self._handle = handle
        self._transport = transport

    initialize = _forward("initialize", InitializeRequest)
    authenticate = _forward("authenticate", AuthenticateRequest)
    new_session = _forward("session/new", NewSessionRequest)
    load_session = _forward("session/load", LoadSessionRequest)
    resume_session = _forward("session/resume", ResumeSessionRequest)
    fork_session = _forward("session/fork", ForkSessionRequest)
    list_sessions = _forward("session/list", ListSessionsRequest)
    close_session = _forward("session/close", CloseSessionRequest)
    set_session_mode = _forward("session/set_mode", SetSessionModeRequest)
    prompt = _forward("session/prompt", PromptRequest)

    async def set_config_option(self, config_id: str, session_id: str, value: str | bool, **_more: Any) -> Any:
        params = {"configId": config_id, "sessionId": session_id, "value": value}
        return await self.answer("session/set_config_option", params)

    async def set_model(self, params: Payload) -> Any:
        return await self.answer("session/set_model", params)

    async def cancel(self, session_id: str, **_more: Any) -> None:
        params = CancelNotification(session_id=session_id).model_dump(by_alias=True, exclude_none=True)
        self._handle("session/cancel", params, None)

    async def ext_method(self, method: str, params: Payload) -> Any:
        return await self.answer(f"_{method}", params)

    async def ext_notification(self, method: str, params: Payload) -> None:
        self._handle(f"_{method}", params, None)

    async def answer(self, method: str, params: Payload) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._handle(method, params, SdkReply(self._transport, future))
        return await future


class SdkWire(BareWire):
    def __init__(self, notes: Notes, *, garbage: bool) -> None:
        super().__init__(notes, garbage=garbage)
        self._loop: asyncio.AbstractEventLoop
        self._connection: AgentSideConnection
        self._open_requests: set[asyncio.Task[None]] = set()

    def serve(self, handle: Handler) -> None:
        asyncio.run(self._serve(handle))

    async def _serve(self, handle: Handler) -> None:
        self._loop = asyncio.get_running_loop()
        transport = StdioTransport(self.stdin, self.stdout, self._notes)
        agent = SdkAgent(handle, transport)
        self._connection = AgentSideConnection(agent, transport, listening=False, use_unstable_protocol=True)
        router: Any = self._connection._conn._handler  # the SDK no longer knows session/set_model
        router.add_route(Route(method="session/set_model", func=agent.set_model, kind="request"))
        await self._connection.listen()

    def update(self, session_id: str, update: Payload) -> None:
        params = {"sessionId": session_id, "update": update}
        SessionNotification.model_validate(params)
        self.notify("session/update", params)

    def request(self, method: str, params: Payload, on_response: Callable[[Payload], None]) -> int:
        if method in ASKED:
            ASKED[method].model_validate(params)
        sending = self._connection._conn.send_request(method, params)
        return asyncio.run_coroutine_threadsafe(self._send(_respond(sending, on_response)), self._loop).result()

    async def _send(self, asking: Coroutine[Any, Any, None]) -> int:
        """Returns when the request is on its way, so that what the script does next comes after it."""
        request_id = self._connection._conn._next_request_id
        task = asyncio.create_task(asking)
        self._open_requests.add(task)
        task.add_done_callback(self._open_requests.discard)
        await asyncio.sleep(0)
        return request_id

    def check_result(self, method: str, result: Payload | None) -> None:
        if method in RESULTS:
            RESULTS[method].model_validate(result)


async def _respond(sending: Coroutine[Any, Any, Any], on_response: Callable[[Payload], None]) -> None:
    try:
        on_response({"result": await sending})
    except RequestError as error:
        on_response({"error": {"code": error.code, "message": str(error), "data": error.data}})
