"""The commands about worktrees: who may ask what, by number and without one."""

from pathlib import Path

import pytest

from tests.channels.harness import run_daemon_in
from tests.git.harness import make_repository

pytestmark = [pytest.mark.anyio, pytest.mark.req("F5")]


async def test_worktrees_are_listed_shown_and_named_by_number(tmp_path: Path):
    make_repository(tmp_path / "proj")
    async with run_daemon_in(tmp_path) as daemon:
        assert (await daemon.get("/v1/worktrees"))[1] == {"kind": "WorktreeCatalogue", "worktrees": []}
        await daemon.post("/v1/worktree", {"userId": "ada"})
        _, again = await daemon.post("/v1/worktree", {"userId": "ada"})
        assert again["done"] == "shown"
        _, listed = await daemon.get("/v1/worktrees")
        assert [(row["number"], row["status"]) for row in listed["worktrees"]] == [(1, "ready")]
        _, shown = await daemon.get("/v1/worktree?userId=bob&number=1")
        assert shown["worktree"]["number"] == 1
        for path, body in (("/v1/merge", {"number": 7}), ("/v1/discard", {"number": 7})):
            status, refused = await daemon.post(path, {"userId": "ada", **body})
            assert (status, refused["error"]["code"]) == (409, "E_NO_WORKTREE")
        _, refused = await daemon.post("/v1/worktrees/9/restore", {"userId": "ada"})
        assert refused["error"]["code"] == "E_NO_WORKTREE"
        _, chosen = await daemon.get("/v1/choices?command=merge&argument=number&typed=&userId=ada")
        assert [choice["value"] for choice in chosen["choices"]] == ["1"]
        await daemon.post("/v1/discard", {"userId": "ada", "number": 1})
        _, kept = await daemon.get("/v1/choices?command=worktree%20restore&argument=number&typed=&userId=ada")
        assert [choice["value"] for choice in kept["choices"]] == ["1"]


async def test_an_agent_start_begins_the_session_in_a_worktree(tmp_path: Path):
    make_repository(tmp_path / "proj")
    async with run_daemon_in(tmp_path) as daemon:
        status, started = await daemon.post("/v1/agent/start", {"userId": "ada", "project": "1", "worktree": True})
        assert status == 200
        assert started["branch"].startswith("fairlead/proj-")
        _, status_now = await daemon.get("/v1/status?userId=ada")
    assert status_now["worktree"]["status"] == "ready"


async def test_a_spawn_with_a_worktree_is_refused_where_there_is_no_repository(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        status, refused = await daemon.post("/v1/spawn", {"userId": "ada", "task": "x", "worktree": True})
    assert (status, refused["error"]["code"]) == (409, "E_WORKTREE_UNAVAILABLE")


async def test_a_worktree_that_could_not_be_made_is_made_when_the_way_is_free(tmp_path: Path):
    make_repository(tmp_path / "proj")
    async with run_daemon_in(tmp_path) as daemon:
        await daemon.post("/v1/projects/proj/worktree", {"worktree": True})
        in_the_way = tmp_path / "state" / "worktrees" / "proj" / "1-hello"
        in_the_way.mkdir(parents=True)
        (in_the_way / "file").write_text("x")
        _, job = await daemon.say("ada", "hello")
        assert job["error"]["code"] == "E_WORKTREE_UNAVAILABLE"
        _, shown = await daemon.get("/v1/worktree?userId=ada")
        assert "in the way" in shown["worktree"]["error"]
        (in_the_way / "file").unlink()
        _, made = await daemon.post("/v1/worktree", {"userId": "ada"})
        assert (made["done"], made["worktree"]["status"]) == ("made", "ready")
        _, job = await daemon.say("ada", "hello")
    assert job["state"] == "success"
