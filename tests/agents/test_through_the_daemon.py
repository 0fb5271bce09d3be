"""What a person gets who talks to a real CLI through a real daemon."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fairlead.core import requests as ask
from fairlead.core.engine import Verdict
from fairlead.core.replies import StatusReport
from fairlead.kit.process_table import system_table

from .daemon import BOT_TOKEN, Daemon, ended, grown
from .model_server import ModelServer

pytestmark = [pytest.mark.agents, pytest.mark.anyio]


@pytest.fixture(params=["claude", "codex", "gemini"])
async def daemon(request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> AsyncIterator[Daemon]:
    daemon = Daemon(request.param, tmp_path, server)
    await daemon.start()
    yield daemon
    await daemon.end()


@pytest.fixture
async def with_claude(tmp_path: Path, server: ModelServer) -> AsyncIterator[Daemon]:
    # Silence ends the long-lived process after 5 s, and so it does the one that is tried instead.
    limits = {"FAIRLEAD_MULTI_TURN_HANG_TIMEOUT_MS": "5000", "FAIRLEAD_CLI_TIMEOUT_SEC": "60"}
    daemon = Daemon("claude", tmp_path, server, DISCORD_OWNER_ID="4242", **limits)
    await daemon.start()
    yield daemon
    await daemon.end()


@pytest.mark.req("C9", "C2", "C3", "A9")
async def test_a_name_told_over_http_is_known_in_the_terminal_and_after_a_restart_but_to_nobody_else(daemon: Daemon):
    await daemon.say("my name is Alice")
    assert (await daemon.say("what is my name?", channel="terminal")).answer == "Your name is Alice."
    assert "Alice" not in (await daemon.say("what is my name?", user="bob")).answer
    await daemon.end(signal.SIGKILL)
    await daemon.start()
    assert (await daemon.say("what is my name?")).answer == "Your name is Alice."


@pytest.mark.req("C4")
async def test_after_a_reset_the_name_is_forgotten(daemon: Daemon):
    await daemon.say("my name is Alice")
    async with daemon.client() as client:
        await client.command(ask.Reset(), "alice")
    assert "Alice" not in (await daemon.say("what is my name?")).answer


RECORDS = {"claude": ".claude/projects", "codex": ".codex/sessions", "gemini": ".gemini/tmp"}


@pytest.mark.req("A9", "A18")
async def test_a_talk_that_the_cli_has_lost_is_said_plainly_and_only_a_reset_begins_afresh(
    daemon: Daemon, server: ModelServer
):
    await daemon.say("my name is Alice")
    await daemon.end()
    shutil.rmtree(daemon.home / RECORDS[daemon.name])
    await daemon.start()
    asked = len(server.turns)
    for _ in range(2):  # the second time as well: nothing is forgotten behind the person's back
        gone = await daemon.say("what is my name?")
        assert gone.error is not None
        assert gone.error.code == "E_RESUME_GONE"
        assert "reset" in gone.error.next
    assert len(server.turns) == asked
    async with daemon.client() as client:
        await client.command(ask.Reset(), "alice")
    assert (await daemon.say("what is my name?")).answer == "You have not told me your name."


@pytest.mark.req("E6")
async def test_every_job_reports_its_own_usage_also_after_a_restart(daemon: Daemon):
    await daemon.say("usage: 1000 50")
    await daemon.say("usage: 2000 60")
    await daemon.end()
    await daemon.start()
    await daemon.say("usage: 3000 70")
    spent = [fact["spent"] for fact in daemon.facts("JobCompleted")]
    assert [(s["input_tokens"], s["output_tokens"]) for s in spent] == [(1000, 50), (2000, 60), (3000, 70)]
    async with daemon.client() as client:
        status = await client.command(ask.Status(), "alice")
    assert isinstance(status, StatusReport)
    costs = [s.get("cost_usd", 0.0) for s in spent]
    assert status.cost_usd == pytest.approx(sum(costs))
    if daemon.name == "claude":  # the others name no price
        assert costs[0] < costs[1] < costs[2] < 2 * costs[1]


@pytest.mark.req("A18", "A11")
async def test_a_model_that_keeps_refusing_fails_the_job_and_a_retry_can_succeed(daemon: Daemon, server: ModelServer):
    failed = await daemon.say("status: 500 times=9")
    assert (failed.state, failed.error is not None) == ("failed", True)
    assert (await daemon.say("say: well again")).answer == "well again"


@pytest.mark.req("B4", "E7")
@pytest.mark.parametrize(("verdict", "happened"), [("allow", True), ("deny", False)])
async def test_a_tool_is_allowed_or_denied_from_outside(with_claude: Daemon, verdict: Verdict, happened: bool):
    made = with_claude.project / "made"
    async with with_claude.client() as client:
        accepted = await client.submit("alice", f"run: mkdir {made}")
        question = await with_claude.question(client)
        assert str(made) in question.detail
        await client.respond(question.question_id, verdict, user="alice")
        await ended(client, accepted.job_id)
    assert made.exists() is happened


@pytest.mark.req("A16", "E7")
async def test_a_cancelled_turn_leaves_the_talk_in_order(with_claude: Daemon, server: ModelServer):
    await with_claude.say("my name is Alice")
    async with with_claude.client() as client:
        accepted = await client.submit("alice", "hold")
        await server.until_held()
        await client.command(ask.Cancel(), "alice")
        assert (await ended(client, accepted.job_id)).state == "cancelled"
    assert (await with_claude.say("what is my name?")).answer == "Your name is Alice."


@pytest.mark.req("B5", "A16")
async def test_the_job_of_a_killed_agent_is_cancelled_and_the_next_message_is_answered(
    daemon: Daemon, server: ModelServer
):
    async with daemon.client() as client:
        accepted = await client.submit("alice", "hold", tool=daemon.name)
        await server.until_held()
        await client.command(ask.AgentStop(kill=True), "alice")
        assert (await ended(client, accepted.job_id)).state == "cancelled"
    assert (await daemon.say("say: here again")).answer == "here again"


@pytest.mark.req("E7", "A18")
async def test_a_model_that_falls_silent_ends_the_job_and_not_the_talk(with_claude: Daemon):
    await with_claude.say("my name is Alice")
    hung = await with_claude.say("hang")
    assert hung.error is not None
    assert hung.error.code == "E_RUNTIME_HUNG"
    assert (await with_claude.say("what is my name?")).answer == "Your name is Alice."


@pytest.mark.req("B14")
async def test_an_agents_commands_see_no_secret_of_ours(tmp_path: Path, server: ModelServer):
    daemon = Daemon("claude", tmp_path, server, CLAUDE_DANGEROUSLY_SKIP_PERMISSIONS="1", IS_SANDBOX="1")
    daemon.environment["FAIRLEAD_SOMETHING_SECRET"] = BOT_TOKEN
    await daemon.start()
    seen = tmp_path / "seen"
    await daemon.say(f"run: env > {seen}")
    shown = await daemon.say("run: echo $ANTHROPIC_API_KEY")
    await daemon.end()
    [log] = [path.read_text() for path in (tmp_path / "logs" / "job").iterdir() if shown.job_id in path.name]
    assert "The tool said: [redacted]" in log
    assert daemon.environment["ANTHROPIC_API_KEY"] not in log
    assert "FAIRLEAD_RUN=" in seen.read_text()
    assert BOT_TOKEN not in seen.read_text()
    assert (tmp_path / "state" / "http-token").read_text().strip() not in seen.read_text()


@pytest.mark.req("A8", "B5")
async def test_after_kill_nine_no_command_of_the_old_chain_finishes_once_the_daemon_is_back(
    tmp_path: Path, server: ModelServer
):
    daemon = Daemon("claude", tmp_path, server, CLAUDE_DANGEROUSLY_SKIP_PERMISSIONS="1", IS_SANDBOX="1")
    await daemon.start()
    began, gate, finished = tmp_path / "began", tmp_path / "gate", tmp_path / "finished"
    os.mkfifo(gate)
    chain = f"chain: touch {began} && echo x >> {began} && cat {gate} ;; touch {finished} ;; touch {finished}2"
    async with daemon.client() as client:
        accepted = await client.submit("alice", chain)
        await asyncio.wait_for(grown(began, 0), 60)
        await daemon.end(signal.SIGKILL)
        await daemon.start()
    mark = (tmp_path / "state" / "events.ndjson").read_text().split('"state_id":"')[1][:4]
    left = [p for p in system_table().scan() if (p.mark or "").startswith(f"{mark}:")]
    assert left == []
    assert not finished.exists()
    async with daemon.client() as client:
        assert (await client.job(accepted.job_id)).state == "unknown_after_crash"
    await daemon.end()
