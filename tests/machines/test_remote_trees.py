"""The files of a project on another machine: real git there, and only what people see travels."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fairlead.core.engine import HandingOver, TurnEnded
from fairlead.core.ids import SessionKeyText
from fairlead.core.worktrees import Worktree
from fairlead.errors import Code, FairleadError, error
from fairlead.git.command import Git
from fairlead.git.tree_status import FileLimits
from fairlead.git.work_trees import GitWorkTrees
from fairlead.git.worktree_files import WorktreeFiles
from fairlead.git.worktrees import RealWorktrees
from fairlead.machines.directories import DirectoriesAcross
from fairlead.machines.hub import Machines
from fairlead.machines.remote_trees import FilesAcross, TreesAcross
from fairlead.machines.remote_worktrees import WorktreesAcross
from fairlead.ports import NO_FILES, NO_WORKTREES, TakenBranch
from fairlead.runner.file_call_handler import FileCallHandler
from fairlead.store.directories import RealDirectories
from fairlead.store.project_files import RealProjectFiles
from fairlead.testing.trees import FakeTrees
from fairlead.tree_ports import NO_TREES
from tests.git.harness import PERSON, git, make_repository
from tests.machines.harness import GPU, Stage, events_of, invocation

pytestmark = [pytest.mark.anyio, pytest.mark.req("H2", "H3")]


class DirectoryAnswers:
    def __init__(self, directory: Path) -> None:
        self._directories = RealDirectories(directory)

    async def handle(self, name: str, args: dict[str, str]) -> object:
        assert name == "directories.inspect"
        return self._directories.inspect(args["path"])


@asynccontextmanager
async def machine_with_git(tmp_path: Path) -> AsyncIterator[Machines]:
    (tmp_path / "home").mkdir()
    program = Git({**os.environ, **PERSON})
    handler = FileCallHandler(
        DirectoryAnswers(tmp_path / "runner"),
        trees=GitWorkTrees(program, tmp_path / "runner", limits=FileLimits(), home=tmp_path / "home"),
        worktrees=RealWorktrees(
            program, {**os.environ, **PERSON}, state_id=lambda: "abcd", files=WorktreeFiles(), are_separated=False
        ),
        files=RealProjectFiles(asyncio.to_thread),
        directory=tmp_path / "runner" / "trees of sessions",
    )
    stage = Stage(calls=handler)
    try:
        async with stage.daemon() as hub, stage.runner():
            await stage.remote_echo(hub)
            yield hub
    finally:
        program.close()


async def test_what_a_turn_changed_there_is_shown_here_and_can_be_taken_back(tmp_path: Path):
    project = make_repository(tmp_path / "trainer", model="one\n")
    async with machine_with_git(tmp_path) as hub:
        trees = TreesAcross(NO_TREES, hub)
        place = f"{GPU}:{project}"
        before = await trees.snapshot(place, "start")
        (project / "model").write_text("two\n")
        after = await trees.snapshot(place, "end")
        assert before is not None
        assert after is not None
        await trees.keep(place, {"abcd/job_1/start": before.commit, "abcd/job_1/end": after.commit})
        changes = await trees.show_changes(place, before.commit, after.commit)
        assert [(file.path, file.kind) for file in changes.files] == [("model", "modified")]
        assert "+two" in changes.diff
        assert await trees.list_changes(place, before.commit, after.commit) == changes.files
        plan = await trees.plan_undo(place, [(after.commit, before.commit)], "undo")
        assert await trees.restore(place, plan.before.commit, plan.after) == ()
        assert (project / "model").read_text() == "one\n"
        assert [cost.project_path for cost in await trees.costs()] == [place]
        assert trees.find_unchanged(place) is None  # to ask would take longer than a moment


async def test_the_machine_looks_at_the_files_before_its_agent_has_the_prompt_and_nobody_asks_it_first():
    stage = Stage()
    stage.trees = there = FakeTrees()
    there.latency = lambda: 0.05
    there.files["/srv/trainer"] = {"model": "one"}
    async with stage.daemon() as hub, stage.runner():
        remote = await stage.remote_echo(hub)
        trees = TreesAcross(NO_TREES, hub)
        expected = asyncio.ensure_future(trees.snapshot("gpu:/srv/trainer", "job_1 start", limit_sec=5, begins="job_1"))
        await asyncio.sleep(0)
        async for event in remote.invoke(invocation("hi")):
            if isinstance(event, HandingOver):
                assert expected.done()
            there.files["/srv/trainer"] = {"model": "two"}
        before, after = await expected, await there.snapshot("/srv/trainer", "now")
        assert before is not None
        assert after is not None
        changed = await there.list_changes("/srv/trainer", before.commit, after.commit)
        assert [file.path for file in changed] == ["model"]
        assert there.taken == 2


async def test_a_snapshot_that_cannot_be_had_keeps_no_turn_and_says_why():
    stage = Stage()
    stage.trees = there = FakeTrees()
    there.fault = error(Code.E_DISK_FULL)
    async with stage.daemon() as hub, stage.runner():
        remote = await stage.remote_echo(hub)
        expected = asyncio.ensure_future(
            TreesAcross(NO_TREES, hub).snapshot("gpu:/srv/trainer", "job_1 start", limit_sec=5, begins="job_1")
        )
        await asyncio.sleep(0)
        events = await events_of(remote, invocation("hi"))
        assert isinstance(events[-1], TurnEnded)
        with pytest.raises(FairleadError) as refused:
            await expected
        assert refused.value.code is Code.E_DISK_FULL


def worktree_of(project: Path, branch: str = "fairlead/fix") -> Worktree:
    return Worktree(
        number=1,
        session_key=SessionKeyText("s"),
        project="gpu/trainer",
        person="ada",
        repository=f"{GPU}:{project}",
        path=f"{GPU}:worktrees/trainer/1-fix",
        branch=branch,
    )


async def test_a_worktree_there_lies_below_the_runners_own_directory_and_is_merged_there(tmp_path: Path):
    project = make_repository(tmp_path / "trainer", model="one\n")
    async with machine_with_git(tmp_path) as hub:
        worktrees = WorktreesAcross(NO_WORKTREES, hub)
        wanted = worktree_of(project)
        made = await worktrees.make(wanted)
        there = tmp_path / "runner" / "trees of sessions" / "worktrees" / "trainer" / "1-fix"
        assert made.directory == f"{GPU}:{there}"
        (there / "model").write_text("two\n")
        git(there, "commit", "-qam", "second")
        for name in ("directory", "common_dir", "base", "target"):
            setattr(wanted, name, getattr(made, name))
        assert (await worktrees.look(wanted)).commits_total == 1
        merged = await worktrees.merge(wanted)
        assert merged.files == ("model",)
        assert (project / "model").read_text() == "two\n"
        assert worktrees.problem_at(wanted) == ""


async def test_a_branch_that_somebody_has_there_is_told_as_here(tmp_path: Path):
    project = make_repository(tmp_path / "trainer")
    git(project, "checkout", "-q", "-b", "fairlead/fix")
    git(project, "commit", "-q", "--allow-empty", "-m", "somebody's")
    git(project, "checkout", "-q", "main")
    async with machine_with_git(tmp_path) as hub:
        with pytest.raises(TakenBranch) as taken:
            await WorktreesAcross(NO_WORKTREES, hub).make(worktree_of(project))
    assert "fairlead/fix" in taken.value.branches


async def test_a_worktree_that_would_lie_elsewhere_is_refused(tmp_path: Path):
    project = make_repository(tmp_path / "trainer")
    wanted = worktree_of(project)
    wanted.path = f"{GPU}:../../elsewhere"
    async with machine_with_git(tmp_path) as hub:
        with pytest.raises(FairleadError) as refused:
            await WorktreesAcross(NO_WORKTREES, hub).make(wanted)
    assert refused.value.code is Code.E_INVALID_PATH


async def test_a_file_of_a_project_there_is_read_and_nothing_beside_it(tmp_path: Path):
    project = make_repository(tmp_path / "trainer", report="well\n")
    (tmp_path / "secret").write_text("no")
    async with machine_with_git(tmp_path) as hub:
        files = FilesAcross(NO_FILES, hub)
        found = await files.read(f"{GPU}:{project}", "report", 1000)
        assert (found.name, found.data) == ("report", b"well\n")
        with pytest.raises(FairleadError) as refused:
            await files.read(f"{GPU}:{project}", "../secret", 1000)
        assert refused.value.code is Code.E_INVALID_PATH


async def test_a_directory_there_is_looked_at_there_before_it_becomes_a_project(tmp_path: Path):
    project = make_repository(tmp_path / "trainer")
    async with machine_with_git(tmp_path) as hub:
        directories = DirectoriesAcross(RealDirectories(tmp_path / "state"), hub)
        facts = await directories.look(f"{GPU}:{project}")
        assert (facts.real_path, facts.problem) == (f"{GPU}:{project}", "")
        missing = await directories.look(f"{GPU}:{tmp_path}/nothing")
        assert "does not exist" in missing.problem
        with pytest.raises(FairleadError) as unknown:
            await directories.look(f"attic:{project}")
        assert unknown.value.code is Code.E_MACHINE_NOT_FOUND
    assert (await directories.look(str(project))).problem == ""
