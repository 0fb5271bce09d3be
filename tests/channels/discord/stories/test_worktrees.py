"""Worktrees on Discord: a thread that works in one, merged and discarded from the phone, whenever the daemon dies."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from loopback_discord import Conversation

from tests.channels.discord.harness import Stage, a_stage
from tests.channels.discord.stories.test_changes import write_file
from tests.git.harness import git, make_repository

pytestmark = [pytest.mark.anyio, pytest.mark.req("F5")]

HOLDING_GIT = """#!/bin/sh
for word in "$@"; do
    if [ "$word" = "$(cat {home}/hold 2>/dev/null)" ]; then
        touch {home}/held
        while [ ! -e {home}/go ]; do sleep 0.02; done
        [ "$(cat {home}/go)" = run ] || exit 1
    fi
done
exec {git} "$@"
"""


def prepare(home: Path) -> Path:
    """A repository, and a git that can be held before one of its commands."""
    project = make_repository(home / "api", a="one\n")
    (home / "bin").mkdir(exist_ok=True)
    holding = home / "bin" / "git"
    holding.write_text(HOLDING_GIT.format(home=home, git=shutil.which("git")))
    holding.chmod(0o755)
    return project


async def begin(stage: Stage) -> tuple[Conversation, Path]:
    """A thread with a worktree, and where that is."""
    reply: Any = await stage.owner.slash(stage.text_channel, "start", project_name="api", worktree=True).reply()
    assert reply is not None
    [made] = await stage.daemon.until_journalled("WorktreeMade")
    return stage.text_channel.threads()[-1], Path(made["payload"]["directory"])


async def test_a_thread_works_in_its_own_worktree_and_is_merged(tmp_path: Path) -> None:
    project = prepare(tmp_path)
    (project / "mine").write_text("not committed\n")
    async with a_stage(tmp_path) as stage:
        thread, path = await begin(stage)
        opening = next(m for m in stage.text_channel.messages if "**api**" in m.content)
        assert "`fairlead/api-" in opening.content
        told = await thread.wait_for_answer(lambda m: "is ready" in m.content)
        assert "1 uncommitted files" in told.content
        await write_file(stage, thread, "b.txt new words")
        assert (path / "b.txt").read_text().strip() == "new words"
        assert not (project / "b.txt").exists()
        refused: Any = await stage.owner.slash(thread, "merge").reply()
        assert "E_UNCOMMITTED_WORK" in refused.content
        assert "b.txt" in refused.content
        git(path, "add", "-A")
        git(path, "commit", "-q", "-m", "add b")
        merged: Any = await stage.owner.slash(thread, "merge").reply()
        assert "1 commits, 1 files" in merged.content
        status: Any = await stage.owner.slash(thread, "status").reply()
        assert "fairlead/api-" in json.dumps(status.embeds) + status.content
        discarded: Any = await stage.owner.slash(thread, "discard").reply()
        assert "/worktree restore 1" in discarded.content
        said = stage.owner.say(thread, "hello")
        await thread.wait_for_answer(lambda m: "echo agent:" in m.content, after=said)
        started = stage.daemon.journal("JobStarted")[-1]["payload"]
    assert started["project_path"] == str(project)
    assert (project / "b.txt").read_text().strip() == "new words"
    assert (project / "mine").read_text() == "not committed\n"


async def test_a_project_that_is_no_repository_starts_no_thread_with_a_worktree(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        reply: Any = await stage.owner.slash(stage.text_channel, "start", project_name="api", worktree=True).reply()
        assert "E_WORKTREE_UNAVAILABLE" in reply.content
        assert stage.text_channel.threads() == []


async def hold(home: Path, word: str) -> None:
    (home / "go").unlink(missing_ok=True)
    (home / "held").unlink(missing_ok=True)
    (home / "hold").write_text(word)


async def until_held(home: Path) -> None:
    async with asyncio.timeout(60):
        while not (home / "held").exists():
            await asyncio.sleep(0.02)


@pytest.mark.long
@pytest.mark.parametrize("outlives", ["run", "end"])
@pytest.mark.parametrize("step", ["add", "update-ref", "rebase", "merge", "commit-tree", "remove", "branch"])
async def test_the_daemon_is_killed_in_the_middle_and_the_next_start_says_what_stands(
    tmp_path: Path, step: str, outlives: str
) -> None:
    """Git is held before this step, and the daemon is killed. The git that outlives it goes on (`run`), or dies with
    the machine (`end`)."""
    project = prepare(tmp_path)
    async with a_stage(tmp_path) as stage:
        if step in {"add", "update-ref"}:
            await hold(tmp_path, step)
            asked = stage.owner.slash(stage.text_channel, "start", project_name="api", worktree=True)
            await until_held(tmp_path)
        else:
            thread, path = await begin(stage)
            (path / "b").write_text("b\n")
            git(path, "add", "-A")
            git(path, "commit", "-q", "-m", "theirs")
            (project / "a").write_text("two\n")
            git(project, "commit", "-aqm", "mine")
            (project / "draft").write_text("mine\n")
            if step not in {"rebase", "merge"}:
                (path / "draft").write_text("theirs\n")
            await hold(tmp_path, step)
            is_merge = step in {"rebase", "merge"}
            asked = stage.owner.slash(
                thread, "merge" if is_merge else "discard", **({} if is_merge else {"confirm": True})
            )
            await until_held(tmp_path)
        del asked
        await stage.daemon.kill()
        (tmp_path / "hold").unlink()
        (tmp_path / "go").write_text(outlives)
        await stage.daemon.up()
        thread = await stage.text_channel.wait_for_thread()
        if step in {"add", "update-ref"}:
            await thread.wait_for_answer(lambda m: "is ready" in m.content)
            said = stage.owner.say(thread, "hello")
            await thread.wait_for_answer(lambda m: "echo agent:" in m.content, after=said)
            started = stage.daemon.journal("JobStarted")[-1]["payload"]
            assert Path(started["project_path"]).is_relative_to(tmp_path / "state" / "worktrees")
        elif step in {"rebase", "merge"}:
            await thread.wait_for_answer(lambda m: "finished the merge" in m.content)
            assert git(project, "log", "--format=%s").split() == ["theirs", "mine", "first"]
        else:
            await thread.wait_for_answer(lambda m: "is discarded" in m.content)
            [kept] = stage.daemon.journal("WorktreeDiscarded")
            assert git(project, "show", f"{kept['payload']['commit']}:draft") == "theirs\n"
            assert git(project, "worktree", "list").count("\n") == 1
    if step not in {"add", "update-ref"}:
        assert (project / "draft").read_text() == "mine\n"
    assert git(project, "for-each-ref", "refs/fairlead/merging") == ""
