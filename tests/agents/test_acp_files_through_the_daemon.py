"""Files that people send to a real ACP agent through a real daemon, and what other people have said."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from loopback_discord import Upload

from tests.channels.discord.harness import Stage, a_stage
from tests.runtimes.test_separation import needs_bwrap

from .acp_daemon import acp_settings
from .acp_program import ACP_NAMES, AcpName, acp_agent
from .acp_stage import KNOWN_AS
from .model_server import ModelServer
from .pictures import png
from .test_files_through_the_daemon import SECRET, answer_of, keep_a_secret, picture_line, told_over_http

pytestmark = [pytest.mark.agents, pytest.mark.anyio]

ONE_PICTURE = f"images: 1; {picture_line(png())}"


@asynccontextmanager
async def a_stage_with(name: AcpName, home: Path, server: ModelServer, **more: str) -> AsyncIterator[Stage]:
    """Discord, a daemon, and this one real agent; the owner is `alice` over HTTP."""
    program = acp_agent(name, home, server)
    # Where there is a gemini, no project begins with Gemini over ACP.
    command = {"AGENT_COMMAND": json.dumps(program.argv)} if name == "gemini" else {}
    own = {"FAIRLEAD_LANG": "en", "GEMINI_COMMAND": "not-installed", **command, **more}
    async with a_stage(home, up=False, **acp_settings(program.env, home, name) | own) as stage:
        owner = str(stage.owner.id)
        stage.daemon.settings["FAIRLEAD_IDENTITIES"] = json.dumps({owner: [f"discord:{owner}", "http:alice"]})
        await stage.daemon.up()
        yield stage
    assert KNOWN_AS[name] in {fact["payload"]["tool"] for fact in stage.daemon.journal("JobStarted")}


def heard_by_the_model(server: ModelServer) -> str:
    return "".join(str(seen.body) for seen in server.turns)


@pytest.mark.req("E8")
@pytest.mark.parametrize("name", ACP_NAMES)
async def test_a_picture_from_discord_and_over_http_reaches_the_model(
    name: AcpName, tmp_path: Path, server: ModelServer
):
    async with a_stage_with(name, tmp_path, server) as stage:
        assert await told_over_http(stage) == ONE_PICTURE
        told = await answer_of(stage, "image?", Upload("a cat (1), with @odd & [long] names!.PNG", png(), "image/png"))
        assert told.content.partition("\n-# ")[0] == ONE_PICTURE


@pytest.mark.req("E8")
@pytest.mark.parametrize("name", ACP_NAMES)
async def test_a_text_from_discord_reaches_the_model_without_a_question(
    name: AcpName, tmp_path: Path, server: ModelServer
):
    """It lies outside of the project, where several of these agents read nothing, or ask first. Copilot tells its model
    the path alone."""
    async with a_stage_with(name, tmp_path, server) as stage:
        await answer_of(stage, "say: read", Upload("notes.txt", b"words in a file", "text/plain"))
        expected = "-notes.txt (1 lines)" if name == "copilot" else "words in a file"
        assert expected in heard_by_the_model(server)
        assert stage.daemon.journal("QuestionAsked") == []


READ: dict[AcpName, tuple[str, str]] = {
    "claude-agent-acp": ("Read", "file_path"),
    "opencode": ("read", "filePath"),
    "copilot": ("view", "path"),
    "qwen": ("read_file", "file_path"),
}


@pytest.mark.req("C3", "B11", "E8")
@pytest.mark.parametrize("name", READ)
async def test_with_a_picture_of_its_own_an_agent_must_still_ask_before_it_reads_what_others_said(
    name: AcpName, tmp_path: Path, server: ModelServer
):
    async with a_stage_with(name, tmp_path, server) as stage:
        secret = await keep_a_secret(stage)
        told = await answer_of(stage, "image?", Upload("mine.png", png(), "image/png"))
        assert told.content.partition("\n-# ")[0] == ONE_PICTURE
        tool, argument = READ[name]
        stage.owner.say(stage.owner.dm, f"tool: {tool} {json.dumps({argument: str(secret)})}")
        [asked] = await stage.daemon.until_journalled("QuestionAsked", timeout=120)
        assert "blobs" in json.dumps(asked)
        assert SECRET not in heard_by_the_model(server)


@pytest.mark.req("C3", "B11", "E8")
async def test_with_a_picture_of_its_own_gemini_over_acp_reads_nothing_that_others_said(
    tmp_path: Path, server: ModelServer
):
    """Its own tools read the project alone; its shell could read more, and it asks before it uses that."""
    async with a_stage_with("gemini", tmp_path, server) as stage:
        secret = await keep_a_secret(stage)
        assert (await answer_of(stage, "image?", Upload("mine.png", png(), "image/png"))).content.startswith(
            ONE_PICTURE
        )
        told = await answer_of(stage, f"tool: read_file {json.dumps({'file_path': str(secret)})}")
        assert "not in workspace" in told.content.lower()
        stage.owner.say(stage.owner.dm, f"run: cat {secret}")
        [asked] = await stage.daemon.until_journalled("QuestionAsked", timeout=120)
        assert "blobs" in json.dumps(asked)
        assert SECRET not in heard_by_the_model(server)


@pytest.mark.req("C3", "B11")
@pytest.mark.parametrize("tier", ["full", "readonly"])
async def test_without_separation_codex_over_acp_reads_with_the_rights_of_the_account_and_the_documents_say_so(
    tmp_path: Path, server: ModelServer, tier: str
):
    """Its sandbox keeps it from writing, and from nothing that the account can read."""
    workspace = tmp_path / "state" / "workspaces" / "api"
    workspace.mkdir(parents=True)
    (workspace / "PERMISSIONS.json").write_text(json.dumps({"tier": tier}))
    async with a_stage_with("codex-acp", tmp_path, server) as stage:
        secret = await keep_a_secret(stage)
        await answer_of(stage, f"run: head -c 100 {secret}")
        assert SECRET in heard_by_the_model(server)
        assert stage.daemon.journal("QuestionAsked") == []


@needs_bwrap
@pytest.mark.req("C3", "B11", "E8")
async def test_in_the_sandbox_codex_over_acp_sees_its_picture_and_nothing_that_others_said(
    tmp_path: Path, server: ModelServer
):
    async with a_stage_with("codex-acp", tmp_path, server, FAIRLEAD_AGENT_SANDBOX="bwrap") as stage:
        secret = await keep_a_secret(stage)
        assert (await answer_of(stage, "image?", Upload("mine.png", png(), "image/png"))).content.startswith(
            ONE_PICTURE
        )
        told = await answer_of(stage, f"run: head -c 100 {secret}")
        assert "No such file" in told.content
        assert SECRET not in heard_by_the_model(server)
