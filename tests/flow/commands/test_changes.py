"""`/changes`: of a turn, of a session, of a turn that runs, and what it says when it cannot tell."""

import asyncio

import pytest

from fairlead.core import requests as ask
from fairlead.core.replies import ChangesShown
from fairlead.core.trees import FileChange
from fairlead.errors import Code, FairleadError
from fairlead.flow.work_trees.turn_snapshots import TreeSettings
from tests.flow.harness import conversation_ref, run_flow, virtually
from tests.flow.work_trees.harness import API, make_trees, writing_agent

pytestmark = pytest.mark.req("F2")


@virtually
async def test_the_changes_of_the_latest_turn_with_their_diff():
    trees = make_trees(**{"a.py": "old\n"})
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        job = await flow.answered("a.py=new b.py=more")
        shown = await flow.command(ask.Changes())
        assert shown == ChangesShown(
            job_ids=(job.job_id,),
            project="api",
            since=job.started_at,
            files=(
                FileChange(path="a.py", kind="modified", added=1, removed=1),
                FileChange(path="b.py", kind="added", added=1),
            ),
            added=2,
            removed=1,
            diff=shown.diff,
        )
        assert "-old\n+new\n" in shown.diff


@virtually
async def test_an_earlier_turn_by_its_number_and_the_whole_session():
    trees = make_trees()
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        await flow.answered("a.py=one")
        await flow.answered("b.py=two")
        trees.files[API]["mine.py"] = "a person's own\n"
        await flow.answered("a.py=three")
        one = await flow.command(ask.Changes("1"))
        assert [file.path for file in one.files] == ["a.py"]
        for request in (ask.Changes("session"), ask.Changes(scope="session"), ask.Changes("2", scope="session")):
            whole = await flow.command(request)
            assert (whole.is_session, len(whole.job_ids)) == (True, 3)
            assert [file.path for file in whole.files] == ["a.py", "b.py", "mine.py"]


@virtually
async def test_a_reset_begins_the_session_again():
    trees = make_trees()
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        await flow.answered("a.py=one")
        await flow.command(ask.Reset())
        await flow.answered("b.py=two")
        assert [file.path for file in (await flow.command(ask.Changes("session"))).files] == ["b.py"]


@virtually
async def test_a_turn_that_runs_is_shown_as_it_is_now():
    trees = make_trees()
    async with run_flow(runtimes=[writing_agent(trees, seconds=100)], trees=trees) as flow:
        await flow.say("a.py=one")
        await asyncio.sleep(10)
        trees.files[API]["half.py"] = "half\n"
        shown = await flow.command(ask.Changes())
        assert shown.is_running
        assert [file.path for file in shown.files] == ["half.py"]


@virtually
async def test_two_sessions_at_once_cannot_be_told_apart():
    trees = make_trees()
    async with run_flow(runtimes=[writing_agent(trees, seconds=10)], trees=trees) as flow:
        one = await flow.say("a.py=one", user="42")
        two = await flow.say("b.py=two", user="43")
        await flow.ended(one.job_id)
        await flow.ended(two.job_id)
        shown = await flow.command(ask.Changes(), user="42")
        assert shown.shared_with == (two.job_id,)
        assert (await flow.command(ask.Changes("session"), user="42")).shared_with == (two.job_id,)
        alone = await flow.answered("c.py=three", user="42")
        assert alone.tree.shared_with == ()


@virtually
async def test_a_session_in_a_part_of_the_directory_cannot_be_told_apart_either():
    trees = make_trees()
    part = f"{API}/part"
    trees.files[part] = {}
    trees.files[f"{API}-2"] = {}
    projects = (API, part, f"{API}-2")
    async with run_flow(runtimes=[writing_agent(trees, seconds=10)], trees=trees, projects=projects) as flow:
        one = await flow.say("a.py=one", user="42", project="api")
        two = await flow.say("b.py=two", user="43", project="part")
        other = await flow.say("b.py=two", user="44", project="api-2")
        await flow.ended(one.job_id)
        await flow.ended(two.job_id)
        assert (await flow.command(ask.Changes(), user="42")).shared_with == (two.job_id,)
        assert (await flow.command(ask.Changes("session"), user="43")).shared_with == (one.job_id,)
        assert (await flow.ended(other.job_id)).tree.shared_with == ()
        running = await flow.say("c.py=three", user="43")
        await asyncio.sleep(5)
        with pytest.raises(FairleadError) as refused:
            await flow.command(ask.Undo(), user="42")
        assert refused.value.code is Code.E_UNDO_BUSY
        await flow.ended(running.job_id)


@virtually
async def test_a_turn_without_snapshots_says_why():
    trees = make_trees()
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        trees.fault = FairleadError(Code.E_DISK_FULL)
        await flow.answered("a.py=one")
        with pytest.raises(FairleadError) as refused:
            await flow.command(ask.Changes())
        assert refused.value.code is Code.E_DISK_FULL


@pytest.mark.req("F4")
@pytest.mark.parametrize("request_", [ask.Changes(), ask.Changes("session"), ask.Undo()])
@virtually
async def test_who_asks_right_after_the_answer_waits_until_the_files_were_looked_at(request_: ask.Request):
    trees = make_trees()
    settings = TreeSettings(start_sec=60)
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees, tree_settings=settings) as flow:
        said = await flow.say("a.py=one")
        await flow.until(lambda: said.job_id in flow.state.open_trees)
        trees.latency = lambda: 20.0
        await flow.ended(said.job_id)
        assert said.job_id in flow.state.open_trees
        assert [file.path for file in (await flow.command(request_)).files] == ["a.py"]


@virtually
async def test_nobody_sees_the_changes_of_a_session_that_is_not_theirs():
    trees = make_trees()
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        job = await flow.answered("a.py=one", user="42")
        stranger = flow.caller("43", conversation_ref("43"), pre_authorised=False)
        with pytest.raises(FairleadError) as refused:
            await flow.gate.command(ask.Changes(job.job_id), stranger)
        assert refused.value.code in {Code.E_JOB_NOT_FOUND, Code.E_OWNER_ONLY}
