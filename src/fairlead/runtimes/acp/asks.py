"""The open requests of one agent: which are answered by a rule or a tier, which go to a person, who waits for which."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import msgspec

from fairlead.core.agent_tools import TOOL_NAMES
from fairlead.core.decide.questions import narrow_rule
from fairlead.core.engine import Diagnostic, EngineEvent, Noticed, PermissionRequested, RequestWithdrawn, Response
from fairlead.runtimes.acp import wire
from fairlead.runtimes.acp.agent_requests import CANCELLED, AgentRequest, permission_request
from fairlead.runtimes.acp.forms import UnfitResponse, form_request
from fairlead.runtimes.acp.quirks import PLAIN
from fairlead.runtimes.acp.tier import Tier
from fairlead.runtimes.acp.transport import REQUEST_ID
from fairlead.runtimes.tool_wire import SERVER_NAME

OWN_TOOLS: Final = frozenset(f"mcp__{SERVER_NAME}__{name}" for name in TOOL_NAMES)
"""By the names that Claude gives them, the only agent that asks before it calls one and says which."""

ShownOf = Callable[[str], tuple[wire.ToolContent, ...]]


class _Open(msgspec.Struct, frozen=True):
    """None as the response means that nobody will respond. `ids` are those of all requests that wait for it."""

    request: AgentRequest
    response: asyncio.Future[Response | None]
    ids: set[str]


class Asks:
    """`emit` shows an event to people; `on_settled` is told when a person is no longer waited for."""

    def __init__(self, emit: Callable[[EngineEvent], None], on_settled: Callable[[], None]) -> None:
        self._emit = emit
        self._on_settled = on_settled
        self._open: dict[str, _Open] = {}
        self._allowed: set[str] = set()
        self._tier = Tier()
        self.quirks = PLAIN
        self.has_own_tools = False
        """Whether the agent was given Fairlead's own tools."""
        self.can_be_heard = False
        """Whether anybody would see a question now: not between two turns, nor once a turn is being cancelled."""
        self.has_refused = False
        self.has_approved_plan = False

    @property
    def are_open(self) -> bool:
        return bool(self._open)

    def forget_allowed(self) -> None:
        """Somebody else's words are in the turn now: a person is asked again."""
        self._allowed.clear()

    def begin_turn(self, tier: Tier, allowed: tuple[str, ...]) -> None:
        """`allowed` are all the standing rules of the session: one that a person took back is no longer among them."""
        self._tier = tier
        self._allowed = set(allowed)
        self.has_refused = self.has_approved_plan = False
        self.can_be_heard = True

    # --- the agent asks --------------------------------------------------------------------------------------------

    async def ask_permission(self, params: Any, shown_of: ShownOf = lambda _: ()) -> dict[str, Any]:
        """`shown_of` knows what the agent has already shown of the same tool call."""
        try:
            asked = msgspec.convert(params, wire.PermissionParams, strict=False)
        except msgspec.ValidationError as fault:
            self._emit(Noticed(f"A question of the agent was refused, because its format is unknown: {fault}."))
            return CANCELLED
        request = permission_request(_id_of(params), _with_shown(asked, shown_of), self.quirks)
        response = await self._decide(request)
        if response is None:
            return CANCELLED
        outcome = request.respond(response)
        is_refusal = _is_refusal(outcome, asked.options)
        self.has_refused = self.has_refused or is_refusal
        self.has_approved_plan = self.has_approved_plan or (request.is_plan and not is_refusal)
        return outcome

    async def ask_form(self, params: Any) -> dict[str, Any]:
        request = _read_form(params)
        if request is None:
            self._emit(Diagnostic(f"The agent asked a question in an unsupported form: {str(params)[:500]}"))
            return {"action": "decline"}
        response = await self._decide(request)
        if response is None:
            return {"action": "cancel"}
        try:
            return request.respond(response)
        except UnfitResponse as why:
            self._emit(Noticed(f"The agent did not get your answers: {why}"))
            return {"action": "cancel"}

    async def _decide(self, request: AgentRequest) -> Response | None:
        """None when nobody is there to decide: a cancelled turn allows nothing more, not even by a standing rule."""
        if not self.can_be_heard:
            return None
        return self._decide_by_rule(request) or await self._ask_person(request)

    def _decide_by_rule(self, request: AgentRequest) -> Response | None:
        """What the project's tier forbids and what a standing rule allows is not asked."""
        ask = request.ask
        if self.has_own_tools and request.tool in OWN_TOOLS:  # Fairlead decides about these itself when they are called
            return Response(request_id=ask.request_id, verdict="allow")
        forbidden = self._tier.forbids(request.tool) if request.tool else ""
        if forbidden:
            self._emit(Noticed(forbidden))
            return Response(request_id=ask.request_id, verdict="deny")
        is_allowed = isinstance(ask, PermissionRequested) and narrow_rule(ask) in self._allowed
        return Response(request_id=ask.request_id, verdict="allow") if is_allowed else None

    async def _ask_person(self, request: AgentRequest) -> Response | None:
        """A request that is already open is not shown twice: both get the same response. Two calls of one command are
        two requests, because a person allows a call once."""
        same = next((one for one in self._open.values() if _is_same(one.request, request)), None)
        request_id = request.ask.request_id
        if same is not None:
            same.ids.add(request_id)
            return await asyncio.shield(same.response)
        if request_id in self._open:
            self._emit(Diagnostic(f"The agent asked twice under the id {request_id}; the second question was refused."))
            return None
        response: asyncio.Future[Response | None] = asyncio.get_running_loop().create_future()
        self._open[request_id] = _Open(request, response, {request_id})
        self._emit(request.ask)
        try:
            return await response
        finally:
            del self._open[request_id]
            self._on_settled()

    # --- a person responds, or nobody will -------------------------------------------------------------------------

    def respond(self, response: Response) -> None:
        waiting = self._open.get(response.request_id)
        if waiting is None or waiting.response.done():
            return
        ask = waiting.request.ask
        if response.remember and response.verdict == "allow" and isinstance(ask, PermissionRequested):
            self._allowed.add(narrow_rule(ask))
        waiting.response.set_result(response)

    def withdraw(self, request_id: str) -> None:
        """A question that another request waits for as well stays with the person."""
        waiting = next((one for one in self._open.values() if request_id in one.ids), None)
        if waiting is None or waiting.response.done():
            return
        waiting.ids.discard(request_id)
        if not waiting.ids:
            waiting.response.set_result(None)
            self._emit(RequestWithdrawn(waiting.request.ask.request_id))

    def release(self) -> None:
        """The turn is cancelled or over: whatever the agent waits for, or asks from now on, is cancelled."""
        self.can_be_heard = False
        for waiting in self._open.values():
            if not waiting.response.done():
                waiting.response.set_result(None)


def _with_shown(asked: wire.PermissionParams, shown_of: ShownOf) -> wire.PermissionParams:
    """With the diffs, and with the words of a plan, that the agent has shown before and does not repeat."""
    call = asked.tool_call
    given, shown = call.content or (), shown_of(call.tool_call_id)
    has_diff = any(part.type == "diff" for part in given)
    has_words = any(part.content is not None and part.content.text for part in given)
    diffs = () if has_diff else tuple(part for part in shown if part.type == "diff")
    words = () if has_words or call.kind != "switch_mode" else tuple(part for part in shown if part.type != "diff")
    content = (*given, *diffs, *words)
    return msgspec.structs.replace(asked, tool_call=msgspec.structs.replace(call, content=content))


def _id_of(params: Any) -> str:
    return str(params["_meta"][REQUEST_ID])


def _read_form(params: Any) -> AgentRequest | None:
    try:
        asked = msgspec.convert(params, wire.ElicitationParams, strict=False)
    except msgspec.ValidationError:
        return None
    return form_request(_id_of(params), asked) if asked.mode in {"", "form"} else None


def _is_refusal(outcome: dict[str, Any], options: tuple[wire.PermissionChoice, ...]) -> bool:
    chosen = outcome["outcome"].get("optionId")
    return not any(option.option_id == chosen and (option.kind or "").startswith("allow") for option in options)


def _is_same(one: AgentRequest, other: AgentRequest) -> bool:
    if one.call_id != other.call_id:
        return False
    return msgspec.structs.replace(one.ask, request_id="") == msgspec.structs.replace(other.ask, request_id="")
