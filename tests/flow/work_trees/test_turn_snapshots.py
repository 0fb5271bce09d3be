"""What is written about the files of a turn, when, and what happens to the turn when nothing can be."""

import asyncio

import pytest

from fairlead.core.events import JobCompleted, JobHandedOver, TreeSnapshotMissed, TreeSnapshotTaken
from fairlead.core.trees import ChangeSummary, FileChange
from fairlead.errors import Code, error
from fairlead.flow.work_trees.turn_snapshots import TreeSettings
from fairlead.testing.disk import SimulatedDisk
from tests.flow.harness import conversation_ref, run_flow, virtually
from tests.flow.work_trees.harness import API, make_trees, writing_agent

pytestmark = pytest.mark.req("F1")


@virtually
async def test_a_turn_has_a_snapshot_before_its_prompt_and_one_with_its_end():
    trees = make_trees(**{"a.py": "old\n"})
    trees.latency = lambda: 0.01
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        job = await flow.answered("a.py=new b.py=more")
        facts = flow.facts(JobHandedOver, TreeSnapshotTaken, JobCompleted)
        start, handed_over, end, completed = facts
        assert [type(fact) for fact in (handed_over, completed)] == [JobHandedOver, JobCompleted]
        assert (start.moment, end.moment) == ("start", "end")
        assert end.changed == ChangeSummary(
            files=(
                FileChange(path="a.py", kind="modified", added=1, removed=1),
                FileChange(path="b.py", kind="added", added=1),
            ),
            total=2,
            added=2,
            removed=1,
        )
        assert job.tree.changed == end.changed
        await flow.until(lambda: len(trees.kept.get(API, {})) == 2)
        assert trees.kept[API] == {
            f"abcd/{job.job_id}/start": start.snapshot.commit,
            f"abcd/{job.job_id}/end": end.snapshot.commit,
        }


@virtually
async def test_of_files_that_are_known_to_be_unchanged_none_is_taken_again():
    trees = make_trees(**{"a.py": "old\n"})
    trees.is_quick = True
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        first = await flow.answered("a.py=new")
        taken = trees.taken
        second = await flow.answered("b.py=more")
        assert second.tree.start == first.tree.end
        assert trees.taken == taken + 1
        assert [file.path for file in second.tree.changed.files] == ["b.py"]
        trees.files[API]["mine.py"] = "by hand\n"
        third = await flow.answered("c.py=more")
        assert [file.path for file in third.tree.changed.files] == ["c.py"]


@virtually
async def test_what_the_next_turn_writes_at_once_does_not_count_for_a_turn_that_used_no_tool():
    """The end of the first is taken behind its answer, and the second need not wait to know that nothing changed."""
    trees = make_trees(**{"a.py": "old\n"})
    trees.is_quick = True
    async with run_flow(runtimes=[writing_agent(trees, seconds=0.01, tools=False)], trees=trees) as flow:
        await flow.answered("nothing")
        await flow.until(lambda: not flow.state.open_trees)
        first, second = await flow.say("nothing"), await flow.say("b.py=more")
        await flow.ended(first.job_id)
        await flow.ended(second.job_id)
        await flow.until(lambda: not flow.state.open_trees)
        one, two = (flow.state.jobs[job.job_id].tree for job in (first, second))
        assert one.changed is None
        assert [file.path for file in two.changed.files] == ["b.py"]


@virtually
async def test_what_a_crash_left_without_a_name_is_kept_at_the_next_start():
    trees, disk = make_trees(), SimulatedDisk()
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees, disk=disk) as flow:
        job = await flow.answered("a.py=new")
    trees.kept.clear()
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees, disk=disk) as flow:
        await flow.until(lambda: bool(trees.kept.get(API)))
        assert set(trees.kept[API]) == {f"abcd/{job.job_id}/start", f"abcd/{job.job_id}/end"}


@virtually
async def test_an_answer_does_not_wait_for_a_slow_snapshot_and_the_next_turn_does():
    trees = make_trees()
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees, tree_settings=TreeSettings(start_sec=60)) as flow:
        first = await flow.say("a.py=one")
        await flow.until(lambda: first.job_id in flow.state.open_trees)
        trees.latency = lambda: 20.0
        second = await flow.say("a.py=two")
        began = asyncio.get_running_loop().time()
        await flow.ended(first.job_id)
        assert asyncio.get_running_loop().time() - began < 3
        assert flow.state.jobs[first.job_id].tree.end is None
        await flow.ended(second.job_id)
        await flow.until(lambda: not flow.state.open_trees)
        one, two = (flow.state.jobs[job.job_id].tree for job in (first, second))
        assert one.end.tree == two.start.tree
        assert one.changed.total == two.changed.total == 1
        assert two.shared_with == ()


@virtually
async def test_a_turn_that_changed_nothing_says_so_after_its_answer():
    trees = make_trees(**{"a.py": "old\n"})
    async with run_flow(runtimes=[writing_agent(trees, tools=False)], trees=trees) as flow:
        job = await flow.answered("just talk")
        await flow.until(lambda: not flow.state.open_trees)
        kinds = [type(fact) for fact in flow.facts(TreeSnapshotTaken, JobCompleted)]
        assert kinds == [TreeSnapshotTaken, JobCompleted, TreeSnapshotTaken]
        assert job.tree.start.tree == job.tree.end.tree
        assert job.tree.changed is None


@virtually
@pytest.mark.parametrize("code", [Code.E_DISK_FULL, Code.E_SNAPSHOT])
async def test_a_turn_without_a_snapshot_goes_on_and_says_that_it_cannot_be_undone(code: Code):
    trees = make_trees()
    trees.fault = error(code, "No room for it.")
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        job = await flow.answered("a.py=new", at=conversation_ref())
        await flow.quiet()
        assert flow.facts(TreeSnapshotMissed) == [TreeSnapshotMissed(job.job_id, "start", code, "No room for it.")]
        assert flow.texts(conversation_ref()) == [
            f"Done.\n\n⚠ This turn cannot be undone: there is no snapshot of the files before it ({code})."
        ]


@virtually
async def test_a_snapshot_that_takes_too_long_holds_up_its_turn_no_longer_than_it_may():
    trees = make_trees()
    trees.latency = lambda: 1000.0
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees, tree_settings=TreeSettings(start_sec=5)) as flow:
        began = asyncio.get_running_loop().time()
        job = await flow.answered("a.py=new")
        assert 5 < asyncio.get_running_loop().time() - began < 8
        assert job.tree.missed == Code.E_SNAPSHOT


@virtually
async def test_two_turns_in_one_directory_at_the_same_time_know_of_each_other():
    trees = make_trees()
    async with run_flow(runtimes=[writing_agent(trees, seconds=10)], trees=trees) as flow:
        one = await flow.say("a.py=one", user="42")
        two = await flow.say("b.py=two", user="43")
        await flow.ended(one.job_id)
        await flow.ended(two.job_id)
        assert flow.state.jobs[one.job_id].tree.shared_with == (two.job_id,)
        assert flow.state.jobs[two.job_id].tree.shared_with == (one.job_id,)


@virtually
async def test_a_turn_that_a_crash_cut_off_gets_its_end_at_the_next_start():
    trees, disk = make_trees(), SimulatedDisk()
    async with run_flow(runtimes=[writing_agent(trees, seconds=60)], trees=trees, disk=disk) as flow:
        cut_off = await flow.say("a.py=new")
        await flow.until(lambda: bool(flow.facts(JobHandedOver)))
    trees.files[API]["half.py"] = "half\n"
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees, disk=disk) as flow:
        after = await flow.answered("b.py=later")
        job = flow.state.jobs[cut_off.job_id]
        assert job.state == "unknown_after_crash"
        assert (job.tree.is_late, [file.path for file in job.tree.changed.files]) == (True, ["half.py"])
        assert [file.path for file in after.tree.changed.files] == ["b.py"]


@virtually
async def test_snapshots_leave_with_their_jobs():
    trees = make_trees()
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        job = await flow.answered("a.py=new")
        await flow.until(lambda: len(trees.kept.get(API, {})) == 2)
        del flow.state.jobs[job.job_id]
        await asyncio.sleep(4000)
        assert trees.kept[API] == {}
