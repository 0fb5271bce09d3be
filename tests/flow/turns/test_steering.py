"""Texts for a turn that runs: taken there, or ordinary messages; never both, and never lost."""

import asyncio
from random import Random

import pytest

from fairlead.core import events as e
from fairlead.core.engine import HandingOver, ResumeKeyFound, Steer, SteerResult, TurnEnded, TurnFailed
from fairlead.core.inbound import Attachment
from fairlead.core.limits import Limits
from fairlead.core.live import JobMoved, SteeringTold
from fairlead.core.requests import Cancel, SteerTurn
from fairlead.core.views import JobView
from fairlead.errors import Code
from fairlead.testing.channel import ChannelHistory
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.runtime import AgentLog
from tests.flow.harness import OWNER, Agent, FlowHarness, conversation_ref, run_flow, virtually
from tests.flow.turns.harness import Rechecker, playing

pytestmark = pytest.mark.req("F6")

STEERS = {"steering": True}


async def running(flow: FlowHarness, text: str = "first\n/slow 10") -> str:
    job_id = (await flow.say(text)).job_id
    await flow.until(lambda: bool(flow.agents.invoked))
    return job_id


@virtually
async def test_a_text_with_the_sign_goes_into_the_running_turn_and_has_no_turn_of_its_own():
    async with run_flow() as flow:
        first = await running(flow)
        text = (await flow.say("!use make instead")).job_id
        steered = await flow.ended(text)
        answered = await flow.ended(first)
        assert (steered.state, steered.steered_into) == ("steered", first)
        assert "and then you said: use make instead" in answered.answer
        assert [invoked.job_id for invoked in flow.agents.invoked] == [first]
        account = flow.state.account
        assert (account.received, account.answered, account.steered) == (2, 1, 1)
        assert not flow.state.outbox.get(f"debt_{text}")
        kinds = (e.SteeringBegun, e.JobSteered, e.SteeringDeclined)
        assert [type(fact) for fact in flow.facts(*kinds)] == [e.SteeringBegun, e.JobSteered]


@virtually
async def test_without_the_sign_a_message_waits_as_ever():
    async with run_flow() as flow:
        first = await running(flow)
        second = (await flow.say("!!important is a word")).job_id
        picture = (await flow.say("![a picture](x.png)")).job_id
        assert [flow.state.jobs[job_id].prompt for job_id in (second, picture)] == [
            "!important is a word",
            "![a picture](x.png)",
        ]
        await flow.ended(picture)
        assert [invoked.job_id for invoked in flow.agents.invoked] == [first, second, picture]


@virtually
async def test_with_nothing_running_the_text_is_an_ordinary_message():
    async with run_flow() as flow:
        job = await flow.answered("!hello")
        assert job.state == "success"
        assert [invoked.prompt for invoked in flow.agents.invoked] == ["hello"]
        [declined] = flow.facts(e.SteeringDeclined)
        assert declined.reason == "no_turn"


@virtually
async def test_an_agent_that_cannot_take_it_leaves_it_in_its_queue_and_people_are_told():
    agent = playing(5, TurnEnded("done"))
    async with run_flow(runtimes=[agent]) as flow:
        watch = flow.view.watch()
        first = (await flow.say("one")).job_id
        await flow.until(lambda: flow.state.jobs[first].state == "running")
        text = (await flow.say("!two")).job_id
        assert (await flow.ended(text)).state == "success"
        told = [event for event in watch.take_waiting() if isinstance(event, SteeringTold)]
        assert [(event.job_id, event.reason) for event in told] == [(text, "unsupported")]
        assert [invocation.prompt for invocation in agent.invocations] == ["one", "two"]
        assert agent.steers == []


@virtually
async def test_a_text_that_comes_too_late_is_the_next_message_in_its_own_place():
    async with run_flow() as flow:
        await running(flow, "first\n/hang")
        before = (await flow.say("before")).job_id
        text = (await flow.say("!stop that")).job_id
        after = (await flow.say("after")).job_id
        await flow.until(lambda: flow.state.jobs[text].state == "steering")
        agent = flow.world.runtimes["echo"]
        await agent.end_session(flow.state.jobs[text].session_key, "stop")
        await flow.ended(after)
        [declined] = flow.facts(e.SteeringDeclined)
        assert (declined.job_id, declined.reason) == (text, "too_late")
        assert [invoked.job_id for invoked in flow.agents.invoked][1:] == [before, text, after]


@virtually
async def test_a_text_that_the_agent_refuses_waits_and_the_words_are_kept():
    async with run_flow() as flow:
        await running(flow, "first\n/alone 10")
        text = (await flow.say("!now")).job_id
        assert (await flow.ended(text)).state == "success"
        [declined] = flow.facts(e.SteeringDeclined)
        assert (declined.reason, declined.detail) == ("refused", "I am busy.")


@virtually
async def test_a_refused_text_that_a_person_gives_again_before_the_refusal_is_written_is_settled_each_time():
    async with run_flow() as flow:
        first = await running(flow, "first\n/alone 10")
        again: list[asyncio.Future[object]] = []

        def ask_again() -> None:
            refused = [job_id for job_id, job in flow.state.jobs.items() if job.steering_reason == "refused"]
            if refused and not again:
                again.append(asyncio.ensure_future(flow.command(SteerTurn(asked_by="900", job_id=refused[0]))))

        with flow.flow.ledger.call_on_change(ask_again):
            text = (await flow.say("!now")).job_id
            assert (await flow.ended(first)).state == "success"
            assert (await flow.ended(text)).state == "success"
        assert [declined.reason for declined in flow.facts(e.SteeringDeclined)] == ["refused", "refused"]
        assert flow.flow.ledger.state.steering == []


@virtually
async def test_the_same_message_delivered_twice_is_given_once():
    async with run_flow() as flow:
        first = await running(flow)
        receipts = await asyncio.gather(*(flow.say("!again", message_id="77") for _ in range(2)))
        assert len({receipt.job_id for receipt in receipts}) == 1
        answered = await flow.ended(first)
        assert answered.answer.count("and then you said") == 1


@virtually
async def test_nothing_leaves_before_it_is_written_down():
    given: list[bool] = []
    agent = Agent(playing(ResumeKeyFound("k"), 5, TurnEnded("done"))._play, **STEERS)

    async with run_flow(runtimes=[agent]) as flow:

        async def look(steer: Steer) -> SteerResult:
            given.append(any(fact.job_id == steer.job_id for fact in flow.facts(e.SteeringBegun)))
            return SteerResult("taken")

        agent.on_steer = look
        first = (await flow.say("one")).job_id
        await flow.until(lambda: bool(agent.invocations))
        await flow.say("!two")
        await flow.ended(first)
        assert given == [True]


@virtually
async def test_an_agent_that_has_no_prompt_yet_gets_the_text_after_it():
    agent = playing(5, HandingOver(), 5, TurnEnded("done"), can={"hand_over": "told", **STEERS})
    async with run_flow(runtimes=[agent]) as flow:
        first = (await flow.say("one")).job_id
        await flow.until(lambda: flow.state.jobs[first].state == "running")
        text = (await flow.say("!two")).job_id
        await asyncio.sleep(1)
        assert (flow.state.jobs[text].state, agent.steers) == ("queued", [])
        assert (await flow.ended(text)).state == "steered"
        assert [steer.text for steer in agent.steers] == ["two"]


@virtually
async def test_a_person_who_stops_the_turn_stops_what_is_on_its_way_into_it():
    async with run_flow() as flow:
        first = await running(flow, "first\n/hang")
        text = (await flow.say("!and this")).job_id
        await flow.until(lambda: flow.state.jobs[text].state == "steering")
        await flow.command(Cancel())
        assert [(await flow.ended(job_id)).state for job_id in (first, text)] == ["cancelled", "cancelled"]
        await flow.quiet()
        assert len(flow.agents.invoked) == 1


@virtually
async def test_a_text_of_which_nobody_knows_is_told_and_not_run():
    agent = playing(
        ResumeKeyFound("k"),
        5,
        TurnFailed(Code.E_CLI_EXIT_NONZERO, "gone", transient=True),
        can={"second_attempt": True, **STEERS},
    )

    async def lose(_steer: Steer) -> SteerResult:
        return SteerResult("unknown", "The agent ended before it said whether it took the text.")

    agent.on_steer = lose
    async with run_flow(runtimes=[agent]) as flow:
        first = (await flow.say("one")).job_id
        await flow.until(lambda: bool(agent.invocations))
        text = (await flow.say("!two")).job_id
        job = await flow.ended(text)
        assert (job.state, job.error_code) == ("failed", Code.E_STEER_UNKNOWN)
        await flow.ended(first)
        await flow.quiet()
        assert len(agent.invocations) == 1, "the turn may have had the text, so it is not asked a second time"
        assert any("whether it took your text" in text for text in flow.texts(conversation_ref(OWNER)))


@virtually
async def test_words_of_another_person_end_what_was_allowed_beforehand():
    agent = playing(ResumeKeyFound("k"), 5, TurnEnded("done"), can=STEERS)
    limits = Limits(allowed_people=(OWNER, "ben"))
    async with run_flow(runtimes=[agent], limits=limits) as flow:
        first = (await flow.say("one")).job_id
        await flow.until(lambda: bool(agent.invocations))
        session_key = flow.caller().session_key
        await flow.say("!two")
        await flow.until(lambda: len(agent.steers) == 1)
        assert (agent.steers[0].foreign, flow.state.jobs[first].foreign) == (False, False)
        inbound = flow.inbound("!three", user="ben", at=conversation_ref(OWNER), session_key=session_key)
        await flow.gate.submit(inbound)
        await flow.until(lambda: len(agent.steers) == 2)
        assert (agent.steers[1].foreign, flow.state.jobs[first].foreign) == (True, True)


@virtually
async def test_a_file_that_comes_with_a_text_is_given_with_it():
    agent = playing(ResumeKeyFound("k"), 5, TurnEnded("done"), can=STEERS)
    async with run_flow(runtimes=[agent]) as flow:
        blob = await flow.blobs.put(b"hello")
        first = (await flow.say("one")).job_id
        await flow.until(lambda: bool(agent.invocations))
        await flow.say("!", attachments=(Attachment(name="notes.txt", blob=blob),))
        await flow.ended(first)
        assert [[file.name for file in steer.files] for steer in agent.steers] == [["notes.txt"]]


@virtually
async def test_while_a_question_waits_the_text_is_given_and_the_question_stays_open():
    async with run_flow() as flow:
        first = (await flow.say("first\n/ask ls")).job_id
        question = await flow.question()
        text = (await flow.say("!look at the docs first")).job_id
        await flow.until(lambda: flow.state.jobs[text].state == "steering")
        assert flow.state.questions[question].status == "open"
        await flow.click(question)
        assert (await flow.ended(text)).state == "steered"
        assert "look at the docs first" in (await flow.ended(first)).answer


@virtually
async def test_watchers_hear_where_it_went():
    async with run_flow() as flow:
        first = await running(flow)
        watch = flow.view.watch()
        text = (await flow.say("!x")).job_id
        await flow.ended(first)
        await asyncio.sleep(1)
        moves = [event for event in watch.take_waiting() if isinstance(event, JobMoved) and event.job_id == text]
        assert [(move.state, move.steered_into) for move in moves] == [
            ("queued", ""),
            ("steering", first),
            ("steered", first),
        ]


@pytest.mark.parametrize("moment", ["queued", "steering", "steered"])
@virtually
async def test_after_a_crash_a_text_is_taken_or_told_about_and_never_run_again(moment: str):
    disk, agents, history = SimulatedDisk(), AgentLog(), ChannelHistory()
    async with run_flow(disk=disk, agents=agents, history=history) as flow:
        first = await running(flow, "first\n/slow 5\n/hang" if moment == "steered" else "first\n/hang")
        text = (await flow.say("!and this")).job_id
        if moment != "queued":
            await flow.until(lambda: flow.state.jobs[text].state == moment)
    agents.end_all()
    async with run_flow(disk=disk, agents=agents, history=history, life=1) as flow:
        await flow.quiet()
        states = [flow.state.jobs[job_id].state for job_id in (first, text)]
        runs = [invoked.job_id for invoked in agents.invoked]
    expected = {"queued": "success", "steering": "unknown_after_crash", "steered": "steered"}
    assert states[0] == "unknown_after_crash"
    assert states[1] in ({expected[moment], "unknown_after_crash"} if moment == "queued" else {expected[moment]})
    assert runs.count(text) == (1 if states[1] == "success" else 0)


@virtually
async def test_a_text_that_a_crash_left_in_its_queue_is_looked_at_once_more_before_a_turn_gets_it():
    told = {"hand_over": "told", **STEERS}
    slow = playing(100, HandingOver(), TurnEnded("done"), can=told)
    async with run_flow(runtimes=[slow]) as flow:
        await flow.say("first")
        text = (await flow.say("!old words")).job_id
        left = flow.disk.crash(Random(1), power_lost=True)  # the first one runs again by itself: it had no prompt

    async def edit(job: JobView) -> None:
        await asyncio.sleep(1)
        await flow.gate.amend(job.conversation, job.message_id, "new words")

    quick = playing(HandingOver(), 5, TurnEnded("done"), can=told)
    async with run_flow(disk=left, life=1, runtimes=[quick], recheckers={"chat": Rechecker(edit)}) as flow:
        assert (await flow.ended(text)).state == "steered"
        assert [steer.text for steer in quick.steers] == ["new words"]
