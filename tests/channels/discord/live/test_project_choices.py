"""Where several projects are there and none is selected, choosing one sends the message that waited to it."""

import json
from pathlib import Path

import pytest

from tests.channels.discord.harness import a_stage

pytestmark = pytest.mark.anyio


async def test_choosing_a_project_runs_the_message_that_waited_also_after_a_restart(tmp_path: Path) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]
    for path in paths:
        path.mkdir()
    async with a_stage(tmp_path, PROJECTS=json.dumps([str(path) for path in paths])) as stage:
        dm = stage.owner.dm
        said = stage.owner.say(dm, "what is new?")
        refusal = await dm.wait_for_answer(lambda m: "E_PROJECT_NOT_SELECTED" in m.content, after=said)
        await stage.daemon.kill()
        await stage.daemon.up()
        [menu] = refusal.custom_ids()
        await stage.owner.select(refusal, menu, "2").acknowledged()
        answer = await dm.wait_for_answer(lambda m: m.content.startswith("echo") and "what is new?" in m.content)
        assert answer.reference == (dm.id, said.id)
        await stage.discord.wait_for(lambda: "Working in two" in refusal.content and refusal.components == [])
        await stage.discord.wait_for(lambda: set(said.reactions) == {"✅"}, what="the mark of success alone")
        [started] = stage.daemon.journal("JobStarted")
        assert started["payload"]["project"] == "two"
