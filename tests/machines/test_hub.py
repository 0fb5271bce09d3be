"""Who may give orders, who is heard, and what people are told of a machine that is not there."""

import asyncio
from typing import Any

import msgspec
import pytest

from fairlead.core.agent_tools import ToolHolder
from fairlead.core.ids import SessionKeyText
from fairlead.core.machines.messages import AgentTurnBegun
from fairlead.errors import Code, FairleadError
from fairlead.machine_ports import DAEMON, Claim
from fairlead.ports import ToolReply
from tests.flow.harness import virtually
from tests.machines.harness import GPU, SESSION, Stage


async def until(condition: Any) -> None:
    while not condition():
        await asyncio.sleep(0.1)


@pytest.mark.req("H8")
@virtually
async def test_a_machine_that_went_away_is_shown_with_the_time_and_a_call_says_so():
    stage = Stage()
    async with stage.daemon() as hub, stage.runner():
        await stage.remote_echo(hub)
        assert hub.presence(GPU).is_there
        stage.server.cut(GPU)
        await until(lambda: not hub.presence(GPU).is_there)
        assert hub.presence(GPU).since
        with pytest.raises(FairleadError) as refused:
            await hub.find(GPU).call("check", object)
        assert refused.value.code is Code.E_MACHINE_AWAY
        stage.server.mend(GPU)
        await until(lambda: hub.presence(GPU).is_there)


@pytest.mark.req("H5")
@virtually
async def test_a_second_daemon_takes_the_orders_over_and_the_first_gives_none_any_more():
    stage = Stage()
    async with stage.runner():
        async with stage.daemon() as first:
            await stage.remote_echo(first)
            stage.records.met.clear()
            async with stage.daemon() as second:
                await stage.remote_echo(second)
                await until(lambda: first.problem is not None)
                assert first.problem is not None
                assert first.problem.code is Code.E_MACHINES_TAKEN
                assert second.is_usable(GPU)


@pytest.mark.req("H5")
@virtually
async def test_a_state_that_was_set_back_to_an_older_copy_gives_no_orders():
    stage = Stage()
    stage.server.write_claim(DAEMON, Claim(7, "of the daemon that this copy does not know"), 0)
    async with stage.daemon() as hub:
        await until(lambda: hub.problem is not None)
    assert hub.problem is not None
    assert hub.problem.code is Code.E_MACHINES_TAKEN
    claim = stage.server.read_claim(DAEMON)
    assert claim is not None
    assert claim.epoch == 7


@pytest.mark.req("H5", "H6")
@virtually
async def test_a_server_that_forgot_everything_gets_the_claims_again_and_epochs_go_on_rising():
    stage = Stage()
    async with stage.daemon() as hub, stage.runner() as runner:
        await stage.remote_echo(hub)
        stage.server.wipe()
        await until(lambda: stage.server.read_claim(GPU) is not None and stage.server.read_claim(DAEMON) is not None)
        claim = stage.server.read_claim(GPU)
        assert claim is not None
        assert claim.epoch == runner.epoch
    stage.server.wipe()
    stage.records.met.clear()
    async with stage.daemon() as hub, stage.runner() as later:
        await stage.remote_echo(hub)
        assert later.epoch > claim.epoch


@pytest.mark.req("H6")
@virtually
async def test_a_runner_of_another_version_is_given_no_orders_and_people_are_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fairlead.machines.remote_machine.PROTOCOL", 2)
    stage = Stage()
    async with stage.daemon() as hub, stage.runner():
        await stage.records.met.wait()
        await until(lambda: hub.presence(GPU).problem)
        assert not hub.is_usable(GPU)
        with pytest.raises(FairleadError) as refused:
            await hub.find(GPU).call("check", object)
        assert refused.value.code is Code.E_RUNNER_OLD


class Tools:
    """ports.ToolHandler that notes whom it served."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def tools_of(self, holder: ToolHolder) -> tuple[str, ...]:
        del holder
        return ()

    async def call(self, holder: ToolHolder, *, call_id: str, tool: str, arguments: dict[str, Any]) -> ToolReply:
        del arguments
        self.calls.append((call_id, f"{tool} in {holder.project_path}"))
        return ToolReply("done")


@pytest.mark.req("H7")
@virtually
async def test_a_machine_calls_no_tool_for_a_session_that_works_elsewhere():
    stage = Stage()
    tools = Tools()
    stage.records.elsewhere.add("another")
    async with stage.daemon(tools) as hub, stage.runner():
        await stage.remote_echo(hub)
        holder = ToolHolder(mark="m", project_path="/srv/trainer", session_key=SessionKeyText("another"))
        reply = await stage.tools.call(holder, call_id="c1", tool="send_message", arguments={"text": "hi"})
    assert not reply.ok
    assert tools.calls == []


@pytest.mark.req("H3", "H7")
@virtually
async def test_an_agents_call_of_fairleads_own_tools_is_carried_out_by_the_daemon_for_that_machine():
    stage = Stage()
    tools = Tools()
    holder = ToolHolder(mark="m", project_path="/srv/trainer")
    async with stage.daemon(tools) as hub, stage.runner():
        await stage.remote_echo(hub)
        reply = await stage.tools.call(holder, call_id="c1", tool="send_message", arguments={"text": "hi"})
    assert reply == ToolReply("done")
    assert tools.calls == [("c1", "send_message in gpu:/srv/trainer")]


@pytest.mark.req("H7")
@virtually
async def test_a_compromised_runner_speaks_for_no_session_of_another_machine():
    stage = Stage()
    tools = Tools()
    foreign = SessionKeyText("agent:fairlead:user:somebody")
    stage.records.elsewhere.add(foreign)
    async with stage.daemon(tools) as hub, stage.runner() as runner:
        await stage.remote_echo(hub)
        begun: list[AgentTurnBegun] = []
        hub.listen_to_agent(GPU, "echo", lambda machine, turn: begun.append(turn))
        for key in (foreign, SESSION):
            runner.tell(AgentTurnBegun(turn_id=f"{key}@1", agent="echo", session_key=key, generation=1, agent_turn="1"))
        holder = ToolHolder(mark="m", project_path="/srv/trainer", session_key=foreign)
        refused = await stage.tools.call(holder, call_id="c1", tool="send_message", arguments={"text": "hi"})
        own = msgspec.structs.replace(holder, session_key=SESSION)
        allowed = await stage.tools.call(own, call_id="c2", tool="send_message", arguments={"text": "hi"})
        await until(lambda: begun)
    assert (refused.ok, allowed.ok, [call_id for call_id, _ in tools.calls]) == (False, True, ["c2"])
    assert [turn.session_key for turn in begun] == [SESSION]


@pytest.mark.req("H3", "H6")
@virtually
async def test_a_call_that_no_daemon_heard_waits_for_the_next_one():
    stage = Stage()
    tools = Tools()
    holder = ToolHolder(mark="m", project_path="/srv/trainer")
    async with stage.runner():
        async with stage.daemon() as hub:
            await stage.remote_echo(hub)
        calling = asyncio.ensure_future(stage.tools.call(holder, call_id="c1", tool="set_title", arguments={}))
        await asyncio.sleep(60)
        assert not calling.done()
        async with stage.daemon(tools):
            assert await calling == ToolReply("done")
    assert [call_id for call_id, _ in tools.calls] == ["c1"]
