"""The context files of a workspace: which are read, in which order, and what is warned of."""

import os
from pathlib import Path

import pytest

from fairlead.core.engine import Noticed
from fairlead.runtimes.workspace import read_context
from tests.runtimes.harness import ReplayStage
from tests.support.runtime_contract import closing, invocation, key_in, only, run

pytestmark = pytest.mark.anyio


@pytest.mark.req("E6")
def test_context_files_are_read_in_their_order_and_bootstrap_is_warned_of(tmp_path: Path):
    for name in ("USER.md", "SOUL.md", "BOOTSTRAP.md", "OTHER.md"):
        (tmp_path / name).write_text(f"this is {name}")
    context = read_context(tmp_path, system_prompt_is_set=False)
    assert [file.name for file in context.files] == ["SOUL.md", "USER.md", "BOOTSTRAP.md"]
    assert "BOOTSTRAP.md" in context.warnings[0]


@pytest.mark.req("E6")
def test_with_a_system_prompt_they_are_left_out_and_an_unconsumed_bootstrap_is_warned_of(tmp_path: Path):
    (tmp_path / "SOUL.md").write_text("a soul")
    assert read_context(tmp_path, system_prompt_is_set=True).warnings == ()
    (tmp_path / "BOOTSTRAP.md").write_text("begin")
    context = read_context(tmp_path, system_prompt_is_set=True)
    assert context.files == ()
    assert "is not read while CLAUDE_APPEND_SYSTEM_PROMPT is set" in context.warnings[0]


@pytest.mark.req("E6")
async def test_they_go_into_the_first_turn_of_a_talk(tmp_path: Path):
    stage = ReplayStage("gemini", tmp_path)
    turn = invocation(tmp_path, "hello")
    (tmp_path / "workspace" / "SOUL.md").write_text("You are kind.")
    async with closing(stage.runtime("resumes")) as runtime:
        await run(runtime, turn)
        await run(runtime, invocation(tmp_path, "again", resume_key="19202924-0a8a-497b-a936-158ea372b020"))

    first, second = stage.runs()
    assert first["stdin"] == '<context file="SOUL.md">\nYou are kind.\n</context>\n\nhello'
    assert second["stdin"] == "again"


async def test_an_unconsumed_bootstrap_is_told_to_the_person_at_the_start_of_a_talk(tmp_path: Path):
    stage = ReplayStage("claude per turn", tmp_path)
    turn = invocation(tmp_path, "hello")
    (tmp_path / "workspace" / "BOOTSTRAP.md").write_text("begin")
    async with closing(stage.runtime("resumes")) as runtime:
        first = await run(runtime, turn)
        second = await run(runtime, invocation(tmp_path, "hello again", resume_key=key_in(first), job_id="job_2"))
    assert any("BOOTSTRAP.md" in note.text for note in only(Noticed, first))
    assert only(Noticed, second) == []


@pytest.mark.req("B11")
def test_a_named_pipe_in_the_place_of_a_context_file_is_said_and_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "SOUL.md")
    (tmp_path / "USER.md").write_text("Call me Ishmael.")
    context = read_context(tmp_path, system_prompt_is_set=False)
    assert [file.name for file in context.files] == ["USER.md"]
    assert "not an ordinary file" in context.warnings[0]
