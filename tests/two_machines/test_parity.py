"""What an agent can do here, it can do on another machine: each through a real runner and a real server."""

import os
from pathlib import Path

import pytest

from fairlead.api.wire import NewFile
from fairlead.core import requests
from fairlead.runner.separated_agents import repository_of_worktree
from tests.git.harness import git, make_repository
from tests.runtimes.test_separation import needs_bwrap
from tests.support import tool_agent
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


@needs_bwrap
@pytest.mark.req("H3")
def test_an_agent_in_a_sandbox_there_sees_its_project_and_no_key_and_has_the_tools(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            own_home = tmp_path / "home"
            own_home.mkdir()
            here.base |= {"HOME": str(own_home), "PATH": os.environ["PATH"]}
            plain = here.runner_environment
            sandbox = {"FAIRLEAD_AGENT_SANDBOX": "bwrap", "FAIRLEAD_AGENT_SANDBOX_PATHS": str(AGENTS_CODE)}
            here.runner_environment = lambda name: {**plain(name), **sandbox}
            await bring_up(here, tmp_path)
            (tmp_path / "gpu-project" / "code.py").touch()
            looks = [f"look {tmp_path / 'gpu' / 'joined.json'}", f"look {tmp_path / 'gpu-project' / 'code.py'}"]
            job = await here.end_of(await here.say("gpu", "\n".join([*looks, 'call send_message {"text": "hi"}'])))
            said = job.answer.splitlines()
            assert said[0].startswith("send_message ok"), job
            assert [line.rpartition(" ")[2] for line in said[1:]] == ["False", "True"]

    run(story())


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
