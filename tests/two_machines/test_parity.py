"""What an agent can do here, it can do on another machine: each through a real runner and a real server."""

from pathlib import Path

import pytest

from fairlead.core import requests
from tests.support import tool_agent
from tests.two_machines.harness import Site, run, site


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
