"""The SDK's own client talks with the scripted ACP agent: both sides check what the other one sends.

The SDK takes a second to import, so the tests import it when they run, not when they are collected.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.scripted_acp.shim import write_shim

pytestmark = pytest.mark.anyio


class Person:
    """A client that allows everything once and answers every form with red."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.heard = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **_more: Any) -> None:
        self.updates.append(update)
        self.heard.set()

    async def request_permission(self, options: list[Any], **_more: Any) -> Any:
        from acp.schema import AllowedOutcome, RequestPermissionResponse

        option = next(option for option in options if option.kind == "allow_once")
        outcome = AllowedOutcome(outcome="selected", option_id=option.option_id)
        return RequestPermissionResponse(outcome=outcome)

    async def create_elicitation(self, **_more: Any) -> Any:
        from acp.schema import AcceptElicitationResponse

        return AcceptElicitationResponse(action="accept", content={"enum": "red"})

    def on_connect(self, conn: Any) -> None:
        pass

    def words(self) -> str:
        chunks = [update.content for update in self.updates if update.session_update == "agent_message_chunk"]
        self.updates.clear()
        return "".join(chunk.text for chunk in chunks if chunk.type == "text")


@asynccontextmanager
async def talking(shim: Path, person: Person) -> AsyncIterator[Any]:
    from acp import spawn_agent_process
    from acp.schema import ClientCapabilities

    settings = {"use_unstable_protocol": True, "env": dict(os.environ)}
    async with asyncio.timeout(60), spawn_agent_process(lambda _agent: person, str(shim), **settings) as (agent, _):
        await agent.initialize(protocol_version=1, client_capabilities=ClientCapabilities())
        yield agent


@pytest.mark.parametrize("bare", [False, True])
async def test_a_talk_with_permissions_forms_and_a_cancel(tmp_path: Path, bare: bool):
    from acp import RequestError, text_block

    person = Person()
    async with talking(write_shim(tmp_path, bare=bare, state=tmp_path / "state"), person) as agent:
        session = (await agent.new_session(cwd="/tmp", mcp_servers=[])).session_id

        async def say(words: str) -> str:
            response = await agent.prompt(session_id=session, prompt=[text_block(words)])
            return f"{response.stop_reason}: {person.words()}"

        assert await say("my name is Ada") == "end_turn: You said: my name is Ada"
        assert await say("think: hm\nask: rm a\nform: enum") == 'end_turn: Chose onceForm: accept {"enum": "red"}'
        assert await say("plan: a | b\ntitle: T\ncontext: 1 2\nmode: plan\nimage: 1\nstop: refusal") == "refusal: Done."
        with pytest.raises(RequestError, match="overloaded"):
            await say("error: -32603 overloaded")

        person.heard.clear()
        turn = asyncio.create_task(say("say: on\nhang"))
        await person.heard.wait()
        await agent.cancel(session_id=session)
        assert (await turn).startswith("cancelled: ")

        assert (await agent.list_sessions()).sessions[0].title == "T"
        await agent.set_session_mode(session_id=session, mode_id="default")
        await agent.load_session(cwd="/tmp", session_id=session, mcp_servers=[])
        assert "user_message_chunk" in [update.session_update for update in person.updates]
