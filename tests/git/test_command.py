"""Real git, as the daemon runs it: nothing that a project names is executed, nothing is left running."""

import asyncio
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from fairlead.git.command import Git, GitCalls, GitFailed, GitMissing, GitPlace
from tests.git.harness import git, make_repository

pytestmark = pytest.mark.req("F1")

T = TypeVar("T")


def work(steps: Callable[[GitCalls], T], *, limit_sec: float | None = None, env: dict[str, str] | None = None) -> T:
    runner = Git(dict(os.environ) if env is None else env)
    try:
        return asyncio.run(runner.work(steps, limit_sec=limit_sec))
    finally:
        runner.close()


def trap(directory: Path, name: str) -> Path:
    """A program that leaves a trace when somebody runs it."""
    program = directory / name
    program.write_text(f"#!/bin/sh\ntouch {directory}/{name}.ran\ncat\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def test_a_command_gives_what_git_printed(tmp_path: Path):
    repository = make_repository(tmp_path / "app")
    place = GitPlace(directory=str(repository))
    ran = work(lambda calls: calls.run(["rev-parse", "HEAD"], place=place))
    assert ran.line == git(repository, "rev-parse", "HEAD").strip()


def test_input_and_output_larger_than_a_pipe_pass(tmp_path: Path):
    place = GitPlace(directory=str(make_repository(tmp_path)))
    big = os.urandom(3_000_000)

    def store_and_read(calls: GitCalls) -> bytes:
        stored = calls.run(["hash-object", "-w", "--stdin"], place=place, stdin=big).line
        return calls.run(["cat-file", "blob", stored], place=place).stdout

    assert work(store_and_read) == big


def test_output_beyond_what_is_wanted_is_cut(tmp_path: Path):
    repository = make_repository(tmp_path, big="x\n" * 2_000_000)
    place = GitPlace(directory=str(repository))
    ran = work(lambda calls: calls.run(["cat-file", "blob", "HEAD:big"], place=place, most=1000))
    assert ran.is_cut
    assert 1000 <= len(ran.stdout) < 1_000_000


def test_a_failure_says_what_git_said(tmp_path: Path):
    place = GitPlace(directory=str(make_repository(tmp_path)))
    with pytest.raises(
        GitFailed, match="git cat-file ended with 128: fatal: Not a valid object name nowhere"
    ) as caught:
        work(lambda calls: calls.run(["cat-file", "blob", "nowhere"], place=place))
    assert not caught.value.is_disk_full


def test_a_machine_without_git_says_so(tmp_path: Path):
    with pytest.raises(GitMissing, match="git was not found"):
        work(lambda calls: calls.run(["version"], place=GitPlace(directory=str(tmp_path))), env={"PATH": str(tmp_path)})


def test_neither_variables_of_the_daemon_nor_the_persons_configuration_are_seen(tmp_path: Path):
    repository = make_repository(tmp_path / "app")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Somebody\n")
    env = {
        **os.environ,
        "HOME": str(home),
        "GIT_DIR": "/nowhere",
        "GIT_INDEX_FILE": "/nowhere",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "user.email",
        "GIT_CONFIG_VALUE_0": "leaked@example.org",
        "FAIRLEAD_DISCORD_TOKEN": "secret",
    }
    place = GitPlace(directory=str(repository))
    listed = work(lambda calls: calls.run(["config", "--list", "--name-only"], place=place), env=env)
    assert "user." not in listed.stdout.decode()
    assert work(lambda calls: calls.run(["rev-parse", "--show-toplevel"], place=place), env=env).line == str(repository)


def test_no_hook_monitor_or_signer_of_the_repository_runs(tmp_path: Path):
    repository = make_repository(tmp_path / "app")
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "reference-transaction", "post-commit", "post-index-change"):
        trap(hooks, name)
    for key in ("core.fsmonitor", "gpg.program"):
        git(repository, "config", key, str(trap(tmp_path, key)))
    git(repository, "config", "commit.gpgSign", "true")
    (repository / "new").write_text("x")
    place = GitPlace(directory=str(repository))

    def commit(calls: GitCalls) -> None:
        calls.run(["add", "-A"], place=place)
        calls.run(["status", "--ignore-submodules=dirty"], place=place)
        calls.run(["commit", "-q", "-m", "x"], place=place)

    work(commit)
    assert [path.name for path in tmp_path.rglob("*.ran")] == []
    git(repository, "status")
    assert "core.fsmonitor.ran" in [path.name for path in tmp_path.rglob("*.ran")], "the trap works for others"


def test_a_command_that_takes_too_long_is_ended_and_leaves_no_lock(tmp_path: Path):
    repository = make_repository(tmp_path)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    place = GitPlace(directory=str(repository))
    with pytest.raises(TimeoutError):
        work(
            lambda calls: calls.run(["update-index", "--index-info"], place=place, stdin=b"x" * (1 << 20)), limit_sec=0
        )
    with pytest.raises(TimeoutError):
        work(lambda calls: calls.run(["hash-object", str(fifo)], place=place), limit_sec=0.2)
    assert not (repository / ".git" / "index.lock").exists()


def test_a_cancelled_caller_waits_for_the_end_of_git(tmp_path: Path):
    place = GitPlace(directory=str(make_repository(tmp_path)))
    os.mkfifo(tmp_path / "fifo")
    pids: list[int] = []

    def read_for_ever(calls: GitCalls) -> None:
        process = calls._start(["hash-object", "fifo"], place)
        pids.append(process.pid)
        try:
            calls._exchange(process, b"", 1000)
        finally:
            calls._end(process)

    async def story() -> None:
        runner = Git(dict(os.environ))
        task = asyncio.ensure_future(runner.work(read_for_ever))
        while not pids:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        runner.close()

    asyncio.run(story())
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)
