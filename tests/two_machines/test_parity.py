"""What an agent can do here, it can do on another machine: each through a real runner and a real server."""

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fairlead.api.wire import NewFile
from fairlead.core import requests
from fairlead.runner.separated_agents import repository_of_worktree
from tests.git.harness import git, make_repository
from tests.runtimes.test_separation import needs_bwrap, needs_root
from tests.support import accounts, tool_agent
from tests.two_machines.harness import Site, run, site

AGENTS_CODE = Path(tool_agent.__file__).parent


async def bring_up(here: Site, home: Path) -> None:
    """A machine whose agent calls tools."""
    program = tool_agent.write_program(home)
    here.base["CODEX_COMMAND"] = str(program)
    here.agent = str(program)
    await here.start_daemon()
    await here.bring_up("gpu")


@pytest.mark.req("H3")
def test_an_agent_there_has_fairleads_own_tools(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            await bring_up(here, tmp_path)
            (tmp_path / "gpu-project" / "report.txt").write_text("all is well")
            calls = (
                'call set_title {"title": "Trained"}',
                'call send_message {"text": "half done"}',
                'call send_file {"path": "report.txt", "caption": "the report"}',
                'call send_file {"path": "../settings"}',
                'call ask_user {"question": "Again?", "choices": ["yes", "no"]}',
                'call spawn_session {"task": "look elsewhere"}',
                'call schedule {"when": "0 9 * * 1-5", "text": "good morning"}',
            )
            job = await here.end_of(await here.say("gpu", "\n".join(calls)))
            verdicts = [line.partition(":")[0] for line in job.answer.splitlines()]
            assert verdicts == [
                "set_title ok",
                "send_message ok",
                "send_file ok",
                "send_file no",
                "ask_user ok",
                "spawn_session ok",
                "schedule ok",
            ], job.answer
            assert [fact["title"] for fact in here.journal("SessionTitled")] == ["Trained"]
            assert len(here.journal("SessionSpawned")) == len(here.journal("ScheduleMade")) == 1
            kept = [path.read_bytes() for path in (tmp_path / "state" / "blobs").rglob("*") if path.is_file()]
            assert b"all is well" in kept

    run(story())


@pytest.mark.req("H3")
def test_files_of_a_turn_there_are_noted_and_can_be_undone(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            await bring_up(here, tmp_path)
            project = tmp_path / "gpu-project"
            job = await here.end_of(await here.say("gpu", f"write {project / 'new.txt'} words"))
            assert job.state == "success"
            assert (project / "new.txt").read_text() == "words"
            while not (noted := [f for f in here.journal("TreeSnapshotTaken") if f["moment"] == "end"]):
                await here.job(job.job_id)
            assert noted[0]["changed"]["files"][0]["path"] == "new.txt"
            await here.ask(requests.Undo())
            assert not (project / "new.txt").exists()

    run(story())


PICTURE = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de")


@pytest.mark.req("H3")
def test_a_picture_that_a_person_sends_and_one_that_an_agent_makes_travel(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            await bring_up(here, tmp_path)
            async with here.client() as client:
                sent = NewFile("cat.png", PICTURE, "image/png")
                place = {"project": "gpu/gpu-project"}
                taken = await client.submit("local", "look at it", tool="gpu/codex", files=[sent], **place)
                assert (await here.end_of(taken.job_id)).answer == f"picture {PICTURE.hex()}"
                drawn = await client.submit("local", "hi\n/image", tool="gpu/echo", **place)
                job = await here.end_of(drawn.job_id)
                assert job.state == "success"
                assert len(job.files) == 1

    run(story())


async def look_around(home: Path, separation: dict[str, str], *first: str) -> list[str]:
    """What an agent says that is separated like this at its runner: it tries to read two files."""
    async with site(home) as here:
        (home / "home").mkdir()
        here.base |= {"HOME": str(home / "home"), "PATH": os.environ["PATH"]}
        plain = here.runner_environment
        here.runner_environment = lambda name: {**plain(name), **separation}
        await bring_up(here, home)
        (home / "gpu-project" / "code.py").touch()
        looks = [f"look {home / 'gpu' / 'joined.json'}", f"look {home / 'gpu-project' / 'code.py'}"]
        job = await here.end_of(await here.say("gpu", "\n".join([*first, *looks])))
        assert job.state == "success", job
        return [line.partition(":")[0].rpartition(" ")[2] for line in job.answer.splitlines()]


@needs_bwrap
@pytest.mark.req("H3")
def test_an_agent_in_a_sandbox_there_sees_its_project_and_no_key_and_has_the_tools(tmp_path: Path):
    sandbox = {"FAIRLEAD_AGENT_SANDBOX": "bwrap", "FAIRLEAD_AGENT_SANDBOX_PATHS": str(AGENTS_CODE)}
    said = run(look_around(tmp_path, sandbox, 'call send_message {"text": "hi"}'))
    assert said == ["ok", "False", "True"]


@needs_root
@pytest.mark.req("H3")
def test_an_agent_of_another_user_there_sees_its_project_and_no_key_and_has_the_tools():
    """Its program is the system's Python: the user may not be let in where ours lies, nor start `fairlead mcp`."""
    with accounts.make_user("fairlead-there") as name, TemporaryDirectory(prefix="two-", dir="/tmp") as made:
        home = Path(made)
        home.chmod(0o755)  # the agents' user passes through
        code = shutil.copy(tool_agent.__file__, home)
        program = home / "codex"
        program.write_text(f'#!/bin/sh\nexec /usr/bin/env -S python3 -I {code} "$@"\n')
        program.chmod(0o755)
        separation = {"FAIRLEAD_AGENT_USER": name, "CODEX_COMMAND": str(program), "PATH": "/usr/bin:/bin"}
        said = run(look_around(home, separation, 'say send_message {"text": "hi"}'))
        assert said == ["ok", "False", "True"]


@pytest.mark.req("H3")
def test_a_worktrees_repository_is_found_and_no_other_whatever_its_agent_writes(tmp_path: Path):
    repository = make_repository(tmp_path / "repository", model="one\n")
    worktree = tmp_path / "worktree"
    git(repository, "worktree", "add", "-q", str(worktree), "-b", "fix")
    assert repository_of_worktree(worktree) == [repository / ".git"]
    assert repository_of_worktree(repository) == repository_of_worktree(tmp_path) == []
    another = make_repository(tmp_path / "another", secret="x\n")
    git(another, "worktree", "add", "-q", str(tmp_path / "elsewhere"), "-b", "fix")
    for place in (another / ".git" / "worktrees" / "elsewhere", another / ".git", tmp_path / "missing"):
        (worktree / ".git").write_text(f"gitdir: {place}\n")
        assert repository_of_worktree(worktree) == []
