"""CONTRIBUTING's "How to add a command", told as a test: one specification, one handler and its words, and the command
is at Discord, in the terminal, over HTTP, in the client and in the reference."""

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp
import discord
import discord.gateway
import generate
import pytest
from loopback_discord import Conversation, LoopbackDiscord

from fairlead.api import Client
from fairlead.app import Daemon, run_daemon
from fairlead.channels.terminal.commands import CommandLine
from fairlead.channels.terminal.options import ChatOptions
from fairlead.channels.terminal.run import run_chat
from fairlead.core.command_spec import ApiRoute, Argument, Choice, CommandSpec
from fairlead.core.replies import Reply
from fairlead.core.requests import Caller, Request
from fairlead.errors import Code, FairleadError
from fairlead.flow.commands.handlers import BUILT_IN
from fairlead.flow.commands.parts import CommandParts, HandlerTable
from fairlead.render.words import CATALOGUES
from tests.support.settings import make_settings

pytestmark = [pytest.mark.anyio, pytest.mark.req("A12", "B1", "C5", "C6")]

# --- step 1: what is asked, and what is answered


class SessionCount(Request, frozen=True):
    project: str


class SessionsCounted(Reply, frozen=True):
    project: str
    sessions: int


# --- step 2: the specification

SPEC = CommandSpec(
    words="session count",
    request=SessionCount,
    reply=SessionsCounted,
    arguments=(Argument(field="project", choices="project", gap="project"),),
    works_on_full_disk=True,
    routes=(ApiRoute(method="GET", path="/v1/sessions/count", user="absent"),),
)

# --- step 3: the handler


def count_handlers(parts: CommandParts) -> HandlerTable:
    async def count(request: SessionCount, _caller: Caller) -> SessionsCounted:
        project = parts.project(request.project)
        sessions = [s for s in parts.state.sessions.values() if s.project == project.name]
        return SessionsCounted(project.name, len(sessions))

    return {SessionCount: count}


# --- step 4: its words, in every language

WORDS = {
    "en": {
        "command.session.count": "Count the sessions of a project",
        "command.session.count.project": "Name or number of the project",
        "reply.SessionsCounted": "{project} has {sessions} sessions",
    },
    "ja": {
        "command.session.count": "プロジェクトのセッション数を数える",
        "command.session.count.project": "プロジェクト名または番号",
        "reply.SessionsCounted": "{project} のセッションは {sessions} 件です",
    },
    "zh-TW": {
        "command.session.count": "計算專案的 session 數",
        "command.session.count.project": "專案名稱或編號",
        "reply.SessionsCounted": "{project} 有 {sessions} 個 session",
    },
    "zh-CN": {
        "command.session.count": "统计项目的会话数",
        "command.session.count.project": "项目名称或编号",
        "reply.SessionsCounted": "{project} 有 {sessions} 个会话",
    },
}
COMMANDS = BUILT_IN.with_command(SPEC, count_handlers)
CATALOGUE = COMMANDS.catalogue


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    for lang, sentences in WORDS.items():
        for key, sentence in sentences.items():
            group, _, name = key.partition(".")
            monkeypatch.setitem(CATALOGUES[lang].load_group(group), name, sentence)


class Running(NamedTuple):
    discord: LoopbackDiscord
    conversation: Conversation
    daemon: Daemon
    client: Client


@asynccontextmanager
async def running(home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Running]:
    for where, name in ((discord.http.Route, "BASE"), (discord.gateway.DiscordWebSocket, "DEFAULT_GATEWAY")):
        monkeypatch.setattr(where, name, getattr(where, name))  # the daemon points them at the loopback
    (home / "api").mkdir()
    async with LoopbackDiscord.start() as loopback:
        loopback.limits.enabled = False
        guild = loopback.guild()
        loopback.world.join(guild, loopback.owner.user)
        settings = make_settings(
            STATE_DIR=home / "state",
            LOG_DIR=home / "logs",
            PROJECTS=(str(home / "api"),),
            DISCORD_TOKEN=loopback.token,
            DISCORD_OWNER_ID=str(loopback.owner.id),
            DISCORD_API_BASE=loopback.api,
            DISCORD_GATEWAY_URL=loopback.gateway_url,
            FAIRLEAD_HTTP_PORT=0,
            FAIRLEAD_DRAIN_SEC=0,
        )
        async with (
            run_daemon(settings, commands=COMMANDS) as daemon,
            Client(daemon.http_url, daemon.token, channel="terminal", commands=CATALOGUE) as client,
        ):
            await loopback.wait_for(lambda: any(loopback.world.commands.values()), timeout=60, what="commands")
            yield Running(loopback, loopback.text_channel(guild), daemon, client)


async def test_it_is_registered_completed_and_answered_at_discord(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with running(tmp_path, monkeypatch) as run:
        owner, conversation = run.discord.owner, run.conversation
        [group] = [c for c in run.discord.world.commands[None] if c["name"] == "session"]
        [command] = [o for o in group["options"] if o["name"] == "count"]
        assert command["description"] == "Count the sessions of a project"
        assert command["description_localizations"] == {
            "ja": "プロジェクトのセッション数を数える",
            "zh-TW": "計算專案的 session 數",
            "zh-CN": "统计项目的会话数",
        }
        assert [(o["name"], o["required"], o["autocomplete"]) for o in command["options"]] == [("project", True, True)]
        offered = await owner.autocomplete(conversation, "session count", "project", "ap").choices()
        assert offered == [{"name": "api", "value": "api"}]
        reply = await owner.slash(conversation, "session count", project="1").reply()
        assert "api has 0 sessions" in reply.content
        refused = await owner.slash(conversation, "session count", project="nosuch").reply()
        assert refused.content.startswith("E_PROJECT_NOT_FOUND: The project nosuch was not found.")
        owner.user.locale = "ja"
        reply = await owner.slash(conversation, "session count", project="api").reply()
        assert "api のセッションは 0 件です" in reply.content


def test_it_is_parsed_completed_and_listed_in_the_terminal():
    line = CommandLine(CATALOGUE)
    assert line.completions("/session c") == ["/session count"]
    assert line.parse("/session count api") == SessionCount("api")
    half_typed = line.half_typed("/session count a")
    assert half_typed is not None
    assert (half_typed.command, half_typed.argument.field, half_typed.word) == ("session count", "project", "a")
    assert any(shown.startswith("/session count PROJECT ") for shown in line.help_lines())
    assert any(
        shown.endswith("プロジェクトのセッション数を数える") for shown in CommandLine(CATALOGUE, "ja").help_lines()
    )
    with pytest.raises(FairleadError, match="Usage: /session count PROJECT"):
        line.parse("/session count")


async def test_it_runs_in_the_terminal_in_the_client_and_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with running(tmp_path, monkeypatch) as run:
        out, stdin = io.StringIO(), io.TextIOWrapper(io.BytesIO(b"/session count api"))
        code = await run_chat(run.client, ChatOptions(), stdin=stdin, stdout=out, stderr=io.StringIO())
        assert (code, out.getvalue()) == (0, "api has 0 sessions\n")
        assert await run.client.choices("session count", "project", "a", "local") == (Choice("api"),)
        assert await run.client.command(SessionCount("api"), "local") == SessionsCounted("api", 0)
        with pytest.raises(FairleadError) as caught:
            await run.client.command(SessionCount("nowhere"), "local")
        assert caught.value.code is Code.E_PROJECT_NOT_FOUND
        headers = {"Authorization": f"Bearer {run.daemon.token}"}
        async with aiohttp.ClientSession(run.daemon.http_url, headers=headers) as http:
            async with http.get("/v1/sessions/count?project=api") as response:
                assert (response.status, await response.json()) == (
                    200,
                    {"kind": "SessionsCounted", "project": "api", "sessions": 0},
                )
            async with http.get("/v1/sessions/count?projct=api") as response:
                assert (response.status, (await response.json())["error"]["code"]) == (400, "E_INVALID_ARGS")
            async with http.get("/openapi.json") as response:
                document = await response.json()
    operation = document["paths"]["/v1/sessions/count"]["get"]
    assert (operation["operationId"], operation["summary"]) == (
        "get_sessions_count",
        "Count the sessions of a project.",
    )
    assert [(p["name"], p["in"], p["required"]) for p in operation["parameters"]] == [("project", "query", True)]
    assert document["components"]["schemas"]["SessionsCounted"]["properties"]["sessions"] == {"type": "integer"}


def test_it_is_in_the_reference():
    assert "| `/session count` | Count the sessions of a project | `project` |" in generate.slash_commands(CATALOGUE)
    assert "| `/session count PROJECT` | Count the sessions of a project |" in generate.chat_commands(CATALOGUE)
    assert "| `GET /v1/sessions/count` | Count the sessions of a project. |  | `project` |" in generate.http_routes(
        CATALOGUE
    )
