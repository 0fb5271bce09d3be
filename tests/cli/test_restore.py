"""A journal that lost facts stops the start, and `fairlead restore` is the way to go on all the same."""

import json
from pathlib import Path

import pytest

from tests.cli.harness import Daemon, run, state_of

pytestmark = pytest.mark.req("A15")

LONG = "a long prompt " * 20_000


def say(daemon: Daemon, message: str) -> None:
    status, reply = daemon.call("/v1/messages", {"userId": "alice", "message": message, "tool": "echo"})
    assert status == 202, reply
    while daemon.call(f"/v1/jobs/{reply['job_id']}")[1]["state"] != "success":
        pass


@pytest.fixture
def lived(tmp_path: Path) -> tuple[Path, bytes, bytes]:
    """A home whose daemon took two messages and was stopped; its journal after the first one, and
    at the end. The first prompt is long, so it is in a blob."""
    project = tmp_path / "project"
    project.mkdir()
    journal = state_of(tmp_path) / "events.ndjson"
    with Daemon(tmp_path, PROJECTS=json.dumps([str(project)])) as daemon:
        daemon.is_up()
        say(daemon, LONG)
        older = journal.read_bytes()
        say(daemon, "again")
        assert daemon.stop() == 0
    return tmp_path, older, journal.read_bytes()


def files(home: Path) -> dict[str, bytes]:
    state = state_of(home)
    return {str(p.relative_to(state)): p.read_bytes() for p in state.rglob("*") if p.is_file() and p.name != "lock"}


@pytest.mark.parametrize("damage", ["emptied", "halved", "deleted", "older copy"])
def test_a_journal_that_lost_facts_stops_the_start_and_nothing_is_deleted(lived, damage: str):
    home, older, whole = lived
    journal = state_of(home) / "events.ndjson"
    if damage == "deleted":
        journal.unlink()
    else:
        journal.write_bytes({"emptied": b"", "halved": whole[: len(whole) // 2], "older copy": older}[damage])
    before = files(home)
    assert any(name.startswith("blobs/") for name in before)
    done = run(home, "up", "--no-chat")
    assert done.returncode == 78
    assert "snapshot.json proves that" in done.stderr
    assert "`fairlead restore COPY`" in done.stderr
    assert "Traceback" not in done.stderr
    verified = run(home, "journal", "verify")
    assert verified.returncode == 1
    assert "snapshot.json proves that" in verified.stdout
    assert files(home) == before, "no blob is gone, and no file has changed"
    journal.write_bytes(whole)
    with Daemon(home) as daemon:
        daemon.is_up()
        assert daemon.stop() == 0


def test_restore_says_what_will_be_forgotten_asks_and_keeps_the_old_files(lived):
    home, older, whole = lived
    state = state_of(home)
    copy = home / "copy.ndjson"
    copy.write_bytes(older)
    before = files(home)
    refused = run(home, "restore", str(copy), stdin="n\n")
    assert refused.returncode == 1
    assert "events will be lost" in refused.stdout
    assert "Jobs that will be lost: job_" in refused.stdout
    assert "would run again if they are received again: 1." in refused.stdout
    assert files(home) == before
    done = run(home, "restore", str(copy), "--yes")
    assert done.returncode == 0, done.stderr
    assert (state / "events.ndjson").read_bytes() == older
    [kept] = state.glob("events.ndjson.before-restore-*")
    assert kept.read_bytes() == whole
    assert str(kept) in done.stdout
    with Daemon(home) as daemon:
        daemon.is_up()
        assert daemon.stop() == 0
    assert run(home, "journal", "verify").returncode == 0


def test_what_is_left_can_be_accepted(lived):
    home, older, _ = lived
    (state_of(home) / "events.ndjson").write_bytes(older)
    done = run(home, "restore", "--yes")
    assert done.returncode == 0, done.stderr
    assert "events will be lost" in done.stdout
    with Daemon(home) as daemon:
        daemon.is_up()
        assert daemon.stop() == 0


def test_restore_is_refused_while_a_daemon_runs(tmp_path: Path):
    with Daemon(tmp_path) as daemon:
        daemon.is_up()
        done = run(tmp_path, "restore", "--yes")
        assert done.returncode == 75
        assert "E_STATE_LOCKED" in done.stderr
