"""A file attached at Discord, down to the command line of the agent: a replaying CLI writes down what it got."""

import json
from pathlib import Path
from typing import Any

import pytest
from loopback_discord import Upload

from tests.channels.discord.harness import Stage, a_stage
from tests.support.replaying_cli import write_shim

pytestmark = [pytest.mark.anyio, pytest.mark.req("E8", "C3", "B11")]

PICTURE = Upload("a cat, (1).PNG", b"\x89PNG\r\n\x1a\n", "image/png")
BARE = Upload("bare", b"GIF89a", "image/gif")
NOTES = Upload("notes", b"words", "text/plain; charset=utf-8")
TRANSCRIPTS = {
    "claude": "claude/04a-two-turns-one-process",
    "codex": "codex/01-new-turn",
    "gemini": "gemini/01-new-turn-stream-json",
}


async def run_of(tmp_path: Path, program: str, *files: Upload) -> tuple[dict[str, Any], Path]:
    """What the agent was started with when somebody sent it these files, and the inbox of their session."""
    notes = tmp_path / "notes.ndjson"
    write_shim(tmp_path / "bin", program, TRANSCRIPTS[program], notes=notes)
    async with a_stage(tmp_path) as stage:
        stage.owner.say(stage.owner.dm, "look", files=list(files))
        await stage.daemon.until_journalled("JobCompleted")
        [inbox] = (tmp_path / "state" / "inbox").iterdir()
        [ran] = [json.loads(line) for line in notes.read_text().splitlines()]
        check_nothing_else_is_open(stage, ran, inbox)
    return ran, inbox


def check_nothing_else_is_open(stage: Stage, ran: dict[str, Any], inbox: Path) -> None:
    """No path below the state directory is named, but for those in the session's own inbox."""
    state = str(stage.daemon.home / "state")
    words = [*ran["argv"], *(ran["stdin"] or "").split()]
    named = [word[word.index(state) :].replace("\\", "") for word in words if state in word]
    assert [path for path in named if not path.startswith(str(inbox))] == []


async def test_claude_gets_pictures_without_any_directory(tmp_path: Path):
    ran, _inbox = await run_of(tmp_path, "claude", PICTURE, BARE)
    assert "--add-dir" not in ran["argv"]


async def test_claude_gets_the_sessions_own_inbox_for_a_file_that_it_must_read_by_itself(tmp_path: Path):
    ran, inbox = await run_of(tmp_path, "claude", PICTURE, NOTES)
    given = [ran["argv"][place + 1] for place, word in enumerate(ran["argv"]) if word == "--add-dir"]
    assert given == [str(inbox)]
    [notes] = inbox.glob("*-2-notes.txt")
    assert notes.read_bytes() == b"words"


async def test_codex_gets_pictures_under_names_that_it_does_not_take_apart(tmp_path: Path):
    ran, inbox = await run_of(tmp_path, "codex", PICTURE, NOTES, BARE)
    given = [Path(ran["argv"][place + 1]) for place, word in enumerate(ran["argv"]) if word == "-i"]
    assert [path.name.partition("-")[2] for path in given] == ["1-a_cat___1_.PNG", "3-bare.gif"]
    assert [path.read_bytes() for path in given] == [PICTURE.data, BARE.data]
    assert f"notes (text/plain): {inbox}/" in ran["stdin"]


async def test_gemini_is_told_of_pictures_by_paths_with_their_extension(tmp_path: Path):
    ran, inbox = await run_of(tmp_path, "gemini", PICTURE, NOTES, BARE)
    mentioned = [line[1:] for line in ran["stdin"].splitlines() if line.startswith("@")]
    assert [path.partition("/job_")[2].partition("-")[2] for path in mentioned] == ["1-a_cat___1_.PNG", "3-bare.gif"]
    given = [ran["argv"][place + 1] for place, word in enumerate(ran["argv"]) if word == "--include-directories"]
    assert given == [str(inbox)]
