"""A file that somebody attaches at Discord, on its way through a real daemon and a real CLI to the model."""

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from loopback_discord import Message, Upload

from fairlead.api import Client
from fairlead.api.wire import NewFile
from fairlead.core import requests as ask
from tests.channels.discord.harness import Stage, a_stage

from .daemon import ended
from .environment import AgentName, agent_environment, prepare_home
from .model_server import Hold, ModelServer, Reply
from .pictures import png

pytestmark = [pytest.mark.agents, pytest.mark.anyio]

SECRET = "the-word-that-bob-told-nobody-else"
PROGRAMS: tuple[AgentName, ...] = ("claude", "codex", "gemini")


@asynccontextmanager
async def a_stage_with(name: AgentName, home: Path, server: ModelServer, **settings: str) -> AsyncIterator[Stage]:
    """Discord, a daemon, and this one real CLI; the owner is `alice` over HTTP."""
    prepare_home(name, home, server)
    others = {f"{other.upper()}_COMMAND": "not-installed" for other in PROGRAMS if other != name}
    environment = {
        **agent_environment(name, home, server),
        **others,
        "FAIRLEAD_RUNTIME_ENVIRONMENT": "LOOPBACK_API_KEY",
        "GEMINI_CLI_MODEL": "gemini-2.5-flash",
        "FAIRLEAD_LANG": "en",
        **settings,
    }
    async with a_stage(home, up=False, **environment) as stage:
        owner = str(stage.owner.id)
        stage.daemon.settings["FAIRLEAD_IDENTITIES"] = json.dumps({owner: [f"discord:{owner}", "http:alice"]})
        await stage.daemon.up()
        yield stage


@asynccontextmanager
async def http_of(stage: Stage) -> AsyncIterator[Client]:
    state = stage.daemon.home / "state"
    async with Client((state / "http-address").read_text().strip(), (state / "http-token").read_text().strip()) as api:
        yield api


@pytest.fixture(params=PROGRAMS)
async def stage(request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> AsyncIterator[Stage]:
    async with a_stage_with(request.param, tmp_path, server) as stage:
        yield stage


async def answer_of(stage: Stage, text: str, *files: Upload) -> Message:
    dm = stage.owner.dm
    said = stage.owner.say(dm, text, files=list(files))
    return await dm.wait_for_answer(lambda m: m.reference == (dm.id, said.id), after=said, timeout=60)


def picture_line(data: bytes) -> str:
    return f"image/png {len(data)} bytes sha256:{hashlib.sha256(data).hexdigest()[:16]}"


async def told_over_http(stage: Stage) -> str:
    """What the agent answers to alice, who sends it a picture over HTTP."""
    async with http_of(stage) as api:
        accepted = await api.submit("alice", "image?", files=[NewFile("mine.png", png(), "image/png")])
        return (await ended(api, accepted.job_id)).answer


@pytest.mark.req("E8")
async def test_a_picture_over_http_reaches_the_model(stage: Stage):
    assert await told_over_http(stage) == f"images: 1; {picture_line(png())}"


@pytest.mark.req("E8")
@pytest.mark.parametrize("name", ["cat.png", "a cat (1), with @odd & [long] names!.PNG", "no-extension", "-rf.txt"])
async def test_a_picture_from_discord_reaches_the_model(stage: Stage, name: str):
    answer = await answer_of(stage, "image?", Upload(name, png(), "image/png"))
    assert answer.content.partition("\n-# ")[0] == f"images: 1; {picture_line(png())}"


@pytest.mark.req("E8")
@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_comma_in_the_path_of_the_state_directory_loses_no_picture(
    tmp_path: Path, server: ModelServer, name: AgentName
):
    home = tmp_path / "one, two\\three"
    home.mkdir()
    async with a_stage_with(name, home, server, TMPDIR=str(tmp_path)) as stage:
        answer = await answer_of(stage, "image?", Upload("cat.png", png(), "image/png"))
        assert answer.content.partition("\n-# ")[0] == f"images: 1; {picture_line(png())}"


@pytest.mark.req("E8", "A16")
async def test_a_picture_is_there_again_for_a_retry_over_http_after_a_crash(stage: Stage, server: ModelServer):
    server.script(Reply((Hold(),)))
    stage.owner.say(stage.owner.dm, "image?", files=[Upload("cat.png", png(), "image/png")])
    await server.until_held()
    await stage.daemon.kill()
    for left in (stage.daemon.home / "state" / "inbox").rglob("*.png"):
        left.unlink()
    await stage.daemon.up()
    [enqueued] = stage.daemon.journal("JobEnqueued")
    async with http_of(stage) as client:
        receipt: Any = await client.command(ask.Retry(enqueued["payload"]["job_id"]), "alice")
        job = await ended(client, receipt.job_id)
    assert picture_line(png()) in job.answer


async def keep_a_secret(stage: Stage) -> Path:
    """Bob says so much over HTTP that his words become a blob: here is where it stands."""
    blobs = stage.daemon.home / "state" / "blobs"
    async with http_of(stage) as client:
        await client.submit("bob", f"{SECRET}\n{'x' * 300_000}\nsay: I know", tool="echo")
    [blob] = [path for path in blobs.iterdir() if path.read_bytes().startswith(SECRET.encode())]
    return blob


@pytest.mark.req("C3", "B11", "E8")
@pytest.mark.parametrize("kind", ["image/png", "text/plain"])
async def test_with_a_file_of_its_own_claude_must_still_ask_before_it_reads_what_others_said(
    tmp_path: Path, server: ModelServer, kind: str
):
    async with a_stage_with("claude", tmp_path, server) as stage:
        secret = await keep_a_secret(stage)
        assert "images: " in (await answer_of(stage, "image?", Upload("mine", png(), kind))).content
        stage.owner.say(stage.owner.dm, f'tool: Read {{"file_path": "{secret}"}}')
        [asked] = await stage.daemon.until_journalled("QuestionAsked", timeout=60)
        assert str(secret) in json.dumps(asked)


@pytest.mark.req("C3", "B11", "E8")
async def test_what_claude_is_only_told_of_by_its_path_it_reads_without_asking(tmp_path: Path, server: ModelServer):
    """A text, and a picture over claude's limit: the path is the only way to them."""
    huge = png() + bytes(8_000_000)
    home = tmp_path / "one, two"
    home.mkdir()
    async with a_stage_with("claude", home, server) as stage:
        files = (Upload("notes.txt", b"words in a file", "text/plain"), Upload("huge.png", huge, "image/png"))
        told = await answer_of(stage, "image?", *files)
        assert told.content.startswith("images: 0")
        inbox = stage.daemon.home / "state" / "inbox"
        [notes], [picture] = inbox.rglob("*notes.txt"), inbox.rglob("*huge.png")
        read = await answer_of(stage, f'tool: Read {{"file_path": "{notes}"}}')
        assert "words in a file" in read.content
        await answer_of(stage, f'tool: Read {{"file_path": "{picture}"}}')
        assert stage.daemon.journal("QuestionAsked") == []


@pytest.mark.req("C3", "B11", "E8")
@pytest.mark.parametrize("kind", ["image/png", "text/plain"])
async def test_with_a_file_of_its_own_a_readonly_gemini_reads_nothing_that_others_said(
    tmp_path: Path, server: ModelServer, kind: str
):
    workspace = tmp_path / "state" / "workspaces" / "api"
    workspace.mkdir(parents=True)
    (workspace / "PERMISSIONS.json").write_text('{"tier": "readonly"}')
    async with a_stage_with("gemini", tmp_path, server) as stage:
        secret = await keep_a_secret(stage)
        files = (Upload("mine.txt", b"my own words", kind),)
        answer = await answer_of(stage, f'tool: read_file {{"file_path": "{secret}"}}', *files)
        assert "not in workspace" in answer.content.lower()
        assert SECRET not in "".join(str(seen.body) for seen in server.turns)
