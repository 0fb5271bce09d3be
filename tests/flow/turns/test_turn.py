"""A turn ends in exactly one outcome, whatever the agent does, and nothing of it is left running."""

import asyncio
import contextlib

import pytest

from fairlead.core import engine
from fairlead.core import events as e
from fairlead.core import requests as ask
from fairlead.core.engine import (
    HandingOver,
    PermissionRequested,
    Ready,
    RequestWithdrawn,
    ResumeKeyFound,
    TextDelta,
    ToolStarted,
    TurnEnded,
    TurnFailed,
)
from fairlead.core.limits import Limits
from fairlead.core.live import AgentActed
from fairlead.errors import Code, error
from fairlead.flow.turns.turn import TurnSettings
from fairlead.testing.clock import run_virtually
from tests.flow.harness import Agent, run_flow, virtually
from tests.flow.turns.harness import SHORT, playing

pytestmark = pytest.mark.req("E1")


@pytest.mark.req("A17")
@virtually
async def test_a_turn_that_takes_too_long_is_ended_with_its_code():
    agent = playing(ResumeKeyFound("k"), 10_000)
    async with run_flow(runtimes=[agent], settings=SHORT) as flow:
        job = await flow.answered("hello")
        assert (job.state, job.error_code) == ("failed", Code.E_CLI_TIMEOUT)
        assert "900 s" in (job.error_message or "")
        assert 900 <= asyncio.get_running_loop().time() < 910
        assert agent.open == 0


@virtually
async def test_an_agent_without_a_bound_may_take_all_day():
    async with run_flow(runtimes=[playing(80_000, TurnEnded("done"), can={"bounded_turns": False})]) as flow:
        receipt = await flow.say("hello")
        await flow.until(lambda: not flow.state.jobs[receipt.job_id].is_live, seconds=90_000)
        assert flow.state.jobs[receipt.job_id].state == "success"


@pytest.mark.req("A17")
@virtually
async def test_the_clock_stands_still_while_a_person_is_asked():
    async with run_flow(settings=TurnSettings(time_limit_sec=100), limits=Limits(question_timeout_sec=5000)) as flow:
        receipt = await flow.say("/slow 60\n/ask ls\n/slow 30")
        question = await flow.question()
        await asyncio.sleep(3000)
        await flow.click(question)
        assert (await flow.ended(receipt.job_id)).state == "success"
        late = await flow.say("/slow 60\n/ask ls\n/slow 50")
        await flow.click(await flow.question())
        assert (await flow.ended(late.job_id)).error_code == Code.E_CLI_TIMEOUT, "but it goes on after the answer"


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (RuntimeError("boom"), Code.E_INTERNAL),
        (error(Code.E_CLI_NOT_FOUND, "no claude"), Code.E_CLI_NOT_FOUND),
        (TimeoutError("its own"), Code.E_CLI_TIMEOUT),
        (ValueError("\udcff is no text"), Code.E_INTERNAL),
    ],
)
def test_a_runtime_that_raises_ends_its_own_job_and_nothing_else(fault: Exception, code: Code):
    async def story() -> None:
        agent = playing(TextDelta("some"), fault)
        async with run_flow(runtimes=[agent]) as flow:
            jobs = [await flow.answered("hello", user=user) for user in ("a", "b", "a")]
            assert [(j.state, j.error_code) for j in jobs] == [("failed", code)] * 3
            assert agent.open == 0

    run_virtually(story())


@virtually
async def test_a_stream_that_ends_without_a_result_says_so():
    async with run_flow(runtimes=[playing(TextDelta("half"))]) as flow:
        assert (await flow.answered("hello")).error_code == Code.E_ADAPTER_MISSING_RESULT


@virtually
async def test_nothing_is_heard_after_the_end():
    agent = playing(TurnEnded("first"), TurnEnded("second"), RuntimeError("late"))
    async with run_flow(runtimes=[agent]) as flow:
        job = await flow.answered("hello")
        assert (job.state, job.result_excerpt) == ("success", "first")


@pytest.mark.req("A8", "A11")
@virtually
async def test_a_transient_failure_is_tried_once_more_by_itself_with_the_same_id():
    async with run_flow() as flow:
        job = await flow.answered("/transient")
        assert job.state == "success"
        assert [i.job_id for i in flow.agents.invoked] == [job.job_id] * 2
        assert [f.job_id for f in flow.facts(e.JobTriedAgain)] == [job.job_id]
        assert flow.agents.violations == []


@pytest.mark.req("A11")
@pytest.mark.parametrize(
    "script",
    [
        "/tool Bash ls\n/transient",
        "/ask ls\n/transient",
        "/fail E_CLI_EXIT_NONZERO",
    ],
)
def test_no_second_attempt_once_the_agent_may_have_done_something(script: str):
    async def story() -> None:
        async with run_flow() as flow:
            receipt = await flow.say(script)
            if "/ask" in script:
                await flow.click(await flow.question())
            job = await flow.ended(receipt.job_id)
            assert (job.state, job.error_code) == ("failed", Code.E_CLI_EXIT_NONZERO)
            assert len(flow.agents.invoked) == 1

    run_virtually(story())


@pytest.mark.req("A11")
@virtually
async def test_a_second_transient_failure_is_final_and_a_runtime_may_forbid_even_the_first():
    failing = TurnFailed(Code.E_CLI_EXIT_NONZERO, "503", transient=True)
    patient = playing(failing, can={"second_attempt": True})
    async with run_flow(runtimes=[patient]) as flow:
        assert (await flow.answered("hello")).state == "failed"
        assert [i.is_second_attempt for i in patient.invocations] == [False, True]
    strict = playing(failing)
    async with run_flow(runtimes=[strict]) as flow:
        assert (await flow.answered("hello")).state == "failed"
        assert len(strict.invocations) == 1


@virtually
async def test_a_transient_failure_while_a_question_is_open_keeps_its_own_code():
    asking = PermissionRequested(request_id="r1", tool="Bash", title="Run ls", detail="ls")
    agent = playing(asking, 5, TurnFailed(Code.E_AGENT_ERROR, "503", transient=True), can={"second_attempt": True})
    async with run_flow(runtimes=[agent]) as flow:
        job = await flow.answered("hello")
        assert (job.state, job.error_code) == ("failed", Code.E_AGENT_ERROR)
        assert len(agent.invocations) == 1
        assert [q.closed_reason for q in flow.state.questions.values()] == ["job_ended"]


@pytest.mark.req("A9", "E2")
@virtually
async def test_a_resume_key_is_durable_before_the_turn_goes_on():
    reached = []

    async def play(invocation):
        yield ResumeKeyFound("key-1")
        reached.append(flow.facts(e.ResumeKeyLearnt))
        yield TurnEnded("done")

    async with run_flow(runtimes=[Agent(play)]) as flow:
        await flow.answered("hello")
        [[learnt]] = reached
        assert (learnt.key, learnt.runtime, learnt.project_path) == ("key-1", "echo", "/srv/api")


@pytest.mark.req("A7")
@virtually
async def test_an_agent_gets_ready_while_its_start_is_written_and_begins_only_then():
    reached = []

    async def play(_invocation):
        reached.append("ready")
        yield Ready()
        reached.append("begun")
        yield TurnEnded("done")

    async with run_flow(runtimes=[Agent(play, gets_ready=True)]) as flow:
        flow.writer.held = True
        saying = asyncio.ensure_future(flow.say("hello"))
        await asyncio.sleep(60)
        assert reached == ["ready"]
        flow.writer.release()
        assert (await flow.ended((await saying).job_id)).state == "success"
        assert reached == ["ready", "begun"]


@pytest.mark.req("A7", "A8")
@virtually
async def test_an_agent_boots_while_its_start_is_written_and_has_its_prompt_only_then():
    """A crash meanwhile leaves a process that was asked for nothing, which the next start sweeps."""
    reached = []

    async def play(_invocation):
        yield Ready()
        reached.append("booted")
        yield HandingOver()
        reached.append("asked")
        yield TurnEnded("done")

    async with run_flow(runtimes=[Agent(play, gets_ready=True, hand_over="told")]) as flow:
        flow.writer.held = True
        saying = asyncio.ensure_future(flow.say("hello"))
        await asyncio.sleep(60)
        assert reached == ["booted"]
        flow.writer.release()
        assert (await flow.ended((await saying).job_id)).state == "success"
        assert reached == ["booted", "asked"]


@pytest.mark.req("A5", "A9")
@virtually
async def test_every_session_resumes_its_own_talk_also_after_a_restart():
    async with run_flow() as flow:
        for user in ("a", "b", "a"):
            await flow.answered("hello", user=user)
        keys = [i.resume_key for i in flow.agents.invoked]
        assert keys[0] is None
        assert keys[1] is None
        disk, known = flow.disk, keys[2]
        assert known is not None
    async with run_flow(disk=disk) as flow:
        await flow.answered("hello", user="a")
        assert flow.agents.invoked[0].resume_key == known


@pytest.mark.req("A9")
@virtually
async def test_switching_the_project_and_back_resumes_both_talks():
    async with run_flow(projects=("/srv/api", "/srv/web")) as flow:
        for project in ("api", "web", "api", "web"):
            await flow.answered("hello", project=project)
        first, second, third, fourth = (i.resume_key for i in flow.agents.invoked)
        assert (first, second) == (None, None)
        assert len({third, fourth, None}) == 3


@pytest.mark.req("C4")
@virtually
async def test_after_a_reset_late_facts_of_the_old_talk_change_nothing():
    late = asyncio.Event()

    async def play(invocation):
        if invocation.prompt == "old":
            with contextlib.suppress(asyncio.CancelledError):
                await late.wait()
            yield ResumeKeyFound("old-key")
            yield TurnEnded("late answer")
        else:
            yield ResumeKeyFound("new-key")
            yield TurnEnded("fresh")

    async with run_flow(runtimes=[Agent(play)]) as flow:
        old = await flow.say("old")
        await flow.until(lambda: len(flow.state.running) == 1)
        queued = await flow.say("queued")
        reply = await flow.command(ask.Reset())
        assert set(reply.cancelled) == {old.job_id, queued.job_id}
        late.set()
        assert (await flow.ended(old.job_id)).state == "cancelled"
        assert flow.state.jobs[queued.job_id].state == "cancelled"
        session = flow.state.sessions[old.session_key]
        assert (session.generation, session.resume_keys) == (1, {})
        await flow.answered("new")
        assert session.resume_keys == {"echo /srv/api": "new-key"}
        assert flow.facts(e.ResumeKeyLearnt)[-1].generation == 1


@virtually
async def test_progress_is_written_without_text_and_seldom():
    steps = [s for n in range(20) for s in (ToolStarted(str(n), "Bash", {"command": "secret"}), 10)]
    async with run_flow(runtimes=[playing(40, *steps, TurnEnded("ok"))]) as flow:
        await flow.answered("hello")
        progress = flow.facts(e.JobProgress)
        assert 5 <= len(progress) <= 8
        assert b"secret" not in flow.disk.read(flow.journal._path)


@virtually
async def test_deltas_reach_watchers_and_a_slow_one_gets_them_joined():
    deltas = [TextDelta(f"{n} ") for n in range(50)]
    async with run_flow(runtimes=[playing(*deltas, TurnEnded("ok"))]) as flow:
        watch = flow.view.watch(session_key="agent:fairlead:user:42")
        await flow.answered("hello")
        await asyncio.sleep(1)
        words, pieces = "", 0
        while len(words) < sum(len(d.text) for d in deltas):
            event = await anext(aiter(watch))
            if isinstance(event, AgentActed) and isinstance(event.event, TextDelta):
                words, pieces = words + event.event.text, pieces + 1
        assert words == "".join(d.text for d in deltas)
        assert pieces < 5
        await watch.aclose()


@pytest.mark.req("B4", "B10")
@virtually
async def test_a_request_that_the_agent_takes_back_because_of_a_shutdown_can_be_answered_after_it():
    """As agents may: what it had asked falls with the turn that is interrupted."""
    agent = Agent(lambda _invocation: play(), interrupt=True)

    async def play():
        yield engine.QuestionRequested("r1", (engine.AskedItem("Which?", (engine.Option("red"),)),))
        await agent.heard.wait()
        yield RequestWithdrawn("r1")
        yield TurnFailed(Code.E_INTERNAL, "interrupted")

    async with run_flow(runtimes=[agent], settings=SHORT) as flow:
        receipt = await flow.say("hello")
        question = await flow.question()
        await flow.flow.scheduler.drain(1)
        assert flow.state.jobs[receipt.job_id].error_code == Code.E_SHUTDOWN
        assert flow.state.questions[question].status == "open"


@pytest.mark.req("B4")
@virtually
async def test_a_request_that_the_agent_takes_back_closes_its_question():
    asking = PermissionRequested(request_id="r1", tool="Bash", title="Run ls", detail="ls")
    agent = playing(asking, 30, RequestWithdrawn("r1"), 5, TurnEnded("never mind"))
    async with run_flow(runtimes=[agent]) as flow:
        job = await flow.answered("hello")
        assert job.state == "success"
        [question] = flow.state.questions.values()
        assert (question.status, question.closed_reason) == ("closed", "withdrawn")
        assert [t.verdict for t in agent.instructions if isinstance(t, engine.Response)] == ["deny"]
