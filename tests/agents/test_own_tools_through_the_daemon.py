"""Fairlead's own tools in the hands of real agents: they send a file, ask, and get the answer, also after a kill -9;
they spawn a session and hear its result; they make a schedule, and it fires."""

import json
import signal
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fairlead.runtimes.gemini_defaults import keep_sessions

from .acp_daemon import AcpDaemon
from .daemon import Daemon, ended
from .model_server import ModelServer, Reply, Run, Use

pytestmark = [pytest.mark.agents, pytest.mark.anyio]

AGENTS = ("claude", "codex", "gemini", "claude-agent-acp", "codex-acp")
PREFIX = {"gemini": "mcp_fairlead_"}
"""How the model names a tool of Fairlead's; the other agents all name it as Claude does."""
STARTS_BESIDE = frozenset({"codex", "codex-acp"})
"""Agents whose first request to the model does not wait for their tool servers."""


@pytest.fixture(params=AGENTS)
async def daemon(request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> AsyncIterator[Daemon]:
    if request.param == "gemini" and not keep_sessions():
        pytest.skip("gemini takes tools from root's files only, and this installation is not root's alone")
    make: Callable[..., Daemon] = AcpDaemon if request.param.endswith("acp") else Daemon
    daemon = make(request.param, tmp_path, server)
    await daemon.start()
    yield daemon
    await daemon.end()


async def use(daemon: Daemon, server: ModelServer, agent: str, tool: str, arguments: dict[str, Any]) -> str:
    """The agent's answer, after its model has called the tool. The name of `ask_user` is Gemini's own."""
    own = "ask_person" if (agent, tool) == ("gemini", "ask_user") else tool
    call = Reply((Use(PREFIX.get(agent, "mcp__fairlead__") + own, arguments),))
    # The tool server has started by the time at which a command of some seconds is over.
    server.script(*([Reply((Run("sleep 8"),))] if agent in STARTS_BESIDE else []), call)
    return (await daemon.say("go on")).answer


@pytest.mark.req("D4")
async def test_a_real_agent_sends_a_file_asks_and_gets_the_answer_although_the_daemon_was_killed(
    daemon: Daemon, server: ModelServer, request: pytest.FixtureRequest
):
    agent = request.node.callspec.params["daemon"]
    (daemon.project / "report.txt").write_text("all is well")
    assert "Sent." in await use(daemon, server, agent, "send_file", {"path": "report.txt", "caption": "look"})
    async with daemon.client() as client:
        [sent] = await client.unfetched_messages("alice")
        assert (sent.text, [file.name for file in sent.files]) == ("look", ["report.txt"])
        assert await client.file(sent.files[0].url) == b"all is well"
        await client.acknowledge_message(sent.sent_id)
    asked = {"question": "Which colour?", "choices": ["red", "blue"]}
    assert "END YOUR TURN" in await use(daemon, server, agent, "ask_user", asked)
    await daemon.end(signal.SIGKILL)
    await daemon.start()
    async with daemon.client() as client:
        assert await client.unfetched_messages("alice") == ()
        question = await daemon.question(client)
        assert [option.label for option in question.items[0].options] == ["red", "blue"]
        job_id = await client.respond(question.question_id, "allow", user="alice", chosen={"Which colour?": "blue"})
        assert (await ended(client, job_id)).state == "success"
    heard = [seen.prompt for seen in server.turns if "Which colour?" in seen.prompt]
    assert any("Answer: blue" in prompt for prompt in heard)
    assert [fact["tool"] for fact in daemon.facts("AgentToolCalled")] == ["send_file", "ask_user"]


@pytest.mark.req("B14")
async def test_no_command_line_and_no_log_has_the_token(daemon: Daemon, server: ModelServer):
    """The agent shows every command line of this machine; its tokens are in files that the journal's owner can read,
    and so is one that belongs to nobody yet."""
    files = "for file in ../state/agent-tools/*.json; do cat $file; echo; done > tokens.txt"
    shown = f"cat /proc/[0-9]*/cmdline | tr '\\0' ' ' > seen.txt; {files}; true"
    async with daemon.client() as client:
        accepted = await client.submit("alice", f"run: {shown}", tool=daemon.name)
        if daemon.name.startswith("claude"):
            question = await daemon.question(client)
            await client.respond(question.question_id, "allow", user="alice")
        await ended(client, accepted.job_id)
    tokens = (daemon.project / "tokens.txt").read_text() if (daemon.project / "tokens.txt").exists() else ""
    known = [json.loads(line)["token"] for line in tokens.splitlines() if line.startswith("{")]
    if not known:
        pytest.skip("this agent's sandbox does not let it read its own capability")
    logs = [log.read_bytes() for log in (daemon.home / "logs").rglob("*") if log.is_file()]
    for token in known:
        assert token not in (daemon.project / "seen.txt").read_text()
        assert all(token.encode() not in log for log in logs)


@pytest.mark.req("D4")
async def test_a_real_agent_spawns_a_session_and_hears_its_result(
    daemon: Daemon, server: ModelServer, request: pytest.FixtureRequest
):
    agent = request.node.callspec.params["daemon"]
    assert "was started" in await use(daemon, server, agent, "spawn_session", {"task": "count the blue files"})

    def job_of(cause: str) -> str:
        return next((fact["job_id"] for fact in daemon.facts("JobEnqueued") if fact.get("cause") == cause), "")

    await daemon.until(lambda: job_of("child") != "")
    async with daemon.client() as client:
        child, parent = await ended(client, job_of("spawn")), await ended(client, job_of("child"))
    assert (child.state, parent.state) == ("success", "success")
    assert child.session_key != parent.session_key
    [heard] = [fact["prompt"] for fact in daemon.facts("JobEnqueued") if fact.get("cause") == "child"]
    assert "count the blue files" in child.answer, "the model repeats what it is asked"
    assert child.answer in heard
    assert any(child.answer in seen.prompt for seen in server.turns), "the agent that asked has it"


@pytest.mark.req("E10")
async def test_a_real_agent_makes_a_schedule_and_it_fires_in_the_agents_own_session(
    daemon: Daemon, server: ModelServer, request: pytest.FixtureRequest
):
    agent = request.node.callspec.params["daemon"]
    soon = datetime.now(UTC) + timedelta(seconds=30)
    wanted = {"when": soon.strftime("%Y-%m-%dT%H:%M:%SZ"), "text": "look at the green build"}
    assert "was made" in await use(daemon, server, agent, "schedule", wanted)
    await daemon.until(lambda: daemon.facts("ScheduleTicked") != [])
    [tick] = daemon.facts("ScheduleTicked")
    assert tick["outcome"] == "ran"
    async with daemon.client() as client:
        run = await ended(client, tick["job_id"])
    assert run.state == "success"
    assert {fact["session_key"] for fact in daemon.facts("JobEnqueued")} == {run.session_key}
    assert any("look at the green build" in seen.prompt for seen in server.turns)
