"""A machine is renamed, with a real server and real processes: its key, its projects and their memory stay."""

import json
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from fairlead.api.wire import JobInfo
from fairlead.core import replies, requests
from fairlead.errors import FairleadError
from tests.two_machines.harness import Site, run, site
from tests.two_machines.test_command_line import typed


async def say_in(here: Site, project: str, text: str) -> str:
    async with here.client() as client:
        return (await client.submit("local", text, project=project)).job_id


async def answer_in(here: Site, project: str, text: str) -> JobInfo:
    return await here.end_of(await say_in(here, project, text))


async def until_renamed(here: Site, name: str, new_name: str) -> None:
    """The snapshot of a turn's end may still be on its way."""
    while True:
        with suppress(FairleadError):
            await here.ask(requests.MachineRename(name, new_name))
            return


@pytest.mark.req("H1", "H2")
def test_a_machine_that_is_renamed_while_it_is_away_goes_on_under_its_new_name(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            daemon = await here.start_daemon()
            runner = await here.bring_up("gpu")
            assert (await here.end_of(await here.say("gpu", "this is one"))).machine == "gpu"
            await runner.end()
            await here.presence("gpu", is_there=False)
            waiting = await here.say("gpu", "this is two")
            code, said = await typed(here, here.daemon_environment(), "machine", "rename", "gpu", "big")
            assert (code, said) == (0, "gpu is now called big; its projects: big/gpu-project\n")
            await daemon.end(signal.SIGKILL)
            await here.start_daemon()
            assert (await here.job(waiting)).machine == "big"
            runner = await here.start_runner("gpu")  # with the key that it has, and the name that it had
            job = await here.end_of(waiting)
            assert (job.state, job.machine, job.project) == ("success", "big", "big/gpu-project")
            assert json.loads((tmp_path / "gpu" / "joined.json").read_text())["name"] == "big"
            first, second = here.journal("JobStarted")
            assert (first["tool"], second["tool"]) == ("gpu/codex", "big/codex")
            assert second["resume_key"] == here.journal("ResumeKeyLearnt")[0]["key"]  # the agent remembers the first
            projects = await here.ask(requests.ProjectList())
            assert isinstance(projects, replies.ProjectCatalogue)
            (project,) = projects.projects
            assert (project.name, project.machine, project.machine_is_there) == ("big/gpu-project", "big", True)
            # The old name is free for another machine, which has a key and an account of its own.
            await runner.end()
            (tmp_path / "gpu").rename(tmp_path / "big")
            await here.start_runner("big")
            await here.add("gpu")
            assert not (await here.machine("gpu")).has_joined
            assert (await answer_in(here, "big/gpu-project", "this is three")).state == "success"

    run(story())


@pytest.mark.req("H1", "H2")
def test_a_machine_is_renamed_while_it_is_there_but_not_while_a_turn_runs_on_it(tmp_path: Path):
    async def story() -> None:
        async with site(tmp_path) as here:
            await here.start_daemon()
            await here.bring_up("gpu")
            running = await here.say("gpu", f"this is one\nuntil {here.gate('one')}")
            await here.until_begun("one")
            with pytest.raises(FairleadError, match=running):
                await here.ask(requests.MachineRename("gpu", "big"))
            here.gate("one").touch()
            assert (await here.end_of(running)).state == "success"
            await until_renamed(here, "gpu", "big")
            assert (await here.presence("big", is_there=True)).agents
            job = await answer_in(here, "big/gpu-project", "this is two")
            assert (job.state, job.machine, job.answer) == ("success", "big", "this is two")
            assert here.prompts() == ["one", "two"]

    run(story())
