"""Whatever an agent prints, no exception leaves the way from its line to the events, and the connection stays."""

import asyncio
import json
import logging
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.core.engine import EngineEvent, PermissionRequested, PlanProposed, QuestionRequested
from fairlead.kit.processes import OwnedProcess
from fairlead.runtimes.acp import wire
from fairlead.runtimes.acp.asks import Asks
from fairlead.runtimes.acp.connection import AcpConnection
from fairlead.runtimes.acp.tier import Tier
from fairlead.runtimes.acp.translate import UpdateTranslator
from fairlead.runtimes.acp.transport import AgentTransport
from fairlead.runtimes.acp.turn_ends import AgentRefused
from tests.runtimes.acp.harness import FakePipes, Heard, allow
from tests.runtimes.acp.recordings import said_lines
from tests.runtimes.test_translator import json_values, mutations_of
from tests.support.scripted_acp.permissions import OPTION_SETS
from tests.support.scripted_acp.questions import CLAUDE, PROPERTIES
from tests.support.scripted_acp.updates import UNKNOWN_UPDATES

pytestmark = pytest.mark.req("B4", "B8")


def notice(update: dict[str, Any]) -> bytes:
    return json.dumps({"method": "session/update", "params": {"sessionId": "s", "update": update}}).encode()


def request(method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 5, "method": method, "params": params}).encode()


def written_lines() -> list[bytes]:
    """Kinds of lines that no recording has: plans, every set of options, every kind of form."""
    entries = [{"content": "a", "priority": "high", "status": "pending"}]
    plans = [
        {"sessionUpdate": "plan", "entries": entries},
        {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p", "entries": entries}},
        {"sessionUpdate": "plan_removed", "planId": "p"},
    ]
    options = [
        [{"optionId": option, "name": name, "kind": kind} for option, name, kind in choices]
        for choices in OPTION_SETS.values()
    ]
    call = {"toolCallId": "t", "kind": "execute", "title": "ls", "rawInput": {"command": ["ls", "-l"]}}
    plan = {"toolCallId": "t", "kind": "switch_mode", "title": "Go?", "content": [_shown("the plan")]}
    forms = [{"properties": {name: schema}} for name, schema in PROPERTIES.items()]
    return [
        *(notice(update) for update in (*plans, *UNKNOWN_UPDATES)),
        *(request("session/request_permission", {"toolCall": call, "options": one}) for one in options),
        *(request("session/request_permission", {"toolCall": plan, "options": one}) for one in options),
        *(
            request("elicitation/create", {"mode": "form", "message": "?", "requestedSchema": form})
            for form in (*forms, {"properties": CLAUDE})
        ),
        b'{"method": "$/cancel_request", "params": {"requestId": 5}}',
    ]


def _shown(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


LINES = [*said_lines(), *written_lines()]
anything = st.lists(mutations_of(LINES) | st.binary(max_size=40), max_size=12)


class Listener(Heard):
    """Translates updates as a turn does."""

    def __init__(self, events: list[EngineEvent]) -> None:
        super().__init__()
        self._events = events
        self._translator = UpdateTranslator()

    def hear_update(self, update: wire.Update, session_id: str) -> None:
        super().hear_update(update, session_id)
        self._events += self._translator.translate(update)


class Agent:
    """The whole way of a line but for the process; every question is answered at once."""

    def __init__(self) -> None:
        self.events: list[EngineEvent] = []
        self.pipes = FakePipes()
        self.asks = Asks(self._emit, lambda: None)
        self.asks.begin_turn(Tier(), ())
        transport = AgentTransport(cast("OwnedProcess", self.pipes), Listener(self.events))
        self.connection = AcpConnection(transport, on_permission=self.asks.ask_permission, on_form=self.asks.ask_form)

    def _emit(self, event: EngineEvent) -> None:
        self.events.append(event)
        if isinstance(event, PermissionRequested | QuestionRequested | PlanProposed):
            asyncio.get_running_loop().call_soon(self.asks.respond, allow(event, message="5"))


async def is_alive_after(lines: list[bytes]) -> list[EngineEvent]:
    agent = Agent()
    first = asyncio.ensure_future(agent.connection.initialize())
    await agent.pipes.until_written(lambda message: message["method"] == "initialize")
    for line in lines:
        agent.pipes.print(line)
    opening = asyncio.ensure_future(agent.connection.new_session("/"))
    asked = await agent.pipes.until_written(lambda message: message.get("method") == "session/new")
    agent.pipes.print({"id": asked["id"], "result": {"sessionId": "alive"}})
    async with asyncio.timeout(20):
        assert (await opening).session_id == "alive"
    agent.asks.release()
    await agent.connection.close()
    [said] = await asyncio.gather(first, return_exceptions=True)
    assert isinstance(said, wire.Initialized | AgentRefused | ConnectionError), said
    return agent.events


class Faults(logging.Handler):
    """The SDK logs what it swallows."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@given(lines=anything)
@settings(max_examples=400, deadline=None)
def test_any_lines_leave_the_connection_as_it_is(lines: list[bytes]):
    faults = Faults()
    logging.getLogger().addHandler(faults)
    try:
        events = asyncio.run(is_alive_after(lines))
    finally:
        logging.getLogger().removeHandler(faults)
    assert [record.getMessage() + str(record.exc_info) for record in faults.records] == []
    for event in events:
        msgspec.json.encode(event)


@given(result=json_values | mutations_of(LINES))
@settings(max_examples=150, deadline=None)
def test_any_response_is_read_or_refused(result: Any):
    async def story() -> None:
        agent = Agent()
        for method, ask in (
            ("initialize", agent.connection.initialize),
            ("session/new", lambda: agent.connection.new_session("/")),
            ("session/prompt", lambda: agent.connection.prompt("s", [])),
            ("session/set_config_option", lambda: agent.connection.set_option("s", "a", "b")),
        ):
            asking = asyncio.ensure_future(ask())
            asked = await agent.pipes.until_written(lambda message, method=method: message.get("method") == method)
            line = json.dumps({"id": asked["id"], "result": 0}).encode()
            body = result if isinstance(result, bytes) else json.dumps(result).encode()
            agent.pipes.print(line.replace(b": 0}", b": " + body + b"}"))
            agent.pipes.print({"id": asked["id"], "error": {"code": -1, "message": "the line before was broken"}})
            async with asyncio.timeout(20):
                [said] = await asyncio.gather(asking, return_exceptions=True)
            assert isinstance(said, msgspec.Struct | AgentRefused), said
        await agent.connection.close()

    asyncio.run(story())
