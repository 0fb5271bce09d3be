"""ACP agents through the whole daemon over HTTP: configured, chosen, started, commanded, and stopped."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from fairlead.app import run_daemon
from fairlead.core.ids import JobId
from fairlead.errors import FairleadError
from tests.channels.harness import DaemonHarness, run_daemon_in, settings_in
from tests.support.configured_agents import ScriptedAgent, configure, is_alive
from tests.support.replaying_cli import write_shim as write_replaying_cli

pytestmark = [pytest.mark.anyio, pytest.mark.req("B1", "B4")]


def open_and_close(fifo: Path) -> None:
    """Returns when the agent waits there."""
    os.close(os.open(fifo, os.O_WRONLY))


async def until_running(daemon: DaemonHarness, job_id: str) -> None:
    ledger = daemon.flow.ledger
    while ledger.state.jobs[JobId(job_id)].state != "running":
        await ledger.until_changed(ledger.state.seq)


@pytest.mark.req("E1", "B3")
async def test_agent_command_and_named_agents_are_agents_like_any_other(tmp_path: Path):
    goose, own = ScriptedAgent(tmp_path, "goose"), ScriptedAgent(tmp_path, "mine")
    configure(tmp_path / "state", goose)
    async with run_daemon_in(tmp_path, AGENT_COMMAND=(str(own.program), "--acp")) as daemon:
        assert (await daemon.say("alice", "hello", tool="goose"))[1]["answer"] == "You said: hello"
        status, changed = await daemon.post("/v1/tool", {"userId": "alice", "tool": "acp"})
        assert (status, changed["tool"]) == (200, "acp")
        assert (await daemon.say("alice", "and you?"))[1]["answer"] == "You said: and you?"
        assert (own.prompts(), own.starts()[0]["argv"]) == (["and you?"], ["--acp"])
        _, offered = await daemon.get("/v1/choices?command=tool&argument=tool&typed=&userId=alice")
        assert [choice["value"] for choice in offered["choices"]] == ["acp", "goose", "echo"]
        status, refused = await daemon.post("/v1/tool", {"userId": "alice", "tool": "nosuch"})
        assert (status, refused["error"]["code"]) == (400, "E_TOOL_NOT_ENABLED")
        assert "acp, goose, echo" in refused["error"]["message"]


@pytest.mark.req("B14")
async def test_an_agent_gets_the_variables_that_are_named_and_nobody_reads_their_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GOOSE_PROVIDER", "the-value-of-the-provider")
    monkeypatch.setenv("MY_OTHER", "the-value-of-another")
    agent = ScriptedAgent(tmp_path, "goose2")
    configure(tmp_path / "state", agent, env=("GOOSE_PROVIDER",))
    async with run_daemon_in(tmp_path) as daemon:
        assert (await daemon.say("alice", "hello", tool="goose2"))[0] == 200
    [started] = agent.starts()
    assert started["environment"]["GOOSE_PROVIDER"] == "the-value-of-the-provider"
    assert "MY_OTHER" not in started["environment"]
    written = [p for d in ("state", "logs") for p in (tmp_path / d).rglob("*") if p.is_file()]
    assert any(b"GOOSE_PROVIDER" in p.read_bytes() for p in written), "the names are kept"
    assert [p for p in written if b"the-value-of" in p.read_bytes()] == []


BROKEN = {
    "command": ({"goose": {"command": "goose acp"}}, "agent 'goose': command must be a list, not a text"),
    "no command": ({"goose": {"env": []}}, "agent 'goose': command is missing"),
    "value": ({"goose": {"command": ["goose"], "env": ["GOOSE_KEY=hunter2"]}}, "names of variables, not values"),
    "ours": ({"goose": {"command": ["goose"], "env": ["DISCORD_TOKEN"]}}, "Fairlead's own variables"),
    "name": ({"Goose!": {"command": ["goose"]}}, "is not 1 to 40 characters"),
    "built in": ({"claude": {"command": ["goose"]}}, "is built in"),
    "misspelt": ({"goose": {"comand": ["goose"]}}, "agent 'goose': there is no field comand"),
    "no entry": ({"goose": ["goose"]}, "agent 'goose': it must be an object, not a list"),
    "no words": (
        {"goose": {"command": ["goose", 1]}},
        "agent 'goose': command must hold a text, not a number",
    ),
}


@pytest.mark.parametrize("broken", BROKEN)
async def test_a_broken_entry_of_config_json_says_what_is_wrong_and_where(tmp_path: Path, broken: str):
    entry, words = BROKEN[broken]
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "config.json").write_text(json.dumps({"version": 1, "agents": entry}, indent=2))
    with pytest.raises(FairleadError) as refused:
        async with run_daemon(settings_in(tmp_path)):
            pass
    assert refused.value.code == "E_CONFIG"
    assert words in refused.value.message
    assert "config.json, line " in refused.value.message
    assert "hunter2" not in str(refused.value)


@pytest.mark.req("B7")
async def test_agent_start_chooses_project_and_agent_and_the_started_process_serves(tmp_path: Path):
    agent, other = ScriptedAgent(tmp_path, "goose"), ScriptedAgent(tmp_path, "mine")
    configure(tmp_path / "state", agent)
    async with run_daemon_in(tmp_path, AGENT_COMMAND=(str(other.program),)) as daemon:
        status, started = await daemon.post("/v1/agent/start", {"userId": "alice", "project": "1", "tool": "goose"})
        assert (status, started["project"], started["tool"]) == (200, "proj", "goose")
        assert (await daemon.get("/v1/agent?userId=alice"))[1]["state"] == "Active"
        assert (await daemon.say("alice", "hello"))[1]["answer"] == "You said: hello"
        assert agent.processes_with("session/new") == agent.processes_with("session/prompt")
        status, started = await daemon.post("/v1/agent/start", {"userId": "bob", "project": "proj"})
        assert (status, started["tool"]) == (200, "acp"), "AGENT_COMMAND names the default agent"
        assert len(other.received("session/new")) == 1


@pytest.mark.req("B7")
async def test_agent_start_goes_on_with_the_talk_that_the_session_has(tmp_path: Path):
    agent = ScriptedAgent(tmp_path, "goose")
    configure(tmp_path / "state", agent)
    async with run_daemon_in(tmp_path) as daemon:
        start = {"userId": "alice", "project": "proj", "tool": "goose"}
        await daemon.post("/v1/agent/start", start)
        await daemon.say("alice", "my name is Alice")
        assert (await daemon.post("/v1/agent/stop", {"userId": "alice"}))[0] == 200
        assert (await daemon.post("/v1/agent/start", start))[0] == 200
        assert "Alice" in (await daemon.say("alice", "what is my name?"))[1]["answer"]
        assert len(agent.received("session/new")) == 1
        assert len(agent.received("session/resume")) == 1
        assert agent.processes_with("session/resume") == agent.processes_with("session/prompt")[1:]
        assert (await daemon.post("/v1/agent/start", start))[0] == 200, "the agent that serves stays"
        assert len(agent.received("session/resume")) == 1


@pytest.mark.req("B7")
async def test_a_message_that_comes_while_the_agent_is_started_waits_for_it(tmp_path: Path):
    """Else the message would start an agent of its own, which the first one then replaces in the middle of its turn."""
    slowly = tmp_path / "slowly"
    os.mkfifo(slowly)
    agent = ScriptedAgent(tmp_path, "goose", on={"session/new": f"hold {slowly}"})
    configure(tmp_path / "state", agent)
    async with run_daemon_in(tmp_path) as daemon:
        start = {"userId": "alice", "project": "proj", "tool": "goose"}
        starting = asyncio.create_task(daemon.post("/v1/agent/start", start))
        async with asyncio.timeout(60):
            while not agent.received("session/new"):
                await asyncio.sleep(0.02)  # a file of notes announces nothing
        job = await daemon.begin("alice", "hello", tool="goose")
        _, other = await daemon.say("bob", "hello", tool="echo")
        assert other["answer"].endswith(": hello"), "nobody else waits"
        assert daemon.flow.ledger.state.jobs[JobId(job)].state == "queued"
        await asyncio.to_thread(open_and_close, slowly)
        assert (await starting)[0] == 200
        assert (await daemon.until(job, "done")).data["job"]["answer"] == "You said: hello"
        assert agent.processes_with("session/new") == agent.processes_with("session/prompt")


@pytest.mark.req("B7")
async def test_an_agent_that_cannot_be_started_changes_nothing(tmp_path: Path):
    good, bad = ScriptedAgent(tmp_path, "goose"), ScriptedAgent(tmp_path, "bad", auth="required")
    configure(tmp_path / "state", good, bad)
    async with run_daemon_in(tmp_path) as daemon:
        await daemon.say("alice", "hello", tool="goose")
        status, refused = await daemon.post("/v1/agent/start", {"userId": "alice", "project": "1", "tool": "bad"})
        assert (status, refused["error"]["code"]) == (502, "E_CLI_NOT_LOGGED_IN")
        assert "login" in refused["error"]["message"]
        assert (await daemon.get("/v1/status?userId=alice"))[1]["tool"] == "goose"
        await daemon.post("/v1/agent/start", {"userId": "bob", "project": "1", "tool": "bad"})
        _, nothing = await daemon.get("/v1/status?userId=bob")
        assert nothing["error"]["code"] == "E_NOT_IN_MANAGED_THREAD", "bob has no session"
        busy = await daemon.begin("alice", "hang")
        await until_running(daemon, busy)
        status, refused = await daemon.post("/v1/agent/start", {"userId": "alice", "project": "1", "tool": "goose"})
        assert (status, refused["error"]["code"]) == (409, "E_SESSION_STATE")


async def test_every_agent_command_over_http(tmp_path: Path):
    agent = ScriptedAgent(tmp_path, "goose")
    configure(tmp_path / "state", agent)
    async with run_daemon_in(tmp_path) as daemon:
        await daemon.say("alice", "usage: 1200 300\ncontext: 53000 200000 0.25\nsay: hi", tool="goose")
        _, report = await daemon.get("/v1/agent?userId=alice")
        assert (report["state"], report["model"], report["mode"]) == ("Active", "scripted-1", "default")
        assert report["commands"] == ["compact", "review"]
        assert (await daemon.post("/v1/agent/model", {"userId": "alice", "model": "scripted-2"}))[0] == 200
        assert (await daemon.post("/v1/agent/mode", {"userId": "alice", "mode": "plan"}))[0] == 200
        assert (await daemon.say("alice", "which model?"))[1]["answer"] == "model=scripted-2"
        assert (await daemon.say("alice", "which mode?"))[1]["answer"] == "mode=plan"
        _, usage = await daemon.get("/v1/agent/usage?userId=alice")
        assert (usage["context_used"], usage["context_size"], usage["cost_usd"]) == (53000, 200000, 0.25)
        body, key = {"userId": "alice", "name": "compact", "text": "now"}, {"Idempotency-Key": "k1"}
        status, sent = await daemon.post("/v1/agent/command", body, headers=key)
        assert (status, sent["command"]) == (200, "compact")
        assert (await daemon.until(sent["job_id"], "done")).data["job"]["answer"] == "Ran the command /compact now"
        assert (await daemon.post("/v1/agent/command", body, headers=key))[1]["job_id"] == sent["job_id"]
        assert agent.prompts().count("/compact now") == 1
        pid = agent.processes_with("session/prompt")[-1]
        assert (await daemon.post("/v1/agent/kill", {"userId": "alice"}))[0] == 200
        assert not is_alive(pid)
        assert (await daemon.get("/v1/agent?userId=alice"))[1]["state"] == "Closed"
        status, projects = await daemon.get("/v1/projects?userId=alice")
        assert [p["default_tool"] for p in projects["projects"]] == ["goose"]
        (tmp_path / "second").mkdir()
        status, added = await daemon.post("/v1/projects/add", {"path": str(tmp_path / "second")})
        assert (status, added["enabled_tools"]) == (200, ["goose", "echo"])


async def test_a_model_that_the_agent_refuses_is_not_chosen(tmp_path: Path):
    """Of an agent that tells no models, nobody knows before."""
    agent = ScriptedAgent(tmp_path, "goose", settings="")
    configure(tmp_path / "state", agent)
    async with run_daemon_in(tmp_path) as daemon:
        await daemon.say("alice", "hello", tool="goose")
        status, refused = await daemon.post("/v1/agent/model", {"userId": "alice", "model": "gpt-99"})
        assert (status, refused["error"]["code"]) == (400, "E_MODEL_UNAVAILABLE")
        assert (await daemon.say("alice", "hello"))[1]["answer"] == "You said: hello"


async def test_status_says_what_an_agent_cannot_do_and_which_one_here_can(tmp_path: Path):
    plain, able = ScriptedAgent(tmp_path, "plain", capabilities="load,steering"), ScriptedAgent(tmp_path, "able")
    configure(tmp_path / "state", plain, able)
    codex = write_replaying_cli(tmp_path / "bin", "codex", "codex/01-new-turn")
    async with run_daemon_in(tmp_path, CODEX_COMMAND=str(codex)) as daemon:
        for agent in ("able", "plain"):
            await daemon.say("alice", "hello", tool=agent)
        _, report = await daemon.get("/v1/agent?userId=alice")
        assert report["cannot"] == [{"ability": "fork", "others": ["codex", "able"]}]
        assert (await daemon.post("/v1/tool", {"userId": "alice", "tool": "able"}))[0] == 200
        assert "cannot" not in (await daemon.get("/v1/agent?userId=alice"))[1]
        assert (await daemon.post("/v1/tool", {"userId": "alice", "tool": "codex"}))[0] == 200
        _, report = await daemon.get("/v1/agent?userId=alice")
        assert report["cannot"] == [
            {"ability": "ask", "others": ["plain", "able"]},
            {"ability": "steer", "others": ["plain", "able"]},
        ]


@pytest.mark.req("A13")
async def test_without_the_token_nobody_starts_an_agent(tmp_path: Path):
    agent = ScriptedAgent(tmp_path, "goose")
    configure(tmp_path / "state", agent)
    async with run_daemon_in(tmp_path) as daemon:
        body = {"userId": "alice", "project": "1"}
        for path in ("/v1/agent/start", "/v1/agent/command", "/v1/agent/kill"):
            status, _ = await daemon.post(path, body, headers={"Authorization": "Bearer wrong"})
            assert status == 401
    assert agent.starts() == []


@pytest.mark.req("B3")
async def test_what_an_agent_says_and_asks_by_itself_reaches_the_person_as_a_job_of_its_own(tmp_path: Path):
    agent = ScriptedAgent(tmp_path, "goose")
    configure(tmp_path / "state", agent)
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    async with run_daemon_in(tmp_path, patience_sec=60) as daemon:
        _, asked = await daemon.say("alice", f"unasked: {fifo} the build is green\nsay: it builds", tool="goose")
        assert asked["answer"] == "it builds"
        assert (await daemon.post("/v1/tool", {"userId": "alice", "tool": "echo"}))[0] == 200
        await asyncio.to_thread(open_and_close, fifo)
        ledger = daemon.flow.ledger
        while not (own := [j for j in ledger.state.jobs.values() if j.cause == "agent" and not j.is_live]):
            await ledger.until_changed(ledger.state.seq)
        assert [(job.state, job.runtime, job.result_excerpt) for job in own] == [
            ("success", "goose", "the build is green")
        ]
        _, waiting = await daemon.get("/v1/answers?userId=alice")
        assert [job["answer"] for job in waiting["jobs"]] == ["the build is green"]


@pytest.mark.req("B6")
async def test_an_agent_that_falls_silent_is_ended_its_conversation_says_so_and_the_next_message_goes_on(
    tmp_path: Path,
):
    agent = ScriptedAgent(tmp_path, "goose")
    configure(tmp_path / "state", agent)
    async with run_daemon_in(tmp_path, FAIRLEAD_AGENT_WATCHDOG_SEC=3) as daemon:
        await daemon.say("alice", "my name is Alice", tool="goose")
        status, failed = await daemon.say("alice", "hang")
        assert (status, failed["error"]["code"]) == (504, "E_ACP_TIMEOUT")
        assert "no update for 3 s" in failed["error"]["message"]
        first, silent = agent.processes_with("session/prompt")
        assert first == silent
        assert not is_alive(silent)
        assert "Alice" in (await daemon.say("alice", "what is my name?"))[1]["answer"]
        assert agent.processes_with("session/prompt")[-1] != silent
