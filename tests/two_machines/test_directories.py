"""Commands that look at directories ask the machine that the project lies on: each with a real server, and a runner
whose home directory is another one than the daemon's."""

import subprocess
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from fairlead.api import Client
from fairlead.channels.terminal.commands import CommandLine
from fairlead.channels.terminal.completion import CommandCompleter, look_up_choices, look_up_files
from fairlead.core import replies, requests
from fairlead.errors import FairleadError
from tests.runtimes.records.test_codex import KEY, meta, said, write_rollout
from tests.two_machines.harness import Site, run, site


async def open_trainer(here: Site) -> Path:
    """A runner on gpu, and a repository in its home directory, named as a person there would."""
    trainer = here.home_of("gpu") / "trainer"
    (trainer / "src").mkdir(parents=True)
    (trainer / "src" / "train.py").write_text("print(1)\n")
    subprocess.run(["git", "init", "-q", str(trainer)], check=True)
    await here.start_daemon()
    await here.add("gpu")
    await here.start_runner("gpu")
    await here.presence("gpu", is_there=True)
    project = await here.ask(requests.ProjectAdd("gpu:~/trainer"))
    assert isinstance(project, replies.ProjectInfo)
    assert (project.name, project.path) == ("gpu/trainer", f"gpu:{trainer}")
    return trainer


async def offered(client: Client, directory: str, typed: str) -> list[str]:
    completer = CommandCompleter(
        CommandLine(), look_up_choices(client, "local"), lambda: directory, look_up_files(client, "local")
    )
    return [c.text async for c in completer.get_completions_async(Document(typed), CompleteEvent())]


@pytest.mark.req("H2")
def test_a_project_is_added_and_its_files_are_completed_by_asking_its_machine(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            trainer = await open_trainer(here)
            with pytest.raises(FairleadError) as refused:
                await here.ask(requests.ProjectAdd("gpu:~/trainr"))
            assert refused.value.code == "E_INVALID_PATH"
            assert refused.value.message == f"~/trainr does not exist. Did you mean {trainer}?"
            with pytest.raises(FairleadError) as refused:
                await here.ask(requests.ProjectAdd("cpu:/srv/trainer"))
            assert refused.value.code == "E_MACHINE_NOT_FOUND"
            async with here.client() as client:
                place = f"gpu:{trainer}"
                assert await offered(client, place, "look at @s") == ["@src/"]
                assert await offered(client, place, "look at @src/tr") == ["@src/train.py"]
                assert await offered(client, place, "look at @../") == []
                with pytest.raises(FairleadError, match="no project"):
                    await client.files(f"gpu:{tmp_path}", "", "local")  # what is no project is not looked into

    run(story())


@pytest.mark.req("H2")
def test_changes_and_undo_are_about_the_files_there_and_a_machine_that_is_away_is_named(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            trainer = await open_trainer(here)
            async with here.client() as client:
                accepted = await client.submit("local", "this is one\nwrite src/new.py", project="gpu/trainer")
            job = await here.end_of(accepted.job_id)
            assert (job.state, (trainer / "src" / "new.py").read_text()) == ("success", "this is one\n")
            shown = await here.ask(requests.Changes(accepted.job_id))
            assert isinstance(shown, replies.ChangesShown)
            assert [(file.path, file.added) for file in shown.files] == [("src/new.py", 1)]
            assert "+this is one" in shown.diff
            await here.ask(requests.Undo(accepted.job_id, what="files"))
            assert not (trainer / "src" / "new.py").exists()
            await here.ask(requests.Redo())
            assert (trainer / "src" / "new.py").read_text() == "this is one\n"
            await here.runners["gpu"].end()
            await here.presence("gpu", is_there=False)
            for request in (requests.Changes(accepted.job_id), requests.ProjectAdd("gpu:~/other")):
                with pytest.raises(FairleadError, match="gpu is away since") as away:
                    await here.ask(request)
                assert away.value.code == "E_MACHINE_AWAY"

    run(story())


@pytest.mark.req("H2")
def test_sessions_of_the_agents_there_are_listed_and_adopted(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            trainer = await open_trainer(here)
            exchange = (said("UserMessage", "my name is Alice"), said("AgentMessage", "Noted."))
            write_rollout(here.home_of("gpu"), KEY, meta(KEY, trainer), *exchange)
            await here.ask(requests.ProjectSwitch("gpu/trainer"))
            listed = await here.ask(requests.SessionAdopt())
            assert isinstance(listed, replies.SessionAdoption)
            assert listed.offered is not None
            (row,) = listed.offered.sessions
            assert (row.key, row.tool, row.first_words) == (KEY, "gpu/codex", "my name is Alice")
            adopted = await here.ask(requests.SessionAdopt(KEY))
            assert isinstance(adopted, replies.SessionAdoption)
            assert [exchange.answer for exchange in adopted.latest] == ["Noted."]
            async with here.client() as client:
                accepted = await client.submit("local", "this is two")
            assert (await here.end_of(accepted.job_id)).state == "success"
            assert here.journal("JobStarted")[0]["resume_key"] == KEY

    run(story())


@pytest.mark.req("H2")
def test_a_worktree_of_a_session_there_is_made_there(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            trainer = await open_trainer(here)
            identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
            subprocess.run(["git", *identity, "commit", "-q", "--allow-empty", "-m", "first"], cwd=trainer, check=True)
            await here.ask(requests.WorktreeMake("gpu/trainer"))
            async with here.client() as client:
                accepted = await client.submit("local", "this is one\nwrite new.py")
            job = await here.end_of(accepted.job_id)
            assert job.state == "success", job.error
            status = await here.ask(requests.Status())
            assert isinstance(status, replies.StatusReport)
            assert status.worktree is not None
            assert (status.machine, status.worktree.path.startswith(f"gpu:{tmp_path}/gpu/")) == ("gpu", True)
            there = Path(status.worktree.path.removeprefix("gpu:"))
            assert (there / "new.py").exists()
            assert not (trainer / "new.py").exists()

    run(story())
