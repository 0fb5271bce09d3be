"""What changed, through a whole daemon with the real git: over HTTP and as a program in the terminal reads it."""

from pathlib import Path

import pytest

from fairlead.api import Client
from fairlead.core import requests as ask
from tests.channels.harness import a_client, run_daemon_in, write_files
from tests.git.harness import git, make_repository, own_files_of

pytestmark = [pytest.mark.anyio, pytest.mark.req("F1", "F2")]


async def test_a_turn_that_wrote_files_over_http(tmp_path: Path):
    project = make_repository(tmp_path / "proj")
    before = own_files_of(project / ".git")
    async with run_daemon_in(tmp_path) as daemon:
        job_id = await write_files(daemon, "alice", "a.txt one", "README.md changed")
        status, shown = await daemon.get(f"/v1/jobs/{job_id}/changes")
        assert status == 200
        assert [(file["path"], file["kind"]) for file in shown["files"]] == [
            ("README.md", "modified"),
            ("a.txt", "added"),
        ]
        assert "-hello\n+changed\n" in shown["diff"]
        await write_files(daemon, "alice", "b.txt two")
        _, whole = await daemon.get("/v1/changes?userId=alice&scope=session")
        assert [file["path"] for file in whole["files"]] == ["README.md", "a.txt", "b.txt"]
        async with a_client(daemon) as client:
            assert isinstance(client, Client)
            listed = await client.command(ask.Changes(job_id), "alice")
            assert listed.diff == shown["diff"]
        status, refused = await daemon.get("/v1/jobs/job_20000101_0001/changes")
        assert (status, refused["error"]["code"]) == (404, "E_JOB_NOT_FOUND")
    assert own_files_of(project / ".git") == before
    refs = git(project, "for-each-ref", "--format=%(refname)", "refs/fairlead").split()
    assert [ref.rpartition("/")[2] for ref in refs] == ["end", "start", "end", "start"]


async def test_a_turn_that_wrote_nothing(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        await daemon.say("alice", "hello")
        job_id = (await daemon.get("/v1/jobs?userId=alice"))[1]["jobs"][0]["job_id"]
        _, shown = await daemon.get(f"/v1/jobs/{job_id}/changes")
        assert "files" not in shown


async def test_snapshots_can_be_turned_off(tmp_path: Path):
    project = make_repository(tmp_path / "proj")
    async with run_daemon_in(tmp_path, FAIRLEAD_TREE_SNAPSHOTS=False) as daemon:
        job_id = await write_files(daemon, "alice", "a.txt one")
        status, refused = await daemon.get(f"/v1/jobs/{job_id}/changes")
        assert (status, refused["error"]["code"]) == (409, "E_SNAPSHOT_GONE")
    assert git(project, "for-each-ref", "refs/fairlead") == ""


@pytest.mark.req("F4")
async def test_undo_and_redo_over_http(tmp_path: Path):
    project = make_repository(tmp_path / "proj")
    async with run_daemon_in(tmp_path) as daemon:
        first = await write_files(daemon, "alice", "a.txt one")
        second = await write_files(daemon, "alice", "README.md changed", "b.txt two")
        (project / "mine.txt").write_text("a person's own\n")
        own = own_files_of(project / ".git")
        status, undone = await daemon.post("/v1/undo", {"userId": "alice"})
        assert (status, undone["job_ids"], undone["total"]) == (200, [second], 2)
        assert (project / "README.md").read_text() == "hello\n"
        assert not (project / "b.txt").exists()
        status, _ = await daemon.post(f"/v1/jobs/{first}/undo", {"turns": "since", "what": "files"})
        assert (status, (project / "a.txt").exists()) == (200, False)
        assert (await daemon.post("/v1/redo", {"userId": "alice"}))[0] == 200
        assert (await daemon.post("/v1/redo", {"userId": "alice"}))[0] == 200
        assert (project / "README.md").read_text() == "changed\n"
        (project / "b.txt").write_text("mine\n")
        status, refused = await daemon.post(f"/v1/jobs/{second}/undo", {})
        assert (status, refused["error"]["code"]) == (409, "E_UNDO_CHANGED")
        assert "b.txt" in refused["error"]["message"]
        _, told = await daemon.get(f"/v1/why?userId=alice&subject={second}")
        assert [step["type"] for step in told["steps"]].count("JobUndone") == 1
        assert own_files_of(project / ".git") == own
        assert (project / "mine.txt").read_text() == "a person's own\n"
