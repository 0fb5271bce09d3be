"""A turn ends in exactly one outcome, whatever the agent does, and nothing of it is left running."""

import asyncio
import contextlib
import math

import pytest

from fairlead.core import engine
from fairlead.core import events as e
from fairlead.core import requests as ask
from fairlead.core.engine import (
    AgentInitiated,
    ImageProduced,
    Interrupt,
    PermissionRequested,
    Ready,
    RequestWithdrawn,
    ResumeKeyFound,
    TextDelta,
    ToolStarted,
    TurnEnded,
    TurnFailed,
    UsageReported,
)
from fairlead.core.inbound import Attachment
from fairlead.core.limits import Limits
from fairlead.core.live import AgentActed
from fairlead.errors import Code, error
from fairlead.flow.turns.turn import TurnSettings
from fairlead.testing.clock import run_virtually
from tests.flow.harness import Agent, flow_house, virtually

pytestmark = pytest.mark.req("E1")

SHORT = TurnSettings(time_limit_sec=900, interrupt_grace_sec=5)


def playing(*events, can=None) -> Agent:
    """An agent that does the same in every turn: exceptions are raised, numbers slept, callables called."""

    async def play(_invocation):
        for event in events:
            if isinstance(event, Exception):
                raise event
            if isinstance(event, int | float):
                await asyncio.sleep(event)
            else:
                yield event

    return Agent(play, **(can or {}))


@pytest.mark.req("A17")
@virtually
async def test_a_turn_that_takes_too_long_is_ended_with_its_code():
    agent = playing(ResumeKeyFound("k"), 10_000)
    async with flow_house(runtimes=[agent], settings=SHORT) as flow:
        job = await flow.answered("hello")
        assert (job.state, job.error_code) == ("failed", Code.E_CLI_TIMEOUT)
        assert "900 s" in (job.error_message or "")
        assert 900 <= asyncio.get_running_loop().time() < 910
        assert agent.open == 0


@virtually
async def test_an_agent_without_a_bound_may_take_all_day():
    async with flow_house(runtimes=[playing(80_000, TurnEnded("done"), can={"bounded_turns": False})]) as flow:
        receipt = await flow.say("hello")
        await flow.until(lambda: not flow.state.jobs[receipt.job_id].is_live, seconds=90_000)
        assert flow.state.jobs[receipt.job_id].state == "success"


@pytest.mark.req("A17")
@virtually
async def test_the_clock_stands_still_while_a_person_is_asked():
    async with flow_house(settings=TurnSettings(time_limit_sec=100), limits=Limits(question_timeout_sec=5000)) as flow:
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
        async with flow_house(runtimes=[agent]) as flow:
            jobs = [await flow.answered("hello", user=user) for user in ("a", "b", "a")]
            assert [(j.state, j.error_code) for j in jobs] == [("failed", code)] * 3
            assert agent.open == 0

    run_virtually(story())


@virtually
async def test_a_stream_that_ends_without_a_result_says_so():
    async with flow_house(runtimes=[playing(TextDelta("half"))]) as flow:
        assert (await flow.answered("hello")).error_code == Code.E_ADAPTER_MISSING_RESULT


@virtually
async def test_nothing_is_heard_after_the_end():
    agent = playing(TurnEnded("first"), TurnEnded("second"), RuntimeError("late"))
    async with flow_house(runtimes=[agent]) as flow:
        job = await flow.answered("hello")
        assert (job.state, job.result_excerpt) == ("success", "first")


@pytest.mark.req("A8", "A11")
@virtually
async def test_a_transient_failure_is_tried_once_more_by_itself_with_the_same_id():
    async with flow_house() as flow:
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
        async with flow_house() as flow:
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
    async with flow_house(runtimes=[patient]) as flow:
        assert (await flow.answered("hello")).state == "failed"
        assert [i.is_second_attempt for i in patient.invocations] == [False, True]
    strict = playing(failing)
    async with flow_house(runtimes=[strict]) as flow:
        assert (await flow.answered("hello")).state == "failed"
        assert len(strict.invocations) == 1


@virtually
async def test_a_transient_failure_while_a_question_is_open_keeps_its_own_code():
    asking = PermissionRequested(request_id="r1", tool="Bash", title="Run ls", detail="ls")
    agent = playing(asking, 5, TurnFailed(Code.E_AGENT_ERROR, "503", transient=True), can={"second_attempt": True})
    async with flow_house(runtimes=[agent]) as flow:
        job = await flow.answered("hello")
        assert (job.state, job.error_code) == ("failed", Code.E_AGENT_ERROR)
        assert len(agent.invocations) == 1
        assert [q.closed_reason for q in flow.state.questions.values()] == ["job_ended"]


@pytest.mark.req("A16")
@virtually
async def test_cancelling_asks_the_agent_first_and_takes_its_word():
    async with flow_house() as flow:
        receipt = await flow.say("/hang")
        await flow.until(lambda: len(flow.agents.invoked) == 1)
        reply = await flow.command(ask.Cancel())
        assert reply.stopping == (receipt.job_id,)
        began = asyncio.get_running_loop().time()
        assert (await flow.ended(receipt.job_id)).state == "cancelled"
        assert asyncio.get_running_loop().time() - began < 1


@pytest.mark.req("A16")
@virtually
async def test_an_agent_that_does_not_listen_is_ended_after_the_grace():
    agent = playing(10_000, can={"interrupt": True})
    async with flow_house(runtimes=[agent], settings=SHORT) as flow:
        receipt = await flow.say("hello")
        await flow.until(lambda: agent.open == 1)
        began = asyncio.get_running_loop().time()
        await flow.command(ask.Cancel())
        assert (await flow.ended(receipt.job_id)).state == "cancelled"
        assert 5 <= asyncio.get_running_loop().time() - began < 7
        assert agent.instructions == [Interrupt()]
        assert agent.open == 0


@pytest.mark.req("A16")
@virtually
async def test_a_turn_that_was_told_to_stop_makes_no_second_attempt():
    agent: Agent

    async def play(_invocation):
        await agent.heard.wait()
        yield TurnFailed(Code.E_AGENT_ERROR, "the line was cut", transient=True)

    agent = Agent(play, interrupt=True, second_attempt=True)
    async with flow_house(runtimes=[agent], settings=SHORT) as flow:
        receipt = await flow.say("hello")
        await flow.until(lambda: agent.open == 1)
        await flow.command(ask.Cancel())
        assert (await flow.ended(receipt.job_id)).state == "cancelled"
        assert len(agent.invocations) == 1


@pytest.mark.req("A16", "B10")
@virtually
async def test_a_turn_that_is_ending_of_a_crash_can_be_told_to_stop():
    """Its agent died of the answer it was told, and takes its time to go."""

    class Fragile(Agent):
        async def instruct(self, session_key, told):
            await super().instruct(session_key, told)
            raise BrokenPipeError("nobody there to be told")

    async def play(_invocation):
        try:
            yield PermissionRequested(request_id="r1", tool="Bash", title="Run ls", detail="ls")
            await asyncio.sleep(10_000)
        finally:
            await asyncio.sleep(20)

    agent = Fragile(play)
    async with flow_house(runtimes=[agent], settings=SHORT) as flow:
        receipt = await flow.say("hello")
        await flow.click(await flow.question())
        await agent.heard.wait()
        await asyncio.sleep(5)
        began = asyncio.get_running_loop().time()
        await flow.flow.scheduler.drain(1)
        assert asyncio.get_running_loop().time() - began < 20
        assert flow.state.jobs[receipt.job_id].error_code == Code.E_SHUTDOWN


@virtually
async def test_a_job_that_waits_for_a_person_can_be_cancelled():
    async with flow_house() as flow:
        receipt = await flow.say("/ask rm -rf build")
        question = await flow.question()
        await flow.command(ask.Cancel())
        assert (await flow.ended(receipt.job_id)).state == "cancelled"
        with pytest.raises(Exception, match="E_QUESTION_CLOSED"):
            await flow.click(question)
        assert (await flow.answered("next")).state == "success"


@pytest.mark.req("A9", "E2")
@virtually
async def test_a_resume_key_is_durable_before_the_turn_goes_on():
    reached = []

    async def play(invocation):
        yield ResumeKeyFound("key-1")
        reached.append(flow.facts(e.ResumeKeyLearnt))
        yield TurnEnded("done")

    async with flow_house(runtimes=[Agent(play)]) as flow:
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

    async with flow_house(runtimes=[Agent(play, gets_ready=True)]) as flow:
        flow.writer.held = True
        saying = asyncio.ensure_future(flow.say("hello"))
        await asyncio.sleep(60)
        assert reached == ["ready"]
        flow.writer.release()
        assert (await flow.ended((await saying).job_id)).state == "success"
        assert reached == ["ready", "begun"]


@pytest.mark.req("A7")
@virtually
async def test_an_agent_that_was_only_ready_is_cancelled_without_having_begun():
    reached = []

    async def play(_invocation):
        try:
            yield Ready()
            reached.append("begun")
        finally:
            reached.append("tidied up")
        yield TurnEnded("done")

    async with flow_house(runtimes=[Agent(play, gets_ready=True)]) as flow:
        flow.writer.held = True
        saying = asyncio.ensure_future(flow.say("hello"))
        while not flow.state.running:
            await asyncio.sleep(0.0005)
        cancelling = asyncio.ensure_future(flow.command(ask.Cancel()))
        await asyncio.sleep(60)
        flow.writer.release()
        assert (await flow.ended((await saying).job_id)).state == "cancelled"
        await cancelling
        assert reached == ["tidied up"]


class Deafened(Agent):
    async def instruct(self, session_key, told):
        raise ConnectionResetError("the agent went")


class Stuck(Agent):
    async def instruct(self, session_key, told):
        await asyncio.sleep(10_000)


@virtually
async def test_an_agent_that_takes_no_word_is_stopped_when_its_grace_is_over():
    async with flow_house(runtimes=[Stuck(playing(10_000)._play, interrupt=True)], settings=SHORT) as flow:
        receipt = await flow.say("hello")
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        await flow.command(ask.Cancel())
        assert (await flow.ended(receipt.job_id)).state == "cancelled"
        assert asyncio.get_running_loop().time() - began < SHORT.interrupt_grace_sec + 1


@virtually
async def test_a_stop_while_a_crashed_turn_is_still_tidying_up_is_taken():
    async def play(_invocation):
        try:
            yield PermissionRequested(request_id="r1", tool="Bash", title="ls")
            await asyncio.sleep(10_000)
        finally:
            await asyncio.sleep(30)

    async with flow_house(runtimes=[Deafened(play, permissions=True, interrupt=True)], settings=SHORT) as flow:
        receipt = await flow.say("hello")
        await flow.click(await flow.question())
        await asyncio.sleep(10)
        assert (await flow.command(ask.Cancel())).stopping == (receipt.job_id,)
        assert (await flow.ended(receipt.job_id)).state == "cancelled"
        await flow.quiet()


@pytest.mark.req("A5", "A9")
@virtually
async def test_every_session_resumes_its_own_talk_also_after_a_restart():
    async with flow_house() as flow:
        for user in ("a", "b", "a"):
            await flow.answered("hello", user=user)
        keys = [i.resume_key for i in flow.agents.invoked]
        assert keys[0] is None
        assert keys[1] is None
        disk, known = flow.disk, keys[2]
        assert known is not None
    async with flow_house(disk=disk) as flow:
        await flow.answered("hello", user="a")
        assert flow.agents.invoked[0].resume_key == known


@pytest.mark.req("A9")
@virtually
async def test_switching_the_project_and_back_resumes_both_talks():
    async with flow_house(projects=("/srv/api", "/srv/web")) as flow:
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

    async with flow_house(runtimes=[Agent(play)]) as flow:
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


@pytest.mark.req("E9")
@virtually
async def test_the_same_picture_by_several_ways_is_one_file():
    picture, other = ImageProduced("image/png", b"PNG1"), ImageProduced("image/jpeg", b"JPG2")
    async with flow_house(runtimes=[playing(picture, other, picture, TurnEnded("look"))]) as flow:
        job = await flow.answered("draw")
        assert [(f.name, f.media_type) for f in job.files] == [
            ("image-1.png", "image/png"),
            ("image-2.jpg", "image/jpeg"),
        ]
        assert await flow.blobs.get(job.files[0].blob) == b"PNG1"


@pytest.mark.req("A7")
@virtually
async def test_an_answer_too_long_for_a_line_is_a_blob_and_can_be_read_back():
    answer = "ü" * 200_000
    async with flow_house(runtimes=[playing(TurnEnded(answer))], channels=[]) as flow:
        job = await flow.answered("hello")
        assert job.answer_blob
        assert len(job.result_excerpt or "") == 400
        assert (await flow.view.job(job.job_id)).answer == answer
        [completed] = flow.facts(e.JobCompleted)
        assert completed.text == ""


@pytest.mark.req("A7", "A18")
@virtually
async def test_a_long_answer_on_a_full_disk_waits_for_room_and_is_not_lost():
    answer = "y" * 400_000
    agent = playing(5, TurnEnded(answer))
    async with flow_house(runtimes=[agent], channels=[]) as flow:
        receipt = await flow.say("hello")
        await flow.until(lambda: agent.open == 1)
        flow.disk.capacity = flow.disk.used_bytes + 1000
        await asyncio.sleep(100)
        assert flow.journal.is_stalled
        flow.disk.capacity = None
        assert (await flow.ended(receipt.job_id)).state == "success"
        assert (await flow.view.job(receipt.job_id)).answer == answer


@virtually
async def test_usage_is_added_up_and_what_is_no_number_cannot_spoil_the_journal():
    usage = [
        UsageReported(input_tokens=10, output_tokens=20, cached_tokens=5, cost_usd=0.5),
        UsageReported(input_tokens=1, output_tokens=2, cached_tokens=0, cost_usd=math.nan),
        UsageReported(input_tokens=0, output_tokens=0, cached_tokens=0, cost_usd=math.inf),
    ]
    async with flow_house(runtimes=[playing(*usage, TurnEnded("done"))]) as flow:
        job = await flow.answered("hello")
        assert job.cost_usd == 0.5
        await flow.quiet()
        disk = flow.disk
    async with flow_house(disk=disk) as flow:
        session = flow.state.sessions[job.session_key]
        assert (session.input_tokens, session.output_tokens, session.cost_usd) == (11, 22, 0.5)


@virtually
async def test_what_an_agent_is_given():
    async with flow_house() as flow:
        await flow.command(
            ask.ProjectCreate(
                name="second",
                path="/srv/second",
                tools=("echo",),
                default_tool="echo",
                args={"echo": ("--x", "a b")},
            )
        )
        seen = []

        async def play(invocation):
            seen.append(invocation)
            yield TurnEnded("ok")

        disk = flow.disk
    async with flow_house(disk=disk, runtimes=[Agent(play)]) as flow:
        job = await flow.answered("-rf /", project="second")
        [given] = seen
        assert given.prompt == "-rf /"
        assert given.args == ("--x", "a b")
        assert given.project_path == "/srv/second"
        assert given.workspace_path == "/state/workspaces/second"
        assert given.mark == f"abcd:{job.job_id}"
        assert given.attempt == 1


@pytest.mark.req("B11")
@virtually
async def test_a_project_that_is_gone_when_the_job_starts_fails_the_job_before_any_agent_is_asked():
    from tests.flow.harness import PretendedDirectories

    directories = PretendedDirectories()
    async with flow_house(directories=directories) as flow:
        directories.gone.add("/srv/api")
        job = await flow.answered("hello")
        assert (job.state, job.error_code) == ("failed", Code.E_INVALID_PATH)
        assert flow.agents.invoked == []


class DiscordAttachments:
    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault
        self.blobs = None

    async def fetch(self, job):
        if self.fault is not None:
            raise self.fault
        await asyncio.sleep(30)
        blob = await self.blobs.put(b"bytes")
        return tuple(
            Attachment(name=a.name, media_type=a.media_type, size=a.size, url=a.url, blob=blob) for a in job.attachments
        )


@virtually
async def test_attachments_are_fetched_before_the_start_and_a_slow_one_keeps_its_place():
    fetching = DiscordAttachments()
    async with flow_house(fetchers={"chat": fetching}) as flow:
        fetching.blobs = flow.blobs
        await flow.say(
            "look",
            attachments=(Attachment(name="a.png", media_type="image/png", size=5, url="http://127.0.0.1/a.png"),),
        )
        await flow.say("second")
        await flow.quiet()
        assert [i.prompt for i in flow.agents.invoked] == ["look", "second"]
        assert [len(f.attachments) for f in flow.facts(e.AttachmentsStored)] == [1]


@pytest.mark.req("A18")
@virtually
async def test_an_attachment_that_is_gone_fails_the_job_with_its_code():
    fetching = DiscordAttachments(error(Code.E_ATTACHMENT_GONE, "a.png is gone"))
    async with flow_house(fetchers={"chat": fetching}) as flow:
        job = await flow.answered("look", attachments=(Attachment(name="a.png", url="http://127.0.0.1/a.png"),))
        assert (job.state, job.error_code) == ("failed", Code.E_ATTACHMENT_GONE)


@virtually
async def test_progress_is_written_without_text_and_seldom():
    steps = [s for n in range(20) for s in (ToolStarted(str(n), "Bash", {"command": "secret"}), 10)]
    async with flow_house(runtimes=[playing(40, *steps, TurnEnded("ok"))]) as flow:
        await flow.answered("hello")
        progress = flow.facts(e.JobProgress)
        assert 5 <= len(progress) <= 8
        assert b"secret" not in flow.disk.read(flow.journal._path)


@virtually
async def test_deltas_reach_watchers_and_a_slow_one_gets_them_joined():
    deltas = [TextDelta(f"{n} ") for n in range(50)]
    async with flow_house(runtimes=[playing(*deltas, TurnEnded("ok"))]) as flow:
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


@pytest.mark.req("E1")
@virtually
async def test_what_an_agent_does_unasked_is_a_job_of_its_own():
    async with flow_house() as flow:
        first = await flow.answered("/unasked the build is green")
        await flow.until(lambda: len(flow.state.jobs) == 2)
        await flow.quiet()
        unasked = next(j for j in flow.state.jobs.values() if j.job_id != first.job_id)
        assert (unasked.state, unasked.cause) == ("success", "agent")
        assert unasked.result_excerpt == "the build is green"
        assert (await flow.answered("next")).result_excerpt != "the build is green"
        assert flow.texts(first.conversation)[1] == "the build is green"


@virtually
async def test_unasked_words_while_a_message_runs_never_become_its_answer():
    agent = playing(50, TurnEnded("the answer"), can={"unasked": True})
    async with flow_house(runtimes=[agent]) as flow:
        receipt = await flow.say("hello")
        await flow.until(lambda: agent.open == 1)
        for event in (TextDelta("by"), TurnEnded("by the way")):
            agent.spoken.put_nowait(AgentInitiated(receipt.session_key, 0, "t1", event))
        job = await flow.ended(receipt.job_id)
        assert job.result_excerpt == "the answer"
        others = [j.result_excerpt for j in flow.state.jobs.values() if j.cause == "agent"]
        assert others == ["by the way"]


@virtually
async def test_a_runtime_that_breaks_while_it_is_listened_to_is_listened_to_again():
    agent = playing(TurnEnded("ok"), can={"unasked": True})
    async with flow_house(runtimes=[agent]) as flow:
        receipt = await flow.say("hello")
        agent.spoken.put_nowait(RuntimeError("the pipe broke"))
        agent.spoken.put_nowait(AgentInitiated("agent:fairlead:user:nobody", 0, "t0", TurnEnded("to nobody")))
        agent.spoken.put_nowait(AgentInitiated(receipt.session_key, 0, "t1", TurnEnded("still here")))
        await flow.until(lambda: any(j.result_excerpt == "still here" for j in flow.state.jobs.values()))


@virtually
async def test_a_turn_that_the_agent_began_is_not_tried_again_because_nobody_could_repeat_it():
    agent = playing(TurnEnded("ok"), can={"unasked": True, "second_attempt": True})
    failing = TurnFailed(Code.E_AGENT_ERROR, "503", transient=True)
    async with flow_house(runtimes=[agent]) as flow:
        receipt = await flow.say("hello")
        agent.spoken.put_nowait(AgentInitiated(receipt.session_key, 0, "t1", failing))
        await flow.until(lambda: [j.state for j in flow.state.jobs.values() if j.cause == "agent"] == ["failed"])
        assert flow.facts(e.JobTriedAgain) == []


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

    async with flow_house(runtimes=[agent], settings=SHORT) as flow:
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
    async with flow_house(runtimes=[agent]) as flow:
        job = await flow.answered("hello")
        assert job.state == "success"
        [question] = flow.state.questions.values()
        assert (question.status, question.closed_reason) == ("closed", "withdrawn")
        assert [t.verdict for t in agent.instructions if isinstance(t, engine.Response)] == ["deny"]
