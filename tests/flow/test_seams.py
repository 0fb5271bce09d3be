"""Where schedules, hooks, spawned sessions, budgets and the agents' own tools meet."""

from contextlib import aclosing

import pytest

from fairlead.core import requests as ask
from fairlead.core.agent_tools import ToolHolder
from fairlead.core.engine import AgentInitiated, TurnEnded
from fairlead.core.events import JobEnqueued
from fairlead.core.limits import Limits
from fairlead.core.live import QuestionOpened
from fairlead.core.visibility import may_see
from fairlead.errors import Code
from fairlead.testing.simulated_machine import SimulatedPullChannel
from tests.flow.commands.harness import refused
from tests.flow.harness import OWNER, conversation_ref, run_flow, virtually
from tests.flow.hooks.test_deliveries import add as add_hook
from tests.flow.hooks.test_deliveries import make_delivery
from tests.flow.schedules.test_ticking import add, at, wait_until
from tests.flow.spawns.harness import agent_spawns
from tests.flow.turns.harness import playing

pytestmark = pytest.mark.req("E10")

FRIEND = "7"
KEY = f"agent:fairlead:user:{OWNER}"


@virtually
async def test_a_schedule_that_a_spawned_agent_makes_runs_in_the_agents_own_session():
    async with run_flow() as flow:
        parent = await flow.answered("hello")
        child = await agent_spawns(flow, parent)
        await flow.quiet()
        await flow.flow.schedules.add_for_agent(child.session_key, when="2026-01-05T10:00:00Z", text="look again")
        await wait_until(flow, at("10:30"))
        await flow.quiet()
        [run] = [job for job in flow.facts(JobEnqueued) if job.cause == "schedule"]
        assert run.session_key == child.session_key


@virtually
async def test_a_spawned_session_stays_as_long_as_it_has_a_schedule():
    async with run_flow() as flow:
        child = await agent_spawns(flow, await flow.answered("hello"))
        await flow.command(add("0 8 * * *"))
        await flow.flow.schedules.add_for_agent(child.session_key, when="2026-01-25T10:00:00Z", text="look again")
        await wait_until(flow, at("10:30", "2026-01-25"))
        assert child.session_key in flow.state.spawns
        await wait_until(flow, at("10:30", "2026-02-15"))
        assert child.session_key not in flow.state.sessions


@virtually
async def test_an_agent_that_goes_on_by_itself_schedules_with_no_more_rights_than_its_person():
    agent = playing(TurnEnded("ok"), can={"agent_turns": True})
    async with run_flow(runtimes=[agent], limits=Limits(runtimes=("echo",), allowed_people=(FRIEND,))) as flow:
        first = await flow.answered("hello", user=FRIEND)
        agent.spoken.put_nowait(AgentInitiated(first.session_key, 0, "t1", TurnEnded("by the way")))
        await flow.until(lambda: any(j.cause == "agent" and not j.is_live for j in flow.state.jobs.values()))
        made = flow.flow.schedules.add_for_agent(first.session_key, when="2026-01-05T10:00:00Z", text="look")
        assert await refused(made) is Code.E_OWNER_ONLY


@virtually
async def test_what_an_agent_spawns_unasked_may_rely_on_no_rule():
    agent = playing(TurnEnded("ok"), can={"agent_turns": True})
    async with run_flow(runtimes=[agent]) as flow:
        first = await flow.answered("hello")
        agent.spoken.put_nowait(AgentInitiated(first.session_key, 0, "t1", TurnEnded("by the way")))
        await flow.until(lambda: any(j.cause == "agent" and not j.is_live for j in flow.state.jobs.values()))
        unasked = next(j for j in flow.state.jobs.values() if j.cause == "agent")
        await agent_spawns(flow, unasked)
        await flow.quiet()
        [task] = [job for job in flow.facts(JobEnqueued) if job.cause == "spawn"]
        assert (task.foreign, task.person) == (True, OWNER)


@virtually
async def test_a_question_of_a_schedules_own_session_is_seen_where_the_schedule_was_made():
    async with run_flow() as flow:
        await flow.answered("hello")
        await flow.command(add("2026-01-05 09:00", "/ask make test", session="own"))
        await wait_until(flow, at("09:01"))
        question_id = await flow.question()
        assert [q.question_id for q in flow.view.open_questions(session_key=KEY)] == [question_id]


@virtually
async def test_a_question_of_a_hooks_own_session_is_seen_where_the_hook_was_made():
    async with run_flow() as flow:
        await flow.answered("hello")
        await flow.gate.take_event(make_delivery(await add_hook(flow, template="/ask make test")))
        question_id = await flow.question()
        assert [q.question_id for q in flow.view.open_questions(session_key=KEY)] == [question_id]


@virtually
async def test_a_client_that_watches_where_a_hook_was_made_hears_of_its_question():
    async with run_flow() as flow:
        await flow.answered("hello")
        secret = await add_hook(flow, template="/ask make test")
        async with aclosing(flow.view.watch(session_key=KEY)) as watching:
            await flow.gate.take_event(make_delivery(secret))
            heard = await anext(event async for event in watching if isinstance(event, QuestionOpened))
        assert heard.session_key == "agent:fairlead:channel:hook:ci"


@virtually
async def test_the_agent_of_a_hook_spawns_without_a_thread():
    """The space of a hook is no channel's: a thread with its name would not be found again."""
    async with run_flow(limits=Limits(runtimes=("echo",), spawn_threads=True)) as flow:
        job = await flow.ended((await flow.gate.take_event(make_delivery(await add_hook(flow)))).job_id)
        assert (await agent_spawns(flow, job)).returns == "session"


@virtually
async def test_the_session_of_a_hook_is_as_private_as_the_place_where_it_was_made():
    async with run_flow(limits=Limits(allowed_people=(FRIEND,))) as flow:
        receipt = await flow.gate.take_event(make_delivery(await add_hook(flow)))
        job = await flow.ended(receipt.job_id)
        assert not may_see(flow.state, job.session_key, flow.caller(FRIEND, pre_authorised=False))
        assert may_see(flow.state, job.session_key, flow.caller(OWNER, pre_authorised=False))


@virtually
async def test_each_run_of_a_schedule_may_spawn_as_many_sessions_as_the_first():
    async with run_flow(limits=Limits(runtimes=("echo",), spawn_max_in_a_row=1)) as flow:
        await flow.command(add("0 * * * *", session="own"))
        for hour in ("09", "10"):
            await wait_until(flow, at(f"{hour}:01"))
            run = [job for job in flow.state.jobs.values() if job.cause == "schedule"][-1]
            await flow.ended(run.job_id)
            await agent_spawns(flow, run, asked_by=f"call-{hour}")


@virtually
async def test_each_event_of_a_hook_may_spawn_as_many_sessions_as_the_first():
    async with run_flow(limits=Limits(runtimes=("echo",), spawn_max_in_a_row=1)) as flow:
        secret = await add_hook(flow)
        for number in (1, 2):
            job = await flow.ended((await flow.gate.take_event(make_delivery(secret, number))).job_id)
            await agent_spawns(flow, job, asked_by=f"call-{number}")


@virtually
async def test_two_resets_leave_the_question_about_a_budget_open_for_the_others_who_wait():
    async with run_flow() as flow:
        await flow.command(ask.BudgetChange(project="api", usd="2"))
        await flow.answered("/usage 10 5 2.0")
        await flow.say("more")
        question_id = await flow.question()
        job_id = (await flow.say("mine", user=FRIEND)).job_id
        for _ in range(2):
            await flow.command(ask.Reset())
        await flow.click(question_id, message="go_on")
        assert (await flow.ended(job_id)).state == "success"


@virtually
async def test_cancel_reaches_the_job_of_a_hook_and_with_children_what_it_spawned():
    async with run_flow() as flow:
        secret = await add_hook(flow, template="/slow 900")
        job_id = (await flow.gate.take_event(make_delivery(secret))).job_id
        child = await agent_spawns(flow, flow.state.jobs[job_id], "/slow 900")
        assert (await flow.command(ask.Cancel())).stopping == (job_id,)
        assert (await flow.ended(job_id)).state == "cancelled"
        assert flow.state.jobs[child.job_id].is_live
        await flow.command(ask.Cancel(children=True))
        assert (await flow.ended(child.job_id)).state == "cancelled"


@virtually
async def test_cancel_by_name_reaches_a_spawned_job_that_is_shown_here_and_no_other():
    async with run_flow() as flow:
        child = await agent_spawns(flow, await flow.answered("hello"), "/slow 900")
        await flow.answered("hello", user=FRIEND)
        assert await refused(flow.command(ask.Cancel(child.job_id), user=FRIEND)) is Code.E_NOTHING_TO_CANCEL
        await flow.command(ask.Cancel(child.job_id))
        assert (await flow.ended(child.job_id)).state == "cancelled"


@virtually
async def test_why_a_schedule_did_not_run_is_fetched_where_answers_are_fetched():
    there = conversation_ref(OWNER, "pull")
    async with run_flow(channels=[SimulatedPullChannel()], projects=("/srv/api", "/srv/web")) as flow:
        await flow.command(add("2026-01-05 09:00", project="web"), at=there)
        await flow.command(ask.ProjectRemove("web"))
        await wait_until(flow, at("09:01"))
        [told] = flow.view.unfetched_messages(there)
        assert told.text.startswith("⏰ Schedule 1")
        await flow.gate.acknowledge_message(told.sent_id)
        assert flow.view.unfetched_messages(there) == []


@virtually
async def test_an_answer_after_the_project_was_renamed_runs_in_the_renamed_project():
    async with run_flow() as flow:
        await flow.answered("hello")
        holder = ToolHolder(mark="abcd:job", project_path="/srv/api", session_key=KEY, generation=0)
        await flow.flow.agent_calls.call(holder, call_id="c", tool="ask_user", arguments={"question": "Which?"})
        question_id = await flow.question()
        await flow.command(ask.ProjectRename("api", "new"))
        job = await flow.ended(await flow.click(question_id, message="blue"))
        assert (job.state, job.project) == ("success", "new")
