"""What a turn changed, on Discord: a list, a short excerpt in colours, and the whole as a file."""

from typing import Any

import pytest
from loopback_discord import Conversation

from tests.channels.discord.harness import Stage
from tests.channels.discord.live.test_button_clicks import question_in

pytestmark = [pytest.mark.anyio, pytest.mark.req("F2")]


async def write_file(stage: Stage, thread: Conversation, order: str) -> None:
    """The agent asks for it, and the owner allows it with a button."""
    said = stage.owner.say(thread, f"/write {order}")
    await stage.owner.click(await question_in(thread, said), "Allow once").reply()
    await thread.wait_for_answer(lambda m: "echo agent:" in m.content, after=said)


async def test_changes_with_the_whole_diff_attached(stage: Stage) -> None:
    (stage.daemon.project / "old.txt").write_text("old\n")
    thread = await stage.start_thread()
    await write_file(stage, thread, "old.txt new @everyone ```")
    reply: Any = await stage.owner.slash(thread, "changes").reply()
    assert reply.ephemeral
    assert reply.content.splitlines()[:4] == ["#1 changed 1 file in api (+1 -1)", "```", "M old.txt +1 -1", "```"]
    assert "```diff\n+++ b/old.txt\n@@ -1 +1 @@\n-old\n+new @everyone" in reply.content
    (attached,) = reply.attachments
    assert attached.filename == "changes-1.diff"
    assert attached.data.decode().endswith("-old\n+new @everyone ```\n")
    whole: Any = await stage.owner.slash(thread, "changes", job_id="session").reply()
    assert whole.content.startswith("This session changed 1 file in api")


@pytest.mark.long
@pytest.mark.req("F4")
async def test_an_undo_whose_daemon_is_killed_is_finished_by_the_next_start(stage: Stage) -> None:
    project = stage.daemon.project
    files = [project / f"{number}.txt" for number in range(300)]
    for file in files:
        file.write_text("old\n")
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "/write one.txt words")
    question = await question_in(thread, said)
    for file in files:
        file.write_text("new\n")
    await stage.owner.click(question, "Allow once").reply()
    await thread.wait_for_answer(lambda m: "echo agent:" in m.content, after=said)
    await stage.daemon.until_journalled("TreeSnapshotTaken", moment="end")
    stage.owner.slash(thread, "undo")
    await stage.daemon.until_journalled("UndoBegan")
    await stage.daemon.kill()
    await stage.daemon.up()
    await stage.daemon.until_journalled("UndoEnded")
    await thread.wait_for_answer(lambda m: "was stopped in the middle" in m.content and "Undid #" in m.content)
    assert {file.read_text() for file in files} == {"old\n"}
    assert not (project / "one.txt").exists()
    assert list(project.glob(".*")) == [], "nothing is left beside the files"
    redone = await stage.owner.slash(thread, "redo").reply()
    assert ": 301 files are as they were before the undo." in redone.content
    assert {file.read_text() for file in files} == {"new\n"}
