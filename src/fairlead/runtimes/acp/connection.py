"""One conversation with an ACP agent, on the official SDK: requests out, requests in. Knows no turns and no process.

Only `AgentProgram` imports this module, in a thread, when its agent starts: the SDK takes a second and 34 MB. What goes
out is built with the SDK's models; what comes back is read with our own, because one unknown word in a response
(a stop reason of a later protocol) must not lose the rest of it.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import msgspec
from acp import PROTOCOL_VERSION, schema
from acp.connection import Connection
from acp.exceptions import RequestError
from acp.meta import AGENT_METHODS, CLIENT_METHODS
from pydantic import BaseModel

from fairlead import __version__
from fairlead.core.engine import ForkOrigin
from fairlead.runtimes.acp import wire
from fairlead.runtimes.acp.translate import as_dict
from fairlead.runtimes.acp.transport import AgentTransport
from fairlead.runtimes.acp.turn_ends import AgentRefused
from fairlead.runtimes.tool_server import COMMAND, ToolGrant
from fairlead.runtimes.tool_wire import SERVER_NAME

T = TypeVar("T")

_SET_MODEL: Final = "session/set_model"  # agents from before the config options have it; the SDK no longer names it

_STEER: Final = "_session/steering"  # an extension, which an agent offers in the `_meta` of `initialize`

Handle = Callable[[Any], Awaitable[dict[str, Any]]]
"""Answers one request of the agent; gets its parameters."""


class AcpConnection:
    def __init__(self, transport: AgentTransport, *, on_permission: Handle, on_form: Handle) -> None:
        self._handlers = {
            CLIENT_METHODS["session_request_permission"]: on_permission,
            CLIENT_METHODS["elicitation_create"]: on_form,
        }
        self._connection = Connection(self._handle, transport)

    async def initialize(self) -> wire.Initialized:
        """Neither files nor terminals are offered: the agent uses its own, where its sandbox and its rules hold."""
        request = schema.InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=schema.ClientCapabilities(
                fs=schema.FileSystemCapabilities(read_text_file=False, write_text_file=False),
                terminal=False,
                elicitation=schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities()),
            ),
            client_info=schema.Implementation(name="fairlead", title="Fairlead", version=__version__),
        )
        return await self._request("initialize", request, wire.Initialized)

    async def new_session(self, cwd: str, grant: ToolGrant | None = None) -> wire.SessionOpened:
        request = schema.NewSessionRequest(cwd=cwd, mcp_servers=_tool_servers(grant))
        return await self._request("session_new", request, wire.SessionOpened)

    async def resume_session(self, cwd: str, session_id: str, grant: ToolGrant | None = None) -> wire.SessionOpened:
        request = schema.ResumeSessionRequest(cwd=cwd, session_id=session_id, mcp_servers=_tool_servers(grant))
        return await self._request("session_resume", request, wire.SessionOpened)

    async def load_session(self, cwd: str, session_id: str, grant: ToolGrant | None = None) -> wire.SessionOpened:
        request = schema.LoadSessionRequest(cwd=cwd, session_id=session_id, mcp_servers=_tool_servers(grant))
        return await self._request("session_load", request, wire.SessionOpened)

    async def fork_session(
        self, cwd: str, fork: ForkOrigin, grant: ToolGrant | None = None, *, at_message: bool = False
    ) -> wire.SessionOpened:
        """`at_message`: the agent knows the fork's point as the id of a message. See `Quirks.forks_at_message`."""
        request = schema.ForkSessionRequest(cwd=cwd, session_id=fork.key, mcp_servers=_tool_servers(grant))
        params = _dump(request)
        if at_message and fork.point:
            params["_meta"] = {"jetbrains": {"air": {"fork": {"version": 1, "messageId": fork.point}}}}
        return await self._send(AGENT_METHODS["session_fork"], params, wire.SessionOpened)

    async def list_sessions(self, cwd: str, cursor: str | None = None) -> wire.SessionsListed:
        params = {"cwd": cwd} | ({"cursor": cursor} if cursor else {})
        return await self._send(AGENT_METHODS["session_list"], params, wire.SessionsListed)

    async def prompt(self, session_id: str, blocks: list[dict[str, Any]]) -> wire.Prompted:
        params = {"sessionId": session_id, "prompt": blocks}
        return await self._send(AGENT_METHODS["session_prompt"], params, wire.Prompted)

    async def steer(self, session_id: str, blocks: list[dict[str, Any]]) -> wire.Steered:
        """Further words for the prompt that runs; where none runs any more, the agent must not begin another."""
        params = {"sessionId": session_id, "prompt": blocks, "_meta": {"steering": {"idleBehavior": "promptRequired"}}}
        return await self._send(_STEER, params, wire.Steered)

    async def cancel(self, session_id: str) -> None:
        request = schema.CancelNotification(session_id=session_id)
        await self._connection.send_notification(AGENT_METHODS["session_cancel"], _dump(request))

    async def set_mode(self, session_id: str, mode: str) -> None:
        await self._request("session_set_mode", schema.SetSessionModeRequest(session_id=session_id, mode_id=mode), dict)

    async def set_model(self, session_id: str, model: str) -> None:
        await self._send(_SET_MODEL, {"sessionId": session_id, "modelId": model}, dict)

    async def set_option(self, session_id: str, option: str, value: str) -> wire.ConfigOptions:
        request = schema.SetSessionConfigOptionSelectRequest(config_id=option, session_id=session_id, value=value)
        return await self._request("session_set_config_option", request, wire.ConfigOptions)

    async def close(self) -> None:
        await self._connection.close()

    async def _request(self, method: str, params: BaseModel, result: type[T]) -> T:
        return await self._send(AGENT_METHODS[method], _dump(params), result)

    async def _send(self, method: str, params: dict[str, Any], result: type[T]) -> T:
        """Raises AgentRefused, or ConnectionError when there is no agent any more."""
        try:
            said = await self._connection.send_request(method, params)
        except RequestError as refusal:
            may_pass = as_dict(refusal.data).get("restartable") is True
            raise AgentRefused(refusal.code, _words(refusal), may_pass=may_pass) from refusal
        try:
            return msgspec.convert({} if said is None else said, result, strict=False)
        except msgspec.ValidationError as fault:
            raise AgentRefused(0, f"The agent's response to {method} has an unknown format: {fault}") from fault

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        handler = self._handlers.get(method)
        if handler is None or is_notification:
            raise RequestError.method_not_found(method)
        return await handler(params)


def _tool_servers(grant: ToolGrant | None) -> list[Any]:
    """Fairlead's own tools. An agent may put what it gets here on a command line, so it gets the name of the
    capability's file and not the token."""
    if grant is None:
        return []
    env = [schema.EnvVariable(name=name, value=value) for name, value in grant.env.items()]
    return [schema.McpServerStdio(name=SERVER_NAME, command=COMMAND[0], args=list(COMMAND[1:]), env=env)]


def _dump(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _words(refusal: RequestError) -> str:
    """The message, and what `data` adds to it: some agents say there what really happened."""
    match refusal.data:
        case str() as more:
            said = more
        case {"details": str() as more} | {"message": str() as more}:
            said = more
        case None:
            said = ""
        case other:
            said = msgspec.json.encode(other, enc_hook=str).decode()
    message = str(refusal)
    return f"{message}: {said}" if said and said not in message else message
