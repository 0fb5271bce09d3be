"""Worktrees of sessions through a whole daemon, over HTTP, with real git in a real repository."""

import json
import shutil
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlead.app import RealBoot
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.worktrees import BeginDiscard, BeginMerge, WantWorktree
from fairlead.core.keys import user_key
from fairlead.core.worktrees import Worktree
from fairlead.flow.commands.handlers import BUILT_IN
from fairlead.flow.startup import sequence
from fairlead.kit.files import REAL_DISK
from fairlead.store.journal import JOURNAL_NAME
from tests.channels.harness import DaemonHarness, run_daemon_in, settings_in
from tests.git.harness import git, make_repository

pytestmark = [pytest.mark.anyio, pytest.mark.req("F5")]

ADA = {"userId": "ada"}


@asynccontextmanager
async def a_daemon(directory: Path, **more: Any) -> AsyncGenerator[DaemonHarness]:
    if not (directory / "proj" / ".git").exists():
        make_repository(directory / "proj", a="one\n")
    async with run_daemon_in(directory, **more) as daemon:
        yield daemon


def commit(where: Path, message: str = "work", **files: str) -> None:
    for name, text in files.items():
        (where / name).write_text(text)
    git(where, "add", "-A")
    git(where, "commit", "-q", "-m", message)


def state_worktree(daemon: DaemonHarness) -> Worktree:
    return next(iter(daemon.flow.ledger.state.worktrees.values()))


async def make(daemon: DaemonHarness, user: str = "ada") -> Path:
    status, made = await daemon.post("/v1/worktree", {"userId": user})
    assert (status, made["done"]) == (200, "made"), made
    return Path(made["worktree"]["path"])


async def until_settled(daemon: DaemonHarness) -> None:
    ledger = daemon.flow.ledger
    while any(w.status in {"planned", "merging", "discarding"} for w in ledger.state.worktrees.values()):
        await ledger.until_changed(ledger.state.seq)


async def test_a_session_begins_in_a_worktree_and_its_jobs_run_there(tmp_path: Path):
    async with a_daemon(tmp_path) as daemon:
        path = await make(daemon)
        _, job = await daemon.say("ada", "hello")
        started = daemon.flow.ledger.state.jobs[job["job_id"]].project_path
        _, status = await daemon.get("/v1/status?userId=ada")
        _, listed = await daemon.get("/v1/sessions")
        _, again = await daemon.say("ada", "again")
    assert started == str(path)
    assert path.is_relative_to(tmp_path / "state" / "worktrees" / "proj")
    assert (status["worktree"]["path"], status["resume_ready"]) == (str(path), True)
    assert listed["sessions"][0]["branch"] == status["worktree"]["branch"]
    assert status["worktree"]["branch"].startswith("fairlead/proj-")
    assert "turn 2" in again["answer"]


async def test_two_sessions_in_two_worktrees_do_not_disturb_each_other(tmp_path: Path):
    async with a_daemon(tmp_path) as daemon:
        first, second = await make(daemon, "ada"), await make(daemon, "bob")
        jobs = [await daemon.begin(user, "/slow 0.2\nhello") for user in ("ada", "bob")]
        commit(first, "from ada", a="ada\n")
        (second / "b").write_text("bob\n")
        for job in jobs:
            await daemon.until(job, "done")
        _, merged = await daemon.post("/v1/merge", ADA)
        assert merged["result"]["commits_total"] == 1
        assert (second / "a").read_text() == "one\n"
        assert (second / "b").read_text() == "bob\n"
        assert git(second, "status", "--porcelain") == "?? b\n"
        assert len({daemon.flow.ledger.state.jobs[job].project_path for job in jobs}) == 2  # type: ignore[index]
    assert (tmp_path / "proj" / "a").read_text() == "ada\n"


async def test_a_merge_tells_commits_files_and_branch_and_leaves_the_session_where_it_is(tmp_path: Path):
    async with a_daemon(tmp_path) as daemon:
        path = await make(daemon)
        commit(path, "fix a", a="two\n", b="new\n")
        status, merged = await daemon.post("/v1/merge", ADA)
        _, shown = await daemon.get("/v1/worktree?userId=ada")
        _, nothing = await daemon.post("/v1/merge", ADA)
    assert status == 200
    result = merged["result"]
    assert (result["target"], result["commits_total"], result["files"]) == ("main", 1, ["a", "b"])
    assert (tmp_path / "proj" / "b").read_text() == "new\n"
    assert shown["work"] == {}
    assert "commits_total" not in nothing["result"]


async def test_a_merge_is_refused_while_a_turn_runs_and_with_uncommitted_work(tmp_path: Path):
    async with a_daemon(tmp_path) as daemon:
        path = await make(daemon)
        hanging = await daemon.begin("ada", "/hang")
        await daemon.until(hanging, "moved", state="running")
        status, refused = await daemon.post("/v1/merge", ADA)
        assert (status, refused["error"]["code"]) == (409, "E_WORKTREE_BUSY")
        await daemon.post("/v1/cancel", ADA)
        await daemon.until(hanging, "done")
        (path / "draft").write_text("x")
        _, refused = await daemon.post("/v1/merge", ADA)
        assert refused["error"]["code"] == "E_UNCOMMITTED_WORK"
        assert "draft" in refused["error"]["message"]
        _, merged = await daemon.post("/v1/merge", {**ADA, "uncommitted": "leave"})
        assert merged["result"]["target"] == "main"
    assert (path / "draft").read_text() == "x"


async def test_a_job_waits_while_git_works_on_its_worktree(tmp_path: Path):
    async with a_daemon(tmp_path) as daemon:
        await make(daemon)
        daemon.flow.ledger.apply_now(BeginMerge(1, "ada"))
        job = await daemon.begin("ada", "hello")
        assert daemon.flow.ledger.state.jobs[job].state == "queued"  # type: ignore[index]
        await daemon.until(job, "done")


async def test_a_conflict_changes_nothing_and_the_agent_is_asked(tmp_path: Path):
    async with a_daemon(tmp_path) as daemon:
        path = await make(daemon)
        commit(path, "theirs", a="theirs\n")
        commit(tmp_path / "proj", "mine", a="mine\n")
        status, conflicted = await daemon.post("/v1/merge", ADA)
        assert (status, conflicted["conflict"]["files"]) == (200, ["a"])
        done = await daemon.until(conflicted["conflict"]["job_id"], "done")
        prompt = done.data["job"]["prompt"]
        assert "git rebase main" in prompt
        assert "- a" in prompt
        assert git(path, "status", "--porcelain") == ""
        # What a real agent would do; then a person approves.
        git(path, "rebase", "main", codes=(1,))
        (path / "a").write_text("both\n")
        git(path, "add", "a")
        git(path, "-c", "core.editor=true", "rebase", "--continue")
        _, merged = await daemon.post("/v1/merge", ADA)
    assert merged["result"]["commits_total"] == 1
    assert (tmp_path / "proj" / "a").read_text() == "both\n"


async def test_a_discard_needs_a_second_word_and_can_be_undone(tmp_path: Path):
    async with a_daemon(tmp_path) as daemon:
        path = await make(daemon)
        await daemon.say("ada", "hello")
        commit(path, "precious", b="b\n")
        (path / "draft").write_text("draft\n")
        status, refused = await daemon.post("/v1/discard", ADA)
        assert (status, refused["error"]["code"]) == (409, "E_WORK_WOULD_BE_LOST")
        assert "nowhere else. Not committed: draft. Not merged: " in refused["error"]["message"]
        assert refused["error"]["message"].endswith(" precious.")
        assert path.exists()
        _, discarded = await daemon.post("/v1/discard", {**ADA, "confirm": True})
        assert discarded["ref"] == f"refs/fairlead/discarded/{daemon.flow.ledger.state.state_id}/1"
        assert not path.exists()
        _, job = await daemon.say("ada", "hello")
        assert "turn 2" not in job["answer"]
        assert daemon.flow.ledger.state.jobs[job["job_id"]].project_path == str(tmp_path / "proj")
        _, refused = await daemon.post("/v1/worktrees/1/restore", ADA)
        assert refused["error"]["code"] == "E_SESSION_STATE"  # it has a conversation in the project's directory
        await daemon.post("/v1/reset", ADA)
        status, restored = await daemon.post("/v1/worktrees/1/restore", ADA)
        assert (status, restored["done"]) == (200, "restored")
        back = Path(restored["worktree"]["path"])
    assert (back / "draft").read_text() == "draft\n"
    assert git(back, "log", "-1", "--format=%s") == "precious\n"
    assert git(back, "status", "--porcelain") == "?? draft\n"


async def test_a_worktree_with_nothing_in_it_is_discarded_without_a_second_word(tmp_path: Path):
    async with a_daemon(tmp_path) as daemon:
        path = await make(daemon)
        assert (await daemon.post("/v1/discard", ADA))[0] == 200
        _, listed = await daemon.get("/v1/worktrees")
    assert not path.exists()
    assert listed["worktrees"] == []
    assert [row["number"] for row in listed["discarded"]] == [1]


async def test_a_worktree_that_somebody_removed_is_noticed_by_the_next_turn(tmp_path: Path):
    async with a_daemon(tmp_path) as daemon:
        path = await make(daemon)
        commit(path, "precious", b="b\n")
        shutil.rmtree(path)
        _, job = await daemon.say("ada", "hello")
        assert job["error"]["code"] == "E_WORKTREE_GONE"
        _, shown = await daemon.get("/v1/worktree?userId=ada")
        assert shown["work"]["missing"] is True
        _, refused = await daemon.post("/v1/merge", ADA)
        assert refused["error"]["code"] == "E_WORKTREE_GONE"
        assert (await daemon.post("/v1/discard", {**ADA, "confirm": True}))[0] == 200
        _, job = await daemon.say("ada", "hello")
        assert job["state"] == "success"
    assert git(tmp_path / "proj", "worktree", "list").count("\n") == 1


async def test_a_reset_renews_an_empty_worktree_and_keeps_one_with_work(tmp_path: Path):
    async with a_daemon(tmp_path) as daemon:
        first = await make(daemon)
        await daemon.say("ada", "hello")
        _, reset = await daemon.post("/v1/reset", ADA)
        assert reset["renewed"] is True
        await until_settled(daemon)
        second = Path(state_worktree(daemon).path)
        assert (first.exists(), second.exists()) == (False, True)
        (second / "draft").write_text("x")
        _, reset = await daemon.post("/v1/reset", ADA)
        assert "renewed" not in reset
        assert reset["work"]["uncommitted"] == ["draft"]
        _, job = await daemon.say("ada", "hello")
        assert daemon.flow.ledger.state.jobs[job["job_id"]].project_path == str(second)
    assert (second / "draft").read_text() == "x"


async def test_a_project_can_want_worktrees_by_default_and_a_person_otherwise(tmp_path: Path):
    async with a_daemon(tmp_path) as daemon:
        status, chosen = await daemon.post("/v1/projects/proj/worktree", {"worktree": True})
        assert (status, chosen["worktree"]) == (200, True)
        _, job = await daemon.say("ada", "Fix the parser")
        worktree = state_worktree(daemon)
        assert worktree.branch == "fairlead/fix-the-parser"
        assert daemon.flow.ledger.state.jobs[job["job_id"]].project_path == worktree.path
        _, told = await daemon.get("/v1/sent?userId=ada")
        assert "fairlead/fix-the-parser" in told["messages"][0]["text"]
        _, listed = await daemon.get("/v1/projects")
        assert listed["projects"][0]["worktree"] is True
    assert '"worktree": true' in (tmp_path / "state" / "config.json").read_text()
    config = tmp_path / "state" / "config.json"
    config.write_text(config.read_text().replace('"worktree": true', '"worktree": false'))
    async with a_daemon(tmp_path) as daemon:
        assert daemon.flow.ledger.state.projects["proj"].worktrees is False
        _, job = await daemon.say("bob", "hello")
        assert daemon.flow.ledger.state.jobs[job["job_id"]].project_path == str(tmp_path / "proj")


async def test_a_project_that_is_no_repository_is_refused_in_words(tmp_path: Path):
    (tmp_path / "proj").mkdir()
    async with run_daemon_in(tmp_path) as daemon:
        for path, body in (("/v1/worktree", ADA), ("/v1/projects/proj/worktree", {"worktree": True})):
            status, refused = await daemon.post(path, body)
            assert (status, refused["error"]["code"]) == (409, "E_WORKTREE_UNAVAILABLE")
            assert "not in a git repository" in refused["error"]["message"]
        assert (await daemon.post("/v1/merge", ADA))[1]["error"]["code"] == "E_NOT_IN_MANAGED_THREAD"
        await daemon.say("ada", "hello")
        assert (await daemon.post("/v1/merge", ADA))[1]["error"]["code"] == "E_NO_WORKTREE"


async def test_a_session_with_a_conversation_cannot_take_it_along(tmp_path: Path):
    async with a_daemon(tmp_path) as daemon:
        await daemon.say("ada", "hello")
        status, refused = await daemon.post("/v1/worktree", ADA)
        assert (status, refused["error"]["code"]) == (409, "E_SESSION_STATE")
        await daemon.post("/v1/reset", ADA)
        await make(daemon)


async def test_a_worktree_is_nobody_elses_and_no_project(tmp_path: Path):
    async with a_daemon(tmp_path) as daemon:
        path = await make(daemon)
        status, refused = await daemon.post("/v1/projects/add", {"path": str(path)})
        assert (status, refused["error"]["code"]) == (400, "E_INVALID_PATH")


async def test_a_spawned_session_works_where_the_one_above_works_or_in_its_own(tmp_path: Path):
    async with a_daemon(tmp_path) as daemon:
        path = await make(daemon)
        _, shared = await daemon.post("/v1/spawn", {**ADA, "task": "look"})
        await daemon.until(shared["job_id"], "done")
        _, apart = await daemon.post("/v1/spawn", {**ADA, "task": "Try it", "worktree": True})
        await daemon.until(apart["job_id"], "done")
        jobs = daemon.flow.ledger.state.jobs
        assert jobs[shared["job_id"]].project_path == str(path)
        assert jobs[apart["job_id"]].project_path.endswith("2-try-it")
        _, merged = await daemon.post("/v1/merge", {**ADA, "number": 2})
        assert merged["worktree"]["branch"] == "fairlead/try-it"


async def test_what_a_crash_left_unfinished_is_finished_by_the_next_start_and_told(tmp_path: Path):
    """The facts are there and git has done nothing: the daemon ended in between."""
    async with a_daemon(tmp_path) as daemon:
        path = await make(daemon)
        commit(path, "precious", b="b\n")
    discard = BeginDiscard(number=1, person="ada")
    for begin, told in ((BeginMerge(1, "ada"), "finished the merge"), (discard, "discarded")):
        await leave_unfinished(tmp_path, begin)
        async with a_daemon(tmp_path) as daemon:
            await until_settled(daemon)
            _, messages = await daemon.get("/v1/sent?userId=ada")
            assert told in messages["messages"][-1]["text"]
    assert (tmp_path / "proj" / "b").read_text() == "b\n"
    assert not path.exists()
    await leave_unfinished(tmp_path, want())
    async with a_daemon(tmp_path) as daemon:
        await until_settled(daemon)
        assert Path(state_worktree(daemon).path).is_dir()
        _, messages = await daemon.get("/v1/sent?userId=ada")
        assert "is ready" in messages["messages"][-1]["text"]


def want() -> WantWorktree:
    return WantWorktree(
        session_key=user_key(agent_id="fairlead", user_id="ada"),
        conversation=ConversationRef("http", "fairlead", "ada"),
        person="ada",
    )


async def leave_unfinished(directory: Path, command: BeginMerge | BeginDiscard | WantWorktree) -> None:
    """A daemon that writes the fact, and is gone before git begins."""
    async with AsyncExitStack() as stack:
        boot = RealBoot(settings_in(directory), REAL_DISK, BUILT_IN, echo_warnings=False)
        flow = await sequence.open_alone(boot, stack)
        await flow.ledger.record_durably(command)


async def test_the_plan_is_on_disk_before_git_begins(tmp_path: Path):
    async with a_daemon(tmp_path) as daemon:
        await make(daemon)
        await daemon.say("ada", "hello")
    lines = (tmp_path / "state" / JOURNAL_NAME).read_text().splitlines()
    kinds = [json.loads(line)["type"] for line in lines]
    wanted_kinds = ("WorktreePlanned", "WorktreeMade", "JobStarted")
    assert tuple(kind for kind in kinds if kind in wanted_kinds) == wanted_kinds


async def test_worktrees_whose_sessions_are_gone_are_discarded_unless_work_is_in_them(tmp_path: Path):
    async with a_daemon(tmp_path) as daemon:
        empty, busy = await make(daemon, "ada"), await make(daemon, "bob")
        (busy / "draft").write_text("x")
        daemon.flow.ledger.state.sessions.clear()
        await daemon.flow.worktrees.clear_orphans()
        await until_settled(daemon)
        _, listed = await daemon.get("/v1/worktrees")
    assert [row["path"] for row in listed["worktrees"]] == [str(busy)]
    assert (empty.exists(), (busy / "draft").read_text()) == (False, "x")
