"""A session of its own for a task: with a thread, and without. Who asked gets the completion, or the link, once."""

import pytest

from fairlead.core import events as e
from fairlead.core import requests as ask
from fairlead.core.replies import SessionCatalogue
from fairlead.errors import Code, FairleadError
from fairlead.ports import DeliveryImpossible
from fairlead.testing.channel import ChannelHistory, RecordingChannel
from tests.flow.commands.harness import refused
from tests.flow.harness import OWNER, conversation_ref, run_flow, virtually
from tests.flow.spawns.harness import (
    IN_THREAD,
    IN_TOWN,
    THREAD,
    TOWN,
    agent_spawns,
    caller,
    follow_ups,
    limits,
    say_in_thread,
    spawn,
    thread_at,
    with_threads,
)

pytestmark = pytest.mark.req("D4")


# --- without a thread -------------------------------------------------------------------------------------------------


@virtually
async def test_without_threads_the_completion_returns_to_the_person_who_asked():
    async with run_flow(limits=limits()) as flow:
        await say_in_thread(flow, "hello")
        done = await spawn(flow, "count the files")
        await flow.quiet()
        session = flow.state.sessions[done.session_key]
        assert (done.returns, session.parent_session_key) == ("person", IN_THREAD.text)
        head, answer = flow.texts(THREAD)[-1].split("\n", 1)
        assert done.session_id in head
        assert "count the files" in answer
        assert (flow.texts(TOWN), flow.history.threads, follow_ups(flow)) == ([], {}, [])


@pytest.mark.req("D2", "D3")
@virtually
async def test_that_way_is_the_routers_fallback_and_the_journal_says_so():
    async with run_flow(limits=limits()) as flow:
        await say_in_thread(flow, "hello")
        done = await spawn(flow)
        await flow.quiet()
        [plan] = [p for p in flow.facts(e.DeliveryPlanned) if p.entry_id == f"debt_{done.job_id}"]
        assert (plan.route, plan.destination) == ("fallback", THREAD)


@virtually
async def test_the_same_request_is_carried_out_once():
    async with run_flow(limits=limits()) as flow:
        first = await spawn(flow, asked_by="900")
        assert await spawn(flow, asked_by="900") == first
        await flow.quiet()
        assert len(flow.facts(e.SessionSpawned)) == len(flow.facts(e.JobEnqueued)) == 1


@virtually
async def test_a_conversation_without_a_session_can_ask_too():
    async with run_flow(limits=limits()) as flow:
        done = await spawn(flow, at=TOWN)
        await flow.quiet()
        assert flow.state.spawns[done.session_key].parent_session_key == IN_TOWN.text
        assert "count the files" in flow.texts(TOWN)[-1]


@virtually
async def test_project_and_agent_are_those_of_the_asker_unless_others_are_named():
    async with run_flow(limits=limits(), projects=("/srv/api", "/srv/web")) as flow:
        await say_in_thread(flow, "hello", project="web")
        assert (await spawn(flow, asked_by="1")).project == "web"
        assert (await spawn(flow, asked_by="2", project="api")).project == "api"
        assert await refused(spawn(flow, asked_by="3", agent="nobody")) is Code.E_TOOL_NOT_ENABLED
        assert await refused(spawn(flow, asked_by="4", project="nowhere")) is Code.E_PROJECT_NOT_FOUND


@virtually
async def test_a_task_without_words_or_with_too_many_is_refused():
    async with run_flow(limits=limits()) as flow:
        assert await refused(spawn(flow, "  ")) is Code.E_EMPTY_MESSAGE
        assert await refused(spawn(flow, "x" * 70_000)) is Code.E_MESSAGE_TOO_LARGE
        assert flow.state.sessions == {}


@virtually
async def test_a_question_of_the_task_is_asked_where_the_task_was_asked_for():
    async with run_flow(limits=limits()) as flow:
        await say_in_thread(flow, "hello")
        done = await spawn(flow, "go\n/ask rm -rf build")
        question_id = await flow.question()
        await flow.until(lambda: any(p.question_id == question_id for p in flow.posts(THREAD)))
        assert [q.question_id for q in flow.view.open_questions(session_key=IN_THREAD.text)] == [question_id]
        await flow.click(question_id)
        assert (await flow.ended(done.job_id)).state == "success"


# --- with a thread ----------------------------------------------------------------------------------------------------


@pytest.mark.req("D2", "D3", "D6")
@virtually
async def test_with_threads_the_completion_goes_to_the_thread_and_only_there():
    async with run_flow(limits=with_threads()) as flow:
        await say_in_thread(flow, "hello")
        await flow.quiet()
        before = len(flow.posts(THREAD))
        done = await spawn(flow, "count the files")
        await flow.quiet()
        [opening] = flow.posts(TOWN)
        assert (done.returns, done.session_id) == ("thread", opening.message_id)
        assert "count the files" in opening.text
        assert [text for text in flow.texts(thread_at(done.session_id)) if "count the files" in text]
        assert flow.texts(THREAD)[before:] == [f"↳ Spawned: {done.session_id}"]
        assert (len(flow.posts(TOWN)), follow_ups(flow)) == (1, [])


@virtually
async def test_a_channel_in_which_the_thread_grows_needs_no_link_besides():
    async with run_flow(limits=with_threads()) as flow:
        done = await spawn(flow, at=TOWN)
        await flow.quiet()
        assert [post.message_id for post in flow.posts(TOWN)] == [done.session_id]


@virtually
async def test_the_thread_is_a_session_that_people_talk_to():
    async with run_flow(limits=with_threads()) as flow:
        done = await spawn(flow)
        await flow.quiet()
        there = thread_at(done.session_id)
        job = await flow.ended((await flow.say("and the folders?", at=there)).job_id)
        assert job.session_key == done.session_key
        binding = next(b for b in flow.state.bindings.values() if b.conversation == there)
        assert (binding.target_kind, binding.expires_at) == ("subagent", None)


@virtually
async def test_where_a_channel_has_no_threads_the_completion_returns_to_the_asker():
    async with run_flow(limits=with_threads()) as flow:
        done = await flow.command(ask.Spawn(asked_by="1", task="count"))
        await flow.quiet()
        assert done.returns == "person"
        assert "count" in flow.texts(conversation_ref(OWNER))[-1]


class NoThreads(RecordingChannel):
    async def send(self, outgoing):
        if outgoing.thread_name:
            raise DeliveryImpossible(Code.E_THREAD_ACCESS_FAILED, "nobody may make threads here")
        return await super().send(outgoing)


@pytest.mark.req("D3")
@virtually
async def test_a_thread_that_cannot_be_made_leaves_no_session_and_both_are_told():
    history = ChannelHistory()
    async with run_flow(limits=with_threads(), history=history, channels=[NoThreads(history)]) as flow:
        await say_in_thread(flow, "hello")
        assert await refused(spawn(flow)) is Code.E_THREAD_ACCESS_FAILED
        await flow.quiet()
        assert "E_THREAD_ACCESS_FAILED" in flow.texts(THREAD)[-1]
        assert (flow.state.spawns, flow.state.spawn_requests, len(flow.state.sessions)) == ({}, {}, 1)


@pytest.mark.req("D1", "D2", "D3")
@pytest.mark.parametrize(("fail_closed", "told"), [(True, []), (False, ["count the files"])])
@virtually
async def test_once_its_binding_is_gone_a_completion_goes_nowhere_or_back_as_the_setting_says(fail_closed, told):
    async with run_flow(limits=with_threads(spawn_fail_closed=fail_closed)) as flow:
        await say_in_thread(flow, "hello")
        await flow.quiet()
        before = len(flow.posts(THREAD)) + 1
        done = await spawn(flow, "count the files\n/slow 20")
        await flow.flow.bindings.unbind(reason="test", target_session_key=done.session_key)
        await flow.quiet()
        [plan] = [p for p in flow.facts(e.DeliveryPlanned) if p.entry_id == f"debt_{done.job_id}"]
        assert plan.route == ("nowhere" if fail_closed else "fallback")
        back = flow.texts(THREAD)[before:]
        assert ["count the files" for text in back if "count the files" in text] == told
        assert flow.texts(thread_at(done.session_id)) == []


@pytest.mark.req("D1", "D2")
@virtually
async def test_a_binding_with_a_time_to_live_ends_unless_something_is_posted():
    async with run_flow(limits=with_threads(spawn_binding_ttl_sec=60)) as flow:
        quick = await spawn(flow, "quick\n/slow 20", asked_by="901")
        slow = await spawn(flow, "slow\n/slow 100", asked_by="902")
        await flow.quiet()
        plans = {p.entry_id: p.route for p in flow.facts(e.DeliveryPlanned)}
        assert (plans[f"debt_{quick.job_id}"], plans[f"debt_{slow.job_id}"]) == ("bound", "nowhere")


# --- limits -----------------------------------------------------------------------------------------------------------


@virtually
async def test_sessions_are_nested_only_as_deep_as_the_limit_says():
    async with run_flow(limits=limits(spawn_max_depth=2)) as flow:
        job = await say_in_thread(flow, "hello")
        for call in ("a", "b"):
            done = await agent_spawns(flow, job, asked_by=call)
            job = await flow.ended(done.job_id)
        assert await refused(agent_spawns(flow, job, asked_by="c")) is Code.E_SPAWN_DEPTH


@virtually
async def test_only_so_many_are_at_work_for_one_session():
    async with run_flow(limits=limits(spawn_max_children=2)) as flow:
        await say_in_thread(flow, "hello")
        first = await spawn(flow, "/slow 50", asked_by="1")
        await spawn(flow, "/slow 50", asked_by="2")
        assert await refused(spawn(flow, asked_by="3")) is Code.E_SPAWN_LIMIT
        await flow.ended(first.job_id)
        await spawn(flow, asked_by="3")


@virtually
async def test_threads_that_are_being_opened_count_too():
    history = ChannelHistory()
    channel = RecordingChannel(history, latency=lambda: 30.0)
    async with run_flow(limits=with_threads(spawn_max_children=1), history=history, channels=[channel]) as flow:
        job = await say_in_thread(flow, "hello")
        assert (await agent_spawns(flow, job, asked_by="a")).session_id == ""
        assert await refused(agent_spawns(flow, job, asked_by="b")) is Code.E_SPAWN_LIMIT


@virtually
async def test_agents_spawn_only_so_many_until_a_person_speaks():
    async with run_flow(limits=limits(spawn_max_in_a_row=2)) as flow:
        job = await say_in_thread(flow, "hello")
        for call in ("a", "b"):
            await flow.ended((await agent_spawns(flow, job, asked_by=call)).job_id)
        assert await refused(agent_spawns(flow, job, asked_by="c")) is Code.E_SPAWN_LIMIT
        await spawn(flow)  # a person may
        job = await say_in_thread(flow, "go on")
        await agent_spawns(flow, job, asked_by="c")


# --- what people see of it --------------------------------------------------------------------------------------------


@virtually
async def test_the_list_of_sessions_is_a_tree():
    async with run_flow(limits=limits()) as flow:
        job = await say_in_thread(flow, "hello")
        child = await agent_spawns(flow, job, asked_by="a")
        await agent_spawns(flow, await flow.ended(child.job_id), asked_by="b")
        await say_in_thread(flow, "hello again")
        other = await flow.say("elsewhere")
        await flow.ended(other.job_id)
        listed = await flow.command(ask.SessionList())
        assert isinstance(listed, SessionCatalogue)
        tree = [(row.depth, row.parent_session_id) for row in listed.sessions]
        assert tree == [(0, ""), (0, ""), (1, "77"), (2, child.session_id)]


@virtually
async def test_a_session_that_was_spawned_from_a_persons_own_is_as_private():
    async with run_flow(limits=limits(allowed_people=("ben",))) as flow:
        await flow.command(ask.Spawn(asked_by="1", task="count"))
        await flow.quiet()
        [child] = flow.state.spawns
        assert flow.state.owner_id == OWNER
        stranger = flow.caller("ben", pre_authorised=False)
        with pytest.raises(FairleadError):
            await flow.gate.command(ask.SessionOpen(flow.state.sessions[child].session_id), stranger)


@virtually
async def test_cancelling_a_session_takes_those_below_it_along_if_asked():
    async with run_flow(limits=limits()) as flow:
        job = await say_in_thread(flow, "hello")
        child = await agent_spawns(flow, job, "/slow 500", asked_by="a")
        below = await agent_spawns(flow, flow.state.jobs[child.job_id], "/slow 500", asked_by="b")
        assert await refused(flow.gate.command(ask.Cancel(), caller())) is Code.E_NOTHING_TO_CANCEL
        await flow.gate.command(ask.Cancel(children=True), caller())
        await flow.quiet()
        assert [flow.state.jobs[j].state for j in (child.job_id, below.job_id)] == ["cancelled", "cancelled"]
        assert follow_ups(flow) == []  # nobody wants a new turn of what was just cancelled


@virtually
async def test_a_thread_that_is_still_being_opened_is_cancelled_too():
    history = ChannelHistory()
    channel = RecordingChannel(history, latency=lambda: 30.0)
    async with run_flow(limits=with_threads(), history=history, channels=[channel]) as flow:
        job = await say_in_thread(flow, "hello")
        await agent_spawns(flow, job)
        await flow.gate.command(ask.Cancel(children=True), caller())
        await flow.quiet()
        assert (flow.state.spawns, len(flow.facts(e.JobEnqueued))) == ({}, 1)
