"""What a person gets who talks to a real ACP agent through a real daemon, over HTTP."""

import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest

from fairlead.core import requests as ask

from .acp_daemon import AcpDaemon
from .acp_program import AcpName
from .daemon import ended
from .model_server import ModelServer

pytestmark = [pytest.mark.agents, pytest.mark.anyio]

DRIVEN: tuple[AcpName, ...] = ("claude-agent-acp", "codex-acp", "qwen", "copilot")


@pytest.fixture(params=DRIVEN)
async def daemon(request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> AsyncIterator[AcpDaemon]:
    daemon = AcpDaemon(request.param, tmp_path, server)
    await daemon.start()
    yield daemon
    await daemon.end()


def asking_for(daemon: AcpDaemon, command: str) -> str:
    """Codex asks only where it wants to leave its sandbox."""
    if daemon.name != "codex-acp":
        return f"run: {command}"
    escalated = {"cmd": command, "sandbox_permissions": "require_escalated", "justification": "the test wants it"}
    return f"tool: exec_command {json.dumps(escalated)}"


@pytest.mark.req("C9", "C2", "C3", "A9")
async def test_a_name_told_over_http_is_known_in_the_terminal_and_after_a_crash_but_to_nobody_else(daemon: AcpDaemon):
    assert (await daemon.say("my name is Alice")).state == "success"
    assert (await daemon.say("what is my name?", channel="terminal")).answer == "Your name is Alice."
    assert "Alice" not in (await daemon.say("what is my name?", user="bob")).answer
    await daemon.end(signal.SIGKILL)
    await daemon.start()
    assert (await daemon.say("what is my name?")).answer == "Your name is Alice."


@pytest.mark.req("B4")
async def test_a_permission_is_given_and_another_refused_over_http(daemon: AcpDaemon):
    made, never = daemon.project / "made", daemon.project / "never"
    async with daemon.client() as client:
        accepted = await client.submit("alice", asking_for(daemon, f"touch {made}"), tool=daemon.name)
        question = await daemon.question(client)
        assert (question.tool, question.detail) == ("Bash", f"touch {made}")
        await client.respond(question.question_id, "allow", user="alice")
        assert (await ended(client, accepted.job_id)).state == "success"
        refused = await client.submit("alice", asking_for(daemon, f"touch {never}"), tool=daemon.name)
        question = await daemon.question(client)
        await client.respond(question.question_id, "deny", user="alice", message="not that one")
        assert (await ended(client, refused.job_id)).state == "success"
    assert (made.exists(), never.exists()) == (True, False)


@pytest.mark.req("A16", "B5")
async def test_a_cancelled_and_a_killed_turn_leave_the_talk_in_order(daemon: AcpDaemon, server: ModelServer):
    await daemon.say("my name is Alice")
    for end in (ask.Cancel(), ask.AgentStop(kill=True)):
        async with daemon.client() as client:
            accepted = await client.submit("alice", "hold", tool=daemon.name)
            await server.until_held()
            await client.command(end, "alice")
            assert (await ended(client, accepted.job_id)).state == "cancelled"
        assert (await daemon.say("what is my name?")).answer.endswith("Your name is Alice.")


async def test_a_new_project_prefers_codex_over_acp_because_it_can_ask(tmp_path: Path, server: ModelServer):
    daemon = AcpDaemon("codex-acp", tmp_path, server, others=("codex", "gemini"))
    await daemon.start()
    async with daemon.client() as client:
        accepted = await client.submit("alice", "say: hello")
        job = await ended(client, accepted.job_id)
    await daemon.end()
    assert (job.answer, [fact["tool"] for fact in daemon.facts("JobStarted")]) == ("hello", ["codex-acp"])


async def test_gemini_stays_the_choice_before_gemini_over_acp(tmp_path: Path, server: ModelServer):
    daemon = AcpDaemon("gemini", tmp_path, server, GEMINI_CLI_MODEL="gemini-2.5-flash")
    await daemon.start()
    async with daemon.client() as client:
        accepted = await client.submit("alice", "say: hello")
        job = await ended(client, accepted.job_id)
    over_acp = await daemon.say("say: hello over ACP")  # as it is found on PATH, in a directory that nobody trusted
    await daemon.end()
    assert (job.answer, over_acp.answer) == ("hello", "hello over ACP")
    assert [fact["tool"] for fact in daemon.facts("JobStarted")] == ["gemini", "gemini-acp"]


# --- what claude asks beside permissions ---------------------------------------------------------------------------


@pytest.fixture
async def claude(tmp_path: Path, server: ModelServer) -> AsyncIterator[AcpDaemon]:
    daemon = AcpDaemon("claude-agent-acp", tmp_path, server)
    await daemon.start()
    yield daemon
    await daemon.end()


@pytest.mark.req("B4")
@pytest.mark.parametrize(("chosen", "told"), [("blue", "blue"), ("something like mauve", "something like mauve")])
async def test_the_form_in_which_claude_asks_is_answered_over_http(claude: AcpDaemon, chosen: str, told: str):
    async with claude.client() as client:
        accepted = await client.submit("alice", "ask: Which colour? | red | blue", tool=claude.name)
        question = await claude.question(client)
        [item] = question.items
        assert (question.kind, [option.label for option in item.options]) == ("question", ["red", "blue"])
        await client.respond(question.question_id, "allow", user="alice", chosen={item.text: chosen})
        assert told in (await ended(client, accepted.job_id)).answer


@pytest.mark.req("B4")
@pytest.mark.parametrize("verdict", ["allow", "deny"])
async def test_claudes_plan_is_approved_or_sent_back_over_http(claude: AcpDaemon, verdict: Literal["allow", "deny"]):
    async with claude.client() as client:
        accepted = await client.submit("alice", "tool: EnterPlanMode {}", tool=claude.name)
        await ended(client, accepted.job_id)
        accepted = await client.submit("alice", 'tool: ExitPlanMode {"plan": "1. look 2. leap"}', tool=claude.name)
        question = await claude.question(client)
        assert (question.kind, question.detail) == ("plan", "1. look 2. leap")
        await client.respond(question.question_id, verdict, user="alice")
        job = await ended(client, accepted.job_id)
    assert (job.state, "approved" in job.answer) == ("success", verdict == "allow")
