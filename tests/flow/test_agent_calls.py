"""The calls of agents through the whole flow: journalled, delivered through the outbox, bounded."""

from typing import Any

import pytest

from fairlead.core.agent_tools import TOOL_NAMES, ToolHolder
from fairlead.core.events import AgentToolCalled, DeliveryOwed, DeliveryPlanned, QuestionAsked
from fairlead.core.limits import Limits
from fairlead.core.requests import Reset
from fairlead.errors import Code, error
from fairlead.flow.agent_calls import ASKED, SPAWNED, AgentToolSettings, CallRate
from fairlead.flow.turns.turn import TurnSettings
from fairlead.ports import ProjectFile, ToolReply
from fairlead.testing.channel import ChannelHistory
from fairlead.testing.disk import SimulatedDisk
from tests.flow.harness import OWNER, FlowHarness, conversation_ref, run_flow, virtually

KEY = f"agent:fairlead:user:{OWNER}"
HOLDER = ToolHolder(mark="abcd:job", project_path="/srv/api", session_key=KEY, generation=0)


class PretendedFiles:
    def __init__(self, **files: bytes) -> None:
        self._files = files

    async def read(self, project_path: str, path: str, largest: int) -> ProjectFile:
        assert project_path == "/srv/api"
        if path not in self._files:
            raise error(Code.E_INVALID_PATH, f"{path} is not in the project, so it is not sent.")
        return ProjectFile(path, self._files[path][:largest])


class ReadingForbidden:
    def describe(self, workspace: str) -> str:
        return workspace

    def forbid(self, workspace: str, tool: str) -> bool:
        assert workspace == "api"
        return tool == "Read"


async def call(
    flow: FlowHarness, tool: str, *, call_id: str = "c1", holder: ToolHolder = HOLDER, **arguments: Any
) -> ToolReply:
    return await flow.flow.agent_calls.call(holder, call_id=call_id, tool=tool, arguments=arguments)


@pytest.mark.req("D4")
@virtually
async def test_a_message_and_a_picture_reach_the_conversation_once_and_in_order():
    async with run_flow(project_files=PretendedFiles(plot=b"png")) as flow:
        await flow.answered("hello")
        assert await call(flow, "send_message", text="half done") == ToolReply("Sent.")
        assert await call(flow, "send_message", text="half done") == ToolReply("Sent.")  # the same call, sent again
        assert await call(flow, "send_file", call_id="c2", path="plot", caption="see") == ToolReply("Sent.")
        await flow.quiet()
        assert flow.texts(conversation_ref(OWNER))[1:] == ["half done", "see"]
        [planned] = [fact for fact in flow.facts(DeliveryPlanned) if fact.entry_id == "debt_call_2"]
        assert [file.name for piece in planned.pieces for file in piece.files] == ["plot"]
        assert [fact.tool for fact in flow.facts(AgentToolCalled)] == ["send_message", "send_file"]


@pytest.mark.req("D4")
@virtually
async def test_a_question_is_answered_by_a_message_after_the_daemon_was_killed_in_between():
    disk, history = SimulatedDisk(), ChannelHistory()
    async with run_flow(disk=disk, history=history) as flow:
        await flow.answered("hello")
        reply = await call(flow, "ask_user", question="Which?", choices=["red", "blue"])
        assert reply == ToolReply(ASKED)
        question_id = await flow.question()
        assert not flow.state.running
    async with run_flow(disk=disk, history=history, life=1) as flow:
        await flow.quiet()
        asked = [post for post in history.posts if post.question_id == question_id]
        assert len(asked) == 1
        job_id = await flow.click(question_id, chosen={"Which?": "blue"})
        job = await flow.ended(job_id)
        assert (job.cause, job.state) == ("answer", "success")
        assert "blue" in history.posts[-1].text


@virtually
async def test_an_answer_of_one_session_never_names_another():
    """Whatever the arguments say: the capability alone names the session."""
    async with run_flow() as flow:
        await flow.answered("hello")
        await flow.answered("hello", user="7")
        refused = await call(flow, "send_message", text="hi", session_key="agent:fairlead:user:7")
        assert not refused.ok
        await call(flow, "send_message", text="for 42")
        await flow.quiet()
        assert "for 42" in flow.texts(conversation_ref(OWNER))
        assert "for 42" not in flow.texts(conversation_ref("7"))


@virtually
async def test_after_a_reset_the_old_agent_is_refused():
    async with run_flow() as flow:
        await flow.answered("hello")
        await flow.command(Reset())
        refused = await call(flow, "send_message", text="still here")
        assert not refused.ok
        assert refused.text.startswith("E_SESSION_STATE")
        assert not flow.facts(AgentToolCalled)


@pytest.mark.req("E3")
@virtually
async def test_a_tier_that_may_not_read_has_no_tool_that_sends_files():
    settings = TurnSettings(workspaces="/state/workspaces", tiers=ReadingForbidden())
    async with run_flow(project_files=PretendedFiles(secret=b"x"), settings=settings) as flow:
        await flow.answered("hello")
        assert "send_file" not in flow.flow.agent_calls.tools_of(HOLDER)
        assert "send_message" in flow.flow.agent_calls.tools_of(HOLDER)
        assert not (await call(flow, "send_file", path="secret")).ok


@virtually
async def test_tools_that_the_settings_turn_off_are_not_there():
    async with run_flow(agent_tools=AgentToolSettings(names=("set_title",))) as flow:
        await flow.answered("hello")
        assert flow.flow.agent_calls.tools_of(HOLDER) == ("set_title",)
        assert not (await call(flow, "send_message", text="hi")).ok
        assert (await call(flow, "set_title", title="A  name\nof two lines")).ok
        assert flow.state.sessions[KEY].title == "A name of two lines"


@virtually
async def test_a_thousand_calls_in_a_row_are_refused_politely_beyond_the_limit():
    async with run_flow(agent_tools=AgentToolSettings(calls_per_minute=5)) as flow:
        await flow.answered("hello")
        replies = [await call(flow, "send_message", call_id=str(n), text=f"{n}") for n in range(1000)]
        assert [reply.ok for reply in replies] == [True] * 5 + [False] * 995
        assert replies[-1].text.startswith("Too many calls: 5 a minute are allowed.")
        assert len(flow.facts(AgentToolCalled)) == 5


@virtually
async def test_wrong_arguments_are_explained():
    async with run_flow(project_files=PretendedFiles()) as flow:
        await flow.answered("hello")
        for tool, arguments in (
            ("send_message", {}),
            ("send_message", {"text": ""}),
            ("ask_user", {"question": "q", "choices": ["x" * 101]}),
            ("rm", {"path": "/"}),
        ):
            reply = await flow.flow.agent_calls.call(HOLDER, call_id="c", tool=tool, arguments=arguments)
            assert not reply.ok
        refused = await call(flow, "send_file", path="../secret")
        assert refused == ToolReply("E_INVALID_PATH: ../secret is not in the project, so it is not sent.", ok=False)
        assert not flow.facts(AgentToolCalled, QuestionAsked)


@virtually
async def test_while_the_channel_is_gone_a_question_stays_owed():
    disk, history = SimulatedDisk(), ChannelHistory()
    async with run_flow(disk=disk, history=history) as flow:
        await flow.answered("hello")
        await flow.quiet()
    async with run_flow(disk=disk, history=history, channels=[], life=1) as flow:
        assert (await call(flow, "ask_user", question="Anybody?")).ok
        [owed] = [fact for fact in flow.facts(DeliveryOwed) if fact.kind == "question"]
        assert owed.entry_id in flow.state.outbox
    async with run_flow(disk=disk, history=history, life=2) as flow:
        await flow.quiet()
        assert "Anybody?" in history.posts[-1].text


@virtually
async def test_an_agent_before_its_first_job_sees_the_tools_of_the_project_it_was_started_in():
    async with run_flow() as flow:
        unbound = ToolHolder(mark="abcd:x", project_path="/srv/api")
        assert set(flow.flow.agent_calls.tools_of(unbound)) >= set(TOOL_NAMES) - {"schedule"}
        elsewhere = ToolHolder(mark="abcd:x", project_path="/srv/none")
        assert "send_file" not in flow.flow.agent_calls.tools_of(elsewhere)
        assert not (await call(flow, "send_message", holder=unbound, text="hi")).ok


def test_the_rate_is_counted_for_each_session_within_any_minute():
    now = [0.0]
    rate = CallRate(2, lambda: now[0])
    assert [rate.seconds_until_free("a", str(n)) for n in range(3)] == [0.0, 0.0, 60.0]
    assert rate.seconds_until_free("a", "1") == 0.0  # a repetition
    assert rate.seconds_until_free("b", "x") == 0.0
    now[0] = 61.0
    assert rate.seconds_until_free("a", "9") == 0.0
    assert set(rate._calls) == {"a"}


@pytest.mark.req("D4")
@virtually
async def test_a_spawned_session_runs_its_task_once_and_its_result_comes_back_as_a_message():
    """With one slot: the parent holds none while the child works."""
    async with run_flow(limits=Limits(runtimes=("echo",), global_max_running=1)) as flow:
        await flow.answered("hello")
        for _ in range(2):  # the same call, sent again
            assert await call(flow, "spawn_session", task="count the files") == ToolReply(SPAWNED)
        await flow.until(lambda: any(job.cause == "child" for job in flow.state.jobs.values()))
        await flow.quiet()
        spawned = [s for s in flow.state.sessions.values() if s.parent_session_key == KEY]
        assert len(spawned) == 1
        [result] = [job for job in flow.state.jobs.values() if job.cause == "child"]
        assert (result.session_key, result.state) == (KEY, "success")
        assert [fact.tool for fact in flow.facts(AgentToolCalled)] == ["spawn_session"]


@virtually
async def test_an_agent_of_a_session_that_was_reset_starts_nobody():
    async with run_flow() as flow:
        await flow.answered("hello")
        await flow.command(Reset())
        assert not (await call(flow, "spawn_session", task="x")).ok
        assert len(flow.state.sessions) == 1


@pytest.mark.req("E3")
@virtually
async def test_no_argument_makes_a_child_in_another_project():
    async with run_flow(projects=("/srv/api", "/srv/web")) as flow:
        await flow.say("hello", project="api")
        await flow.quiet()
        assert not (await call(flow, "spawn_session", task="x", project="web")).ok


@pytest.mark.req("E10")
@virtually
async def test_a_schedule_is_made_once_for_the_callers_own_session():
    async with run_flow() as flow:
        await flow.answered("hello")
        assert "schedule" in flow.flow.agent_calls.tools_of(HOLDER)
        for _ in range(2):
            assert (await call(flow, "schedule", when="0 9 * * 1-5", text="look at the build")).ok
        [made] = flow.state.schedules.values()
        assert (made.terms.session_key, made.terms.timing.cron) == (KEY, "0 9 * * 1-5")
        assert [fact.tool for fact in flow.facts(AgentToolCalled)] == ["schedule"]


@pytest.mark.req("E10")
@virtually
async def test_a_schedule_that_was_refused_is_refused_again_when_the_call_is_repeated():
    async with run_flow() as flow:
        await flow.answered("hello")
        for _ in range(2):
            refused = await call(flow, "schedule", when="0 0 30 2 *", text="x")
            assert refused.text.startswith("E_SCHEDULE_TIME")
        assert not flow.facts(AgentToolCalled)
