"""The commands of every channel: what each answers, what each refuses, and with which code."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairlead.core import replies as told
from fairlead.core import requests as ask
from fairlead.core.command_spec import CommandSpec
from fairlead.core.engine import EngineEvent, Invocation, TurnEnded, TurnFailed
from fairlead.core.limits import Limits
from fairlead.errors import Code, FairleadError
from fairlead.flow.commands.handlers import BUILT_IN
from fairlead.render.errors import error_text
from fairlead.testing.clock import run_virtually
from fairlead.testing.runtime import AgentLog, ScriptedRuntime
from tests.flow.harness import OWNER, Agent, PretendedDirectories, flow_house, place, virtually

pytestmark = pytest.mark.req("A12")


async def refused(work) -> Code:
    with pytest.raises(FairleadError) as caught:
        await work
    assert error_text(caught.value).next_step, "every refusal says what to do next"
    return caught.value.code


def a_project(name: str, **different: Any) -> ask.ProjectCreate:
    usual: dict[str, Any] = {"path": "/srv/web", "tools": ("echo",), "default_tool": "echo"}
    return ask.ProjectCreate(name=name, **(usual | different))


def two_tools() -> list:
    return [ScriptedRuntime(AgentLog(), name=name) for name in ("echo", "other")]


@virtually
async def test_every_request_has_its_answer():
    async with flow_house() as flow:
        await flow.answered("hello")
        asked: list[ask.Request] = [
            a_project("web"),
            ask.ProjectAdd("/srv/more"),
            ask.ProjectList(),
            ask.ProjectStatus("api"),
            ask.ProjectSwitch("web"),
            ask.Status(),
            ask.Tool("echo"),
            ask.SessionList(),
            ask.SessionOpen("agent:fairlead:user:42"),
            ask.Why("job_20260105_0001"),
            ask.AgentStatus(),
            ask.AgentModel("echo-2"),
            ask.AgentMode("plan"),
            ask.AgentUsage(),
            ask.Reset(),
        ]
        for request in asked:
            assert isinstance(await flow.command(request), told.Reply), request
        refusing = {
            ask.Retry: ask.Retry("job_x"),
            ask.Cancel: ask.Cancel(),
            ask.AgentStop: ask.AgentStop(),
            ask.Start: ask.Start("1"),
        }
        for request in refusing.values():
            await refused(flow.command(request))


@virtually
async def test_a_command_that_nobody_handles_fails_at_the_start_and_not_in_front_of_a_person():
    class Unhandled(ask.Request, frozen=True):
        pass

    spec = CommandSpec(words="unhandled", request=Unhandled, reply=told.ModelSet)
    with pytest.raises(AssertionError, match="no handler for"):
        async with flow_house(commands=BUILT_IN.with_command(spec, lambda _parts: {})):
            pass


@virtually
async def test_a_command_for_the_owner_alone_is_refused_to_everybody_else():
    class Secret(ask.Request, frozen=True):
        pass

    async def tell(_request: Secret, _caller: ask.Caller) -> told.ModelSet:
        return told.ModelSet("told")

    spec = CommandSpec(words="secret", request=Secret, reply=told.ModelSet, who="the owner")
    commands = BUILT_IN.with_command(spec, lambda _parts: {Secret: tell})
    async with flow_house(commands=commands, limits=Limits(allowed_people=("43",))) as flow:
        for person in ("43", "666"):
            asked = flow.gate.command(Secret(), flow.caller(person, pre_authorised=False))
            assert await refused(asked) is Code.E_OWNER_ONLY
        assert await flow.gate.command(Secret(), flow.caller(OWNER, pre_authorised=False)) == told.ModelSet("told")


@virtually
async def test_a_project_is_created_with_its_tools_and_arguments():
    async with flow_house(runtimes=two_tools()) as flow:
        request = a_project("web-2", tools=("other", " echo", "other", ""), args={"echo": ("--model", "x y")})
        info = await flow.command(request)
        assert info == told.ProjectInfo(
            number=2,
            name="web-2",
            path="/srv/web",
            enabled_tools=("other", "echo"),
            default_tool="echo",
            created=True,
        )
        assert flow.state.projects["web-2"].default_args == {"echo": ("--model", "x y")}


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (a_project("Web"), Code.E_INVALID_NAME),
        (a_project(""), Code.E_INVALID_NAME),
        (a_project("x" * 41), Code.E_INVALID_NAME),
        (a_project("api"), Code.E_PROJECT_EXISTS),
        (a_project("web", path="/srv/gone"), Code.E_INVALID_PATH),
        (a_project("web", tools=()), Code.E_INVALID_TOOLSET),
        (a_project("web", tools=("vim",), default_tool="vim"), Code.E_INVALID_TOOLSET),
        (a_project("web", default_tool="claude"), Code.E_INVALID_TOOLSET),
        (a_project("web", args={"codex": ("-x",)}), Code.E_INVALID_ARGS),
        (ask.ProjectAdd("/srv/gone"), Code.E_INVALID_PATH),
        (ask.ProjectStatus("nope"), Code.E_PROJECT_NOT_FOUND),
        (ask.ProjectSwitch("nope"), Code.E_PROJECT_NOT_FOUND),
        (ask.SessionList("nope"), Code.E_PROJECT_NOT_FOUND),
        (ask.SessionOpen("nope"), Code.E_SESSION_NOT_FOUND),
        (ask.Status(), Code.E_NOT_IN_MANAGED_THREAD),
        (ask.Tool("echo"), Code.E_NOT_IN_MANAGED_THREAD),
        (ask.Reset(), Code.E_NOT_IN_MANAGED_THREAD),
        (ask.Cancel(), Code.E_NOT_IN_MANAGED_THREAD),
        (ask.Retry("nonsense"), Code.E_JOB_NOT_FOUND),
        (ask.Retry("job_20260105_9999"), Code.E_JOB_NOT_FOUND),
        (ask.Why("nothing of the kind"), Code.E_MESSAGE_NOT_FOUND),
        (ask.AgentStatus(), Code.E_NO_ACTIVE_SESSION),
        (ask.AgentStop(), Code.E_NO_ACTIVE_SESSION),
        (ask.AgentMode("x"), Code.E_NO_ACTIVE_SESSION),
        (ask.AgentModel("x"), Code.E_NO_ACTIVE_SESSION),
        (ask.AgentUsage(), Code.E_NO_ACTIVE_SESSION),
        (ask.Start("1", "api"), Code.E_NOT_IN_TEXT_CHANNEL),
    ],
)
@pytest.mark.req("A18")
def test_what_cannot_be_is_refused_with_its_code_and_changes_nothing(request_: ask.Request, code: Code):
    from fairlead.testing.clock import run_virtually

    async def story() -> None:
        directories = PretendedDirectories()
        directories.gone.add("/srv/gone")
        async with flow_house(directories=directories) as flow:
            before = flow.state.seq
            assert await refused(flow.command(request_)) is code
            assert flow.state.seq == before

    run_virtually(story())


@pytest.mark.req("A13")
@virtually
async def test_strangers_may_ask_nothing_at_all():
    async with flow_house(limits=Limits(allowed_people=("43",))) as flow:
        stranger = flow.caller("666", pre_authorised=False)
        for request in (ask.Status(), ask.ProjectList(), ask.Why("x"), ask.Reset(), ask.AgentStop(kill=True)):
            assert await refused(flow.gate.command(request, stranger)) is Code.E_OWNER_ONLY
        assert await flow.gate.command(ask.ProjectList(), flow.caller("43", pre_authorised=False))
        assert await flow.gate.command(ask.ProjectList(), flow.caller(OWNER, pre_authorised=False))


@pytest.mark.req("B2", "B15")
@virtually
async def test_projects_are_listed_with_numbers_and_the_active_one_is_marked():
    async with flow_house(projects=("/srv/api", "/srv/Web App", "/srv/other/api")) as flow:
        catalogue = await flow.command(ask.ProjectList())
        assert [(p.number, p.name) for p in catalogue.projects] == [(1, "api"), (2, "web-app"), (3, "api-2")]
        selected = await flow.command(ask.ProjectSwitch("2"))
        assert (selected.name, selected.path) == ("web-app", "/srv/Web App")
        catalogue = await flow.command(ask.ProjectList())
        assert [p.active for p in catalogue.projects] == [False, True, False]
        again = await flow.command(ask.ProjectAdd("/srv/api"))
        assert (again.name, again.created) == ("api", False)
        assert (await flow.answered("hello")).project == "web-app"


@virtually
async def test_project_status_counts_what_happens_in_it():
    async with flow_house() as flow:
        await flow.answered("/fail E_AGENT_ERROR", user="a")
        await flow.say("/hang", user="b")
        await flow.until(lambda: len(flow.state.running) == 1)
        await flow.say("waits", user="b")
        failed = next(j for j in flow.state.jobs.values() if j.state == "failed")
        report = await flow.command(ask.ProjectStatus("1"))
        assert report == told.ProjectReport(
            name="api",
            session_total=2,
            running_sessions=1,
            queued_jobs=1,
            failed_jobs_24h=1,
            last_error=f"E_AGENT_ERROR ({failed.job_id})",
        )
        await asyncio.sleep(25 * 3600)
        assert (await flow.command(ask.ProjectStatus("api"))).failed_jobs_24h <= 1


@pytest.mark.req("A20")
@virtually
async def test_status_tells_every_field():
    async with flow_house() as flow:
        first = await flow.answered("hello\n/usage 10 20 0.5")
        await flow.quiet()
        status = await flow.command(ask.Status())
        session = flow.state.sessions[first.session_key]
        assert status == told.StatusReport(
            session_id="agent:fairlead:user:42",
            session_key="agent:fairlead:user:42",
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
    async with flow_house(runtimes=two_tools()) as flow:
        running = await flow.say("/slow 30")
        await flow.until(lambda: len(flow.state.running) == 1)
        reply = await flow.command(ask.Tool("other"))
        assert reply == told.ToolSet("other", from_next_job=True)
        assert (await flow.answered("next")).runtime == "other"
        assert flow.state.jobs[running.job_id].runtime == "echo"
        assert await refused(flow.command(ask.Tool("vim"))) is Code.E_TOOL_NOT_ENABLED


@pytest.mark.req("A16")
@virtually
async def test_a_failed_job_is_tried_again_as_a_new_one_with_the_same_words():
    async with flow_house() as flow:
        failed = await flow.answered("/fail E_AGENT_ERROR\nthese very words")
        reply = await flow.command(ask.Retry(failed.job_id))
        assert (reply.attempt, reply.retry_of) == (2, failed.job_id)
        assert reply.job_id != failed.job_id
        again = await flow.ended(reply.job_id)
        assert again.cause == "retry"
        assert [i.prompt for i in flow.agents.invoked] == ["/fail E_AGENT_ERROR\nthese very words"] * 2
        assert await refused(flow.command(ask.Retry(failed.job_id))) is Code.E_JOB_NOT_RETRYABLE
        third = await flow.command(ask.Retry(reply.job_id))
        assert third.attempt == 3


@pytest.mark.req("A16")
@virtually
async def test_a_double_click_on_retry_is_one_new_job():
    async with flow_house() as flow:
        failed = await flow.answered("/fail E_AGENT_ERROR")
        clicks = [flow.command(ask.Retry(failed.job_id)) for _ in range(2)]
        first, second = await asyncio.gather(*clicks, return_exceptions=True)
        assert first.attempt == 2
        assert second.code is Code.E_JOB_NOT_RETRYABLE
        assert first.job_id in second.message
        await flow.ended(first.job_id)
        assert len(flow.agents.invoked) == 2


@pytest.mark.req("A16", "A18")
@virtually
async def test_only_what_failed_can_be_retried():
    async with flow_house() as flow:
        done = await flow.answered("hello")
        running = await flow.say("/hang")
        queued = await flow.say("waits")
        await flow.until(lambda: len(flow.state.running) == 1)
        for job_id in (done.job_id, running.job_id, queued.job_id):
            assert await refused(flow.command(ask.Retry(job_id))) is Code.E_JOB_NOT_RETRYABLE
        await flow.command(ask.Cancel())
        for job_id in (running.job_id, queued.job_id):
            assert (await flow.ended(job_id)).state == "cancelled"
            assert await refused(flow.command(ask.Retry(job_id))) is Code.E_JOB_NOT_RETRYABLE


@virtually
async def test_a_long_prompt_is_retried_whole():
    async with flow_house() as flow:
        failed = await flow.answered("/fail E_AGENT_ERROR\n" + "x" * 300_000)
        reply = await flow.command(ask.Retry(failed.job_id))
        await flow.ended(reply.job_id)
        first, second = (i.prompt for i in flow.agents.invoked)
        assert first == second


@virtually
async def test_cancel_takes_one_job_or_all():
    async with flow_house() as flow:
        running = await flow.say("/hang")
        await flow.until(lambda: len(flow.state.running) == 1)
        second, third = await flow.say("second"), await flow.say("third")
        reply = await flow.command(ask.Cancel(third.job_id))
        assert reply == told.JobsCancelled((), (third.job_id,))
        assert await refused(flow.command(ask.Cancel("job_20260105_7777"))) is Code.E_NOTHING_TO_CANCEL
        reply = await flow.command(ask.Cancel())
        assert reply == told.JobsCancelled((running.job_id,), (second.job_id,))
        await flow.quiet()
        assert await refused(flow.command(ask.Cancel())) is Code.E_NOTHING_TO_CANCEL


@pytest.mark.req("A6")
@virtually
async def test_sessions_are_listed_by_activity_and_opened_where_they_are():
    async with flow_house() as flow:
        for number in range(25):
            await flow.answered("hello", user=f"u{number}")
            await asyncio.sleep(1)
        catalogue = await flow.command(ask.SessionList())
        assert [row.session_id.rpartition(":")[2] for row in catalogue.sessions] == [f"u{n}" for n in range(24, 4, -1)]
        found = await flow.command(ask.SessionOpen("agent:fairlead:user:u3"))
        assert found.session.conversation == place("u3")
        assert (await flow.command(ask.SessionList("api"))).sessions
        await flow.command(ask.ProjectAdd("/srv/empty"))
        assert (await flow.command(ask.SessionList("empty"))).sessions == ()


@virtually
async def test_why_tells_the_story_of_a_job_and_of_a_message():
    async with flow_house() as flow:
        inbound = flow.inbound("/ask ls", message_id="700700")
        receipt = await flow.gate.submit(inbound)
        await flow.click(await flow.question())
        await flow.quiet()
        story = await flow.command(ask.Why(receipt.job_id))
        kinds = [step.type for step in story.steps]
        assert kinds[0] == "JobEnqueued"
        for kind in ("JobStarted", "QuestionAsked", "QuestionAnswered", "JobCompleted", "DeliveryPlanned"):
            assert kind in kinds
        assert kinds[-1] == "PieceDelivered"
        assert all(step.words for step in story.steps)
        assert [s.seq for s in story.steps] == sorted(s.seq for s in story.steps)
        by_message = await flow.command(ask.Why("700700"))
        assert by_message.steps == story.steps
        with pytest.raises(FairleadError):
            await flow.say(" ", message_id="800800")
        assert [s.type for s in (await flow.command(ask.Why("800800"))).steps] == ["MessageRefused"]


@pytest.mark.req("B1", "B5")
@virtually
async def test_agent_commands_act_on_the_session_here_or_on_the_last_one():
    async with flow_house() as flow:
        await flow.answered("hello\n/usage 10 20 0.5", at=place("dm"))
        report = await flow.command(ask.AgentStatus(), at=place("elsewhere"))
        assert (report.project, report.project_number, report.tool, report.model) == ("api", 1, "echo", "echo-1")
        assert (await flow.command(ask.AgentModel("echo-2"))).model == "echo-2"
        assert (await flow.command(ask.AgentStatus())).model == "echo-2"
        assert await refused(flow.command(ask.AgentModel("gpt-9"))) is Code.E_MODEL_UNAVAILABLE
        usage = await flow.command(ask.AgentUsage())
        assert (usage.input_tokens, usage.output_tokens, usage.cost_usd) == (10, 20, 0.5)
        assert await refused(flow.command(ask.AgentStop())) is Code.E_NO_ACTIVE_SESSION


@pytest.mark.req("E3")
@virtually
async def test_a_mode_is_the_owners_to_choose_and_the_runtimes_to_refuse():
    async with flow_house(limits=Limits(allowed_people=("43",))) as flow:
        await flow.answered("hello")
        assert flow.choices("mode", "pl") == ["plan"]
        assert (await flow.command(ask.AgentMode("plan"))).mode == "plan"
        assert (await flow.command(ask.AgentStatus())).mode == "plan"
        assert await refused(flow.command(ask.AgentMode("bypassPermissions"))) is Code.E_MODE_UNAVAILABLE
        by_a_guest = flow.gate.command(ask.AgentMode("default"), flow.caller("43", pre_authorised=False))
        assert await refused(by_a_guest) is Code.E_OWNER_ONLY
        assert (await flow.command(ask.AgentStatus())).mode == "plan"


@virtually
async def test_a_runtime_without_modes_says_so():
    async def play(_invocation: Invocation) -> AsyncIterator[EngineEvent]:
        yield TurnEnded("hi")

    agent = Agent(play)
    async with flow_house(runtimes=[agent]) as flow:
        await flow.answered("hello")
        assert await refused(flow.command(ask.AgentMode("plan"))) is Code.E_MODE_UNAVAILABLE
        assert agent.instructions == []


@pytest.mark.req("B5")
@pytest.mark.parametrize("kill", [False, True])
def test_stopping_an_agent_ends_its_job_as_cancelled_and_keeps_the_queue(kill: bool):
    from fairlead.testing.clock import run_virtually

    async def story() -> None:
        async with flow_house() as flow:
            running = await flow.say("/hang")
            queued = await flow.say("next")
            await flow.until(lambda: len(flow.state.running) == 1)
            reply = await flow.command(ask.AgentStop(kill=kill))
            assert reply.killed is kill
            assert (await flow.ended(running.job_id)).state == "cancelled"
            assert (await flow.ended(queued.job_id)).state == "success"

    run_virtually(story())


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
    async with flow_house(runtimes=[agent]) as flow:
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
    async with flow_house() as flow:
        await flow.answered("hello")
        await flow.answered("hello")
        assert flow.agents.invoked[1].resume_key is not None
        await flow.command(ask.Reset())
        await flow.answered("hello")
        assert flow.agents.invoked[2].resume_key is None
        assert len(flow.view.history("agent:fairlead:user:42")) == 3


@virtually
async def test_a_command_that_crashes_says_so_and_ends_nothing():
    class Broken(PretendedDirectories):
        def inspect(self, path):
            if path == "/srv/broken":
                raise RuntimeError("a bug")
            return super().inspect(path)

    async with flow_house(directories=Broken()) as flow:
        assert await refused(flow.command(ask.ProjectAdd("/srv/broken"))) is Code.E_INTERNAL
        assert (await flow.answered("hello")).state == "success"


@pytest.mark.req("A18")
@virtually
async def test_on_a_full_disk_cancel_stops_what_runs_and_says_that_a_queued_job_stays():
    async with flow_house() as flow:
        running = (await flow.say("/hang")).job_id
        queued = (await flow.say("two")).job_id
        flow.disk.capacity = flow.disk.used_bytes + 50
        caught_in_it = asyncio.ensure_future(flow.say("caught in it"))
        await asyncio.sleep(10)
        assert flow.journal.is_stalled
        async with asyncio.timeout(1):
            assert await refused(flow.command(ask.Cancel(queued))) is Code.E_DISK_FULL
            assert (await flow.command(ask.Cancel())) == told.JobsCancelled(stopping=(running,))
        assert flow.state.jobs[queued].state == "queued"
        flow.disk.capacity = None
        await caught_in_it
        assert (await flow.ended(running)).state == "cancelled"
        assert (await flow.ended(queued)).state == "success"


@pytest.mark.req("A13")
@pytest.mark.parametrize("subject", ["ChoiceMade", "QuestionAnswered", "allow", "my secret", "900900", OWNER])
def test_a_guest_learns_by_no_word_what_the_owner_said_alone_with_the_agent(subject: str):
    async def story() -> None:
        async with flow_house(limits=Limits(allowed_people=("43",))) as flow:
            await flow.say("/question Which? | red || Where? | here")
            question = await flow.question()
            await flow.click(question, chosen={"Which?": "my secret"}, partial=True)
            await flow.click(question, chosen={"Where?": "there"}, partial=True)
            with pytest.raises(FairleadError) as empty:
                await flow.say("", message_id="900900")
            guest = flow.caller("43", pre_authorised=False)
            with pytest.raises(FairleadError) as told:
                await flow.gate.command(ask.Why(subject), guest)
            assert (empty.value.code, told.value.code) == (Code.E_EMPTY_MESSAGE, Code.E_MESSAGE_NOT_FOUND)

    run_virtually(story())
