"""Undo and redo as facts: what comes back, what is refused, what the agent hears, and what a crash leaves to do."""

import asyncio

import pytest

from fairlead.core import requests as ask
from fairlead.core.engine import ForkOrigin
from fairlead.core.events import JobRedone, JobUndone, UndoBegan, UndoEnded
from fairlead.core.state import resume_slot
from fairlead.errors import Code, FairleadError, error
from fairlead.testing.channel import ChannelHistory
from fairlead.testing.disk import SimulatedDisk
from tests.flow.harness import run_flow, virtually
from tests.flow.outbox.test_outbox import Locked
from tests.flow.work_trees.harness import API, make_trees, writing_agent

pytestmark = pytest.mark.req("F4")


@virtually
async def test_the_latest_turn_goes_back_and_comes_again():
    trees = make_trees(**{"a.py": "old\n"})
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        job = await flow.answered("a.py=new b.py=more")
        trees.files[API]["mine.py"] = "a person's own\n"
        undone = await flow.command(ask.Undo())
        assert (undone.job_ids, undone.total, undone.is_redo) == ((job.job_id,), 2, False)
        assert trees.files[API] == {"a.py": "old\n", "mine.py": "a person's own\n"}
        assert flow.state.jobs[job.job_id].tree.undone_by == undone.undo_id
        redone = await flow.command(ask.Redo())
        assert redone.is_redo
        assert trees.files[API] == {"a.py": "new\n", "b.py": "more\n", "mine.py": "a person's own\n"}
        assert [type(fact) for fact in flow.facts(UndoBegan, UndoEnded, JobUndone, JobRedone)] == [
            *(UndoBegan, UndoEnded, JobUndone),
            *(UndoBegan, UndoEnded, JobRedone),
        ]
        with pytest.raises(FairleadError, match="No undo of this session can be redone"):
            await flow.command(ask.Redo())
        await flow.command(ask.Undo())
        assert "b.py" not in trees.files[API], "what came back can be undone again"


@virtually
async def test_back_to_any_turn_of_the_session():
    trees = make_trees(**{"a.py": "0\n"})
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        jobs = [await flow.answered(f"a.py={n} {n}.py=new") for n in (1, 2, 3)]
        undone = await flow.command(ask.Undo("2", turns="since"))
        assert undone.job_ids == (jobs[2].job_id, jobs[1].job_id)
        assert trees.files[API] == {"a.py": "1\n", "1.py": "new\n"}
        assert (await flow.command(ask.Undo())).job_ids == (jobs[0].job_id,)
        assert trees.files[API] == {"a.py": "0\n"}
        await flow.command(ask.Redo())
        await flow.command(ask.Redo())
        assert trees.files[API] == {"a.py": "3\n", "1.py": "new\n", "2.py": "new\n", "3.py": "new\n"}


@virtually
async def test_what_somebody_changed_since_is_named_and_nothing_is_undone():
    trees = make_trees(**{"a.py": "old\n", "b.py": "old\n"})
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        await flow.answered("a.py=new b.py=new")
        trees.files[API]["b.py"] = "mine\n"
        with pytest.raises(FairleadError) as refused:
            await flow.command(ask.Undo())
        assert (refused.value.code, refused.value.message) == (Code.E_UNDO_CHANGED, "Changed since #1: b.py")
        assert trees.files[API] == {"a.py": "new\n", "b.py": "mine\n"}
        assert flow.facts(UndoBegan) == []


@virtually
async def test_what_no_snapshot_has_as_it_was_stays_and_is_named():
    trees = make_trees(**{"a.py": "old\n"})
    trees.ignored_before = {".env"}
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        await flow.answered("a.py=new .env=key")
        assert (await flow.command(ask.Undo())).left == (".env",)
        assert trees.files[API] == {"a.py": "old\n", ".env": "key\n"}
        await flow.answered(".env=other")
        with pytest.raises(FairleadError) as refused:
            await flow.command(ask.Undo())
        assert refused.value.message == "No snapshot says how these files were before: .env"


@virtually
async def test_nothing_is_undone_while_a_turn_runs_in_the_directory():
    trees = make_trees()
    async with run_flow(runtimes=[writing_agent(trees, seconds=100)], trees=trees) as flow:
        await flow.answered("a.py=new", user="42")
        running = await flow.say("b.py=new", user="43")
        await asyncio.sleep(5)
        with pytest.raises(FairleadError) as refused:
            await flow.command(ask.Undo(), user="42")
        assert refused.value.code is Code.E_UNDO_BUSY
        await flow.ended(running.job_id)
        await flow.command(ask.Undo(), user="42")
        assert trees.files[API] == {"b.py": "new\n"}


@virtually
async def test_a_turn_that_begins_meanwhile_waits_for_the_end_of_the_undo():
    trees = make_trees(**{"a.py": "old\n", "b.py": "old\n"})
    agent = writing_agent(trees)
    async with run_flow(runtimes=[agent], trees=trees) as flow:
        await flow.answered("a.py=new b.py=new")
        trees.latency = lambda: 2.0
        undoing = asyncio.ensure_future(flow.command(ask.Undo()))
        await flow.until(lambda: bool(flow.state.undos))
        later = await flow.answered("c.py=later", user="43")
        await undoing
        await flow.until(lambda: not flow.state.open_trees)
        assert trees.files[API] == {"a.py": "old\n", "b.py": "old\n", "c.py": "later\n"}
        assert [file.path for file in later.tree.changed.files] == ["c.py"]


@virtually
@pytest.mark.parametrize("is_quick", [False, True])
@pytest.mark.parametrize(("undone", "works"), [("/srv/api", "/srv/api/part"), ("/srv/api/part", "/srv/api")])
async def test_a_turn_in_a_part_of_the_directory_or_above_it_waits_too(undone: str, works: str, is_quick: bool):
    """One project lies in the other: the same file may be in both."""
    trees = make_trees()
    trees.is_quick = is_quick
    trees.files["/srv/api/part"] = {}
    written_at: list[float] = []
    agent = writing_agent(trees)
    async with run_flow(runtimes=[agent], trees=trees, projects=(undone, works)) as flow:
        names = {project.path: name for name, project in flow.state.projects.items()}
        await flow.answered("a.py=other", user="43", project=names[works])
        await flow.answered("a.py=new b.py=new c.py=new", user="42", project=names[undone])
        trees.latency = lambda: 5.0
        undoing = asyncio.ensure_future(flow.command(ask.Undo(), user="42"))
        undoing.add_done_callback(lambda _: written_at.append(asyncio.get_running_loop().time()))
        await flow.until(lambda: bool(flow.state.undos))
        later = await flow.say("z.py=later", user="43", project=names[works])
        await flow.until(lambda: "z.py" in trees.files[works])
        assert written_at, "the undo was over before the agent had its prompt"
        await undoing
        await flow.ended(later.job_id)
        assert trees.files[undone] == {}


@virtually
async def test_a_turn_waits_for_an_undo_longer_than_for_a_snapshot():
    trees = make_trees()
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        await flow.answered(" ".join(f"{number}.py=new" for number in range(20)))
        trees.latency = lambda: 2.0
        undoing = asyncio.ensure_future(flow.command(ask.Undo()))
        await flow.until(lambda: bool(flow.state.undos))
        later = await flow.say("9.py=later", user="43")
        assert (await undoing).left == ()
        await flow.ended(later.job_id)
        assert trees.files[API] == {"9.py": "later\n"}
        await flow.until(lambda: not flow.state.open_trees)
        assert flow.state.jobs[later.job_id].tree.changed.total == 1


@virtually
async def test_the_agent_is_told_once_with_its_next_prompt():
    trees = make_trees(**{"a.py": "old\n"})
    agent = writing_agent(trees)
    async with run_flow(runtimes=[agent], trees=trees) as flow:
        await flow.answered("a.py=new")
        assert not (await flow.command(ask.Undo(what="files"))).is_set_back
        await flow.answered("go on")
        await flow.answered("and on")
        told, quiet = agent.invocations[1].prompt, agent.invocations[2].prompt
        assert told == (
            "go on\n\n[Fairlead: the person took back #1. These files are again as they were before it: a.py. "
            "Read them before you rely on them.]"
        )
        assert quiet == "and on"


@virtually
async def test_what_was_said_can_be_taken_back_alone():
    trees = make_trees(**{"a.py": "old\n"})
    agent = writing_agent(trees)
    async with run_flow(runtimes=[agent], trees=trees) as flow:
        await flow.answered("hello")
        await flow.answered("a.py=new")
        undone = await flow.command(ask.Undo(what="talk"))
        assert (undone.what, undone.total, undone.is_set_back) == ("talk", 0, False)
        assert trees.files[API] == {"a.py": "new\n"}
        await flow.answered("go on")
        assert agent.invocations[2].prompt.endswith("Go on as if what was said in it had not been said.]")
        with pytest.raises(FairleadError):
            await flow.command(ask.Redo())


@virtually
async def test_an_agent_that_can_goes_back_itself_and_forward_again():
    trees = make_trees(**{"a.py": "old\n"})
    agent = writing_agent(trees, points=True)
    async with run_flow(runtimes=[agent], trees=trees) as flow:
        first = await flow.answered("hello")
        await flow.answered("a.py=new")
        assert (await flow.command(ask.Undo())).is_set_back
        slot = resume_slot("echo", API)
        session = flow.state.sessions[first.session_key]
        assert session.forks[slot] == ForkOrigin(f"key of {first.job_id}", "after hello")
        assert (await flow.command(ask.Redo())).is_set_back
        assert session.forks[slot] == ForkOrigin(f"key of {first.job_id}", "after a.py=new")
        await flow.command(ask.Undo())
        await flow.answered("go on")
        invoked = agent.invocations[2]
        assert (invoked.prompt, invoked.resume_key) == ("go on", None)
        assert invoked.fork == ForkOrigin(f"key of {first.job_id}", "after hello")
        assert not (await flow.command(ask.Redo())).is_set_back, "a later turn remembers another past"
        assert trees.files[API] == {"a.py": "new\n"}
        await flow.answered("and on")
        assert "are back in the files: a.py" in agent.invocations[3].prompt


@virtually
async def test_the_first_turn_taken_back_leaves_nothing_to_remember_and_a_middle_one_is_told():
    trees = make_trees()
    agent = writing_agent(trees, points=True)
    async with run_flow(runtimes=[agent], trees=trees) as flow:
        await flow.answered("a.py=one")
        await flow.answered("b.py=two")
        middle = await flow.command(ask.Undo("1"))
        assert not middle.is_set_back
        assert (await flow.command(ask.Undo("1", turns="since"))).is_set_back
        await flow.answered("hello")
        invoked = agent.invocations[2]
        assert (invoked.resume_key, invoked.fork) == (None, None)
        assert "took back #1" in invoked.prompt


@virtually
@pytest.mark.parametrize("steps", range(6))
async def test_an_undo_that_a_crash_cut_off_is_finished_by_the_next_start(steps: int):
    """`steps` files are written before the power goes."""
    names = [f"{n}.py" for n in range(6)]
    trees, disk = make_trees(**dict.fromkeys(names, "old\n")), SimulatedDisk()
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees, disk=disk) as flow:
        job = await flow.answered(" ".join(f"{name}=new" for name in names))
        trees.latency = lambda: 5.0
        undoing = asyncio.ensure_future(flow.command(ask.Undo()))
        await flow.until(lambda: bool(flow.facts(UndoBegan)))
        await flow.until(lambda: list(trees.files[API].values()).count("old\n") == steps)
        undoing.cancel()
    trees.latency = lambda: 0.0
    channel = Locked(ChannelHistory())
    async with run_flow(
        runtimes=[writing_agent(trees)], trees=trees, disk=disk, channels=[channel], history=channel.history
    ) as flow:
        await flow.until(lambda: all(undo.is_over for undo in flow.state.undos.values()))
        await asyncio.sleep(86400)
        channel.is_locked = False
        flow.gate.came_back(channel.name)
        await flow.quiet()
        assert flow.texts(flow.caller().conversation)[-1] == (
            "Fairlead was stopped in the middle, and has finished it now. Undid #1: 6 files are as they were before. "
            "/redo brings the changes back. The agent goes on as if it had not been said."
        )
        assert set(trees.files[API].values()) == {"old\n"}
        assert flow.state.jobs[job.job_id].tree.undone_by
        await flow.command(ask.Redo())
        assert set(trees.files[API].values()) == {"new\n"}


@virtually
async def test_an_undo_that_the_disk_cut_off_is_finished_when_somebody_asks_again():
    trees = make_trees(**{"a.py": "old\n", "b.py": "old\n"})
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        job = await flow.answered("a.py=new b.py=new")
        trees.writing_fault = error(Code.E_DISK_FULL)
        for _ in range(2):
            with pytest.raises(FairleadError, match="E_DISK_FULL"):
                await flow.command(ask.Undo())
            trees.files[API]["a.py"] = "new\n"
        trees.writing_fault = None
        undone = await flow.command(ask.Undo())
        assert (undone.job_ids, undone.is_redo, undone.left) == ((job.job_id,), False, ())
        assert trees.files[API] == {"a.py": "old\n", "b.py": "old\n"}
        assert len(flow.facts(UndoBegan)) == 1
        with pytest.raises(FairleadError, match="E_NOTHING_TO_UNDO"):
            await flow.command(ask.Undo())
        await flow.command(ask.Redo())
        assert trees.files[API] == {"a.py": "new\n", "b.py": "new\n"}


@virtually
async def test_a_start_that_cannot_finish_an_undo_says_so_once_and_a_later_one_finishes_it():
    """The disk with the project is full: half of the files are undone, and nobody had a reply."""
    trees, disk, history = make_trees(**{"a.py": "old\n", "b.py": "old\n"}), SimulatedDisk(), ChannelHistory()
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees, disk=disk, history=history) as flow:
        await flow.answered("a.py=new b.py=new")
        trees.latency = lambda: 5.0
        undoing = asyncio.ensure_future(flow.command(ask.Undo()))
        await flow.until(lambda: trees.files[API]["a.py"] == "old\n")
        undoing.cancel()
    trees.latency = lambda: 0.0
    trees.writing_fault = error(Code.E_DISK_FULL)
    for _ in range(2):
        async with run_flow(runtimes=[writing_agent(trees)], trees=trees, disk=disk, history=history) as flow:
            trees.files[API]["b.py"] = "new\n"
            await flow.until(lambda: flow.state.undos["undo_1"].is_told_open)
            await flow.quiet()
            told = "".join(flow.texts(flow.caller().conversation))
            assert (
                told.count("Fairlead was stopped in the middle of undoing #1, and cannot finish it: E_DISK_FULL") == 1
            )
            assert told.endswith("Some of the files may be undone. /undo goes on with it, and so does the next start.")
    trees.writing_fault = None
    trees.files[API]["b.py"] = "new\n"
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees, disk=disk, history=history) as flow:
        await flow.until(lambda: flow.state.undos["undo_1"].is_over)
        await flow.quiet()
        assert trees.files[API] == {"a.py": "old\n", "b.py": "old\n"}
        assert "has finished it now" in flow.texts(flow.caller().conversation)[-1]


@virtually
async def test_a_snapshot_that_is_gone_ends_the_undo_with_its_reason():
    trees = make_trees(**{"a.py": "old\n"})
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        await flow.answered("a.py=new")
        trees.fault = error(Code.E_SNAPSHOT_GONE)
        with pytest.raises(FairleadError) as refused:
            await flow.command(ask.Undo())
        assert refused.value.code is Code.E_SNAPSHOT_GONE
        trees.fault = None
        await flow.command(ask.Undo())
        assert trees.files[API] == {"a.py": "old\n"}


@virtually
async def test_nothing_to_undo():
    trees = make_trees()
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        await flow.answered("only words")
        for request in (ask.Undo(), ask.Undo("1"), ask.Redo()):
            with pytest.raises(FairleadError) as refused:
                await flow.command(request)
            assert refused.value.code is Code.E_NOTHING_TO_UNDO


@virtually
async def test_the_snapshots_of_an_undo_are_kept_as_long_as_its_jobs():
    trees = make_trees()
    async with run_flow(runtimes=[writing_agent(trees)], trees=trees) as flow:
        job = await flow.answered("a.py=new")
        await flow.command(ask.Undo())
        await asyncio.sleep(4000)
        assert {"abcd/undo_1/before", "abcd/undo_1/after"} <= set(trees.kept[API])
        del flow.state.jobs[job.job_id]
        await asyncio.sleep(26 * 3600)
        await flow.answered("another day")
        await asyncio.sleep(4000)
        assert not {name for name in trees.kept[API] if "undo" in name}
