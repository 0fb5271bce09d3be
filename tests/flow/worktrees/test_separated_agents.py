"""Agents in a sandbox, or under another user, work and commit in their worktree, and reach no more than that."""

import json
import os
import pwd
import stat
from pathlib import Path
from typing import Any

import pytest

from fairlead.kit.other_user import write_shared_acl
from tests.channels.harness import DaemonHarness, run_daemon_in
from tests.git.harness import git, make_repository
from tests.runtimes.test_separation import agents_user, needs_bwrap, needs_root, place

pytestmark = [pytest.mark.anyio, pytest.mark.req("F5", "B11", "B14")]

__all__ = ["agents_user", "place"]

GIT = ("git", "-c", "safe.directory=*", "-c", "user.name=Agent", "-c", "user.email=agent@example.org")


def open_to(directory: Path, uid: int) -> None:
    """As the documents tell people to do it: setfacl -R -m u:agents:rwX,d:u:agents:rwX."""
    acl = write_shared_acl((os.geteuid(), uid))
    for path in (directory, *directory.rglob("*")):
        if path.is_dir():
            os.setxattr(path, "system.posix_acl_default", acl)
        os.setxattr(path, "system.posix_acl_access", acl)


async def work_in_worktree(daemon: DaemonHarness, place: Path) -> dict[str, Any]:
    """The agent edits, commits, and tries to reach what is not its own; then a person merges and discards."""
    status, made = await daemon.post("/v1/worktree", {"userId": "ada"})
    assert status == 200, made
    path = made["worktree"]["path"]
    await daemon.post("/v1/worktree", {"userId": "bob"})
    other = next(w.path for w in daemon.flow.ledger.state.worktrees.values() if w.path != path)
    deeds = {
        "edit": ("write", f"{path}/b.txt", "new\n"),
        "add": ("run", *GIT, "add", "-A"),
        "commit": ("run", *GIT, "commit", "-q", "-m", "work"),
        "token": ("read", str(place / "state" / "http-token")),
        "beside": ("look", str(Path(path).parent)),
        "others": ("write", f"{other}/evil", "x"),
    }
    _, job = await daemon.say("ada", json.dumps(deeds), tool="codex")
    found = json.loads(job["answer"].partition("\n\n⚠")[0])
    assert (found["edit"], found["add"], found["commit"]) == ("ok", "0 ", "0 "), found
    (place / "proj" / "a").write_text("two\n")
    git(place / "proj", "commit", "-qam", "mine")
    status, merged = await daemon.post("/v1/merge", {"userId": "ada"})
    assert status == 200, merged
    assert merged["result"]["files"] == ["b.txt"]
    again = {"edit": ("write", f"{path}/a", "three\n"), "commit": ("run", *GIT, "commit", "-qam", "again")}
    _, job = await daemon.say("ada", json.dumps(again), tool="codex")
    assert json.loads(job["answer"].partition("\n\n⚠")[0]) == {"edit": "ok", "commit": "0 "}
    assert (await daemon.post("/v1/discard", {"userId": "ada", "confirm": True}))[0] == 200
    assert not Path(path).exists()
    return found


@needs_root
async def test_under_another_user(place: Path, agents_user: str):
    make_repository(place / "proj", a="one\n")
    open_to(place / "proj", pwd.getpwnam(agents_user).pw_uid)
    more = {"FAIRLEAD_AGENT_USER": agents_user, "CODEX_COMMAND": str(place / "codex")}
    async with run_daemon_in(place, **more) as daemon:
        found = await work_in_worktree(daemon, place)
    assert (found["token"], found["beside"]) == ("PermissionError", "PermissionError")
    assert stat.S_IMODE((place / "state" / "worktrees").stat().st_mode) == 0o711
    assert (place / "proj" / "b.txt").read_text() == "new\n"


@needs_bwrap
async def test_in_a_sandbox(place: Path):
    make_repository(place / "proj", a="one\n")
    more = {"FAIRLEAD_AGENT_SANDBOX": "bwrap", "CODEX_COMMAND": str(place / "codex")}
    async with run_daemon_in(place, **more) as daemon:
        found = await work_in_worktree(daemon, place)
    assert found["token"] == "FileNotFoundError"
    assert found["others"] == "FileNotFoundError"
    assert len(found["beside"]) == 1


@needs_bwrap
async def test_a_project_in_the_sandbox_that_points_to_another_repository_opens_nothing(place: Path):
    secret = make_repository(place / "secret")
    (place / "proj" / ".git").write_text(f"gitdir: {secret}/.git\n")
    async with run_daemon_in(place, FAIRLEAD_AGENT_SANDBOX="bwrap") as daemon:
        status, refused = await daemon.post("/v1/worktree", {"userId": "ada"})
    assert (status, refused["error"]["code"]) == (409, "E_WORKTREE_UNAVAILABLE")
