"""The commands about sessions: status, tool, list, open, reset."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from fairlead.core import replies as told
from fairlead.core import requests as ask
from fairlead.core.engine import EngineEvent, Invocation, TurnEnded, TurnFailed
from fairlead.errors import Code
from tests.flow.commands.harness import refused, two_tools
from tests.flow.harness import Agent, conversation_ref, run_flow, virtually

pytestmark = pytest.mark.req("A12")


@pytest.mark.req("A20")
@virtually
async def test_status_tells_every_field():
    async with run_flow() as flow:
        first = await flow.answered("hello\n/usage 10 20 0.5")
        await flow.quiet()
        status = await flow.command(ask.Status())
        session = flow.state.sessions[first.session_key]
        assert status == told.StatusReport(
            session_id="agent:fairlead:user:42",
            session_key="agent:fairlead:user:42",
            session_key_name="agent:fairlead:user:42",
            project="api",
            tool="echo",
            resume_key=session.resume_keys["echo /srv/api"],
            state="idle",
            pending=0,
            running_job_id=None,
            last_job=told.LastJob(first.job_id, "success", status.last_job.seconds, first.finished_at or ""),
            resume_ready=True,
            retry_job_id=None,
            can_ask=True,
            cost_usd=0.5,
            most_running=2,
        )
        failed = await flow.answered("/fail E_AGENT_ERROR")
        status = await flow.command(ask.Status())
        assert (status.state, status.retry_job_id) == ("failed", failed.job_id)
        running = await flow.say("/hang")
        await flow.until(lambda: len(flow.state.running) == 1)
        await flow.say("one more")
        status = await flow.command(ask.Status())
        assert (status.state, status.pending, status.running_job_id) == ("running", 1, running.job_id)


@virtually
async def test_the_tool_changes_from_the_next_job_on():
    async with run_flow(runtimes=two_tools()) as flow:
        running = await flow.say("/slow 30")
        await flow.until(lambda: len(flow.state.running) == 1)
        reply = await flow.command(ask.Tool("other"))
        assert reply == told.ToolSet("other", from_next_job=True)
        assert (await flow.answered("next")).runtime == "other"
        assert flow.state.jobs[running.job_id].runtime == "echo"
        assert await refused(flow.command(ask.Tool("vim"))) is Code.E_TOOL_NOT_ENABLED


@pytest.mark.req("A6")
@virtually
async def test_sessions_are_listed_by_activity_and_opened_where_they_are():
    async with run_flow() as flow:
        for number in range(25):
            await flow.answered("hello", user=f"u{number}")
            await asyncio.sleep(1)
        catalogue = await flow.command(ask.SessionList())
        assert [row.session_id.rpartition(":")[2] for row in catalogue.sessions] == [f"u{n}" for n in range(24, 4, -1)]
        found = await flow.command(ask.SessionOpen("agent:fairlead:user:u3"))
        assert found.session.conversation == conversation_ref("u3")
        assert (await flow.command(ask.SessionList("api"))).sessions
        await flow.command(ask.ProjectAdd("/srv/empty"))
        assert (await flow.command(ask.SessionList("empty"))).sessions == ()


class SlowToEnd(Agent):
    """Its process takes its time to end, and takes with it whatever turn it is in by then."""

    def __init__(self) -> None:
        super().__init__(self._say)
        self.is_ending, self.may_end = asyncio.Event(), asyncio.Event()
        self._turn: asyncio.Future[EngineEvent] | None = None

    async def _say(self, invocation: Invocation) -> AsyncIterator[EngineEvent]:
        self._turn = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(60, self._end, TurnEnded(invocation.prompt))
        yield await self._turn

    def _end(self, end: EngineEvent) -> None:
        if self._turn is not None and not self._turn.done():
            self._turn.set_result(end)

    async def end_session(self, session_key: str, how: str) -> None:
        self.is_ending.set()
        await self.may_end.wait()
        self._end(TurnFailed(Code.E_CLI_EXIT_NONZERO, "It was ended."))


@pytest.mark.req("C4")
@virtually
async def test_a_reset_ends_the_old_agent_before_a_turn_of_the_new_talk_begins():
    agent = SlowToEnd()
    async with run_flow(runtimes=[agent]) as flow:
        await flow.answered("old")
        reset = asyncio.ensure_future(flow.command(ask.Reset()))
        await agent.is_ending.wait()
        receipt = await flow.say("new")
        other = await flow.answered("meanwhile", user="43")
        assert other.state == "success", "other sessions do not wait"
        assert [i.prompt for i in agent.invocations] == ["old", "meanwhile"]
        agent.may_end.set()
        await reset
        assert (await flow.ended(receipt.job_id)).state == "success"


@pytest.mark.req("C4")
@virtually
async def test_a_reset_forgets_the_talk_and_keeps_the_history():
    async with run_flow() as flow:
        await flow.answered("hello")
        await flow.answered("hello")
        assert flow.agents.invoked[1].resume_key is not None
        await flow.command(ask.Reset())
        await flow.answered("hello")
        assert flow.agents.invoked[2].resume_key is None
        assert len(flow.view.history("agent:fairlead:user:42")) == 3
