"""A permission answered once and for all, or refused with words: every runtime that asks, through the whole daemon."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.channels.harness import DaemonHarness, run_daemon_in
from tests.support.configured_agents import ScriptedAgent, configure
from tests.support.replaying_cli import write_shim

pytestmark = [pytest.mark.anyio, pytest.mark.req("B4")]


async def asked(daemon: DaemonHarness, job_id: str) -> dict[str, Any]:
    return (await daemon.until(job_id, "question", status="open")).data


async def answer(daemon: DaemonHarness, question: dict[str, Any], verdict: str, **more: Any) -> tuple[int, Any]:
    return await daemon.post(f"/v1/questions/{question['question_id']}", {"verdict": verdict, **more})


async def answer_of(daemon: DaemonHarness, job_id: str) -> str:
    return (await daemon.until(job_id, "done")).data["job"]["answer"]


async def heard(daemon: DaemonHarness, job_id: str) -> list[str]:
    async with daemon.listening(job_id) as events:
        return [event.name async for event in events]


async def story(daemon: DaemonHarness, job_id: str) -> str:
    _, told = await daemon.get(f"/v1/why?subject={job_id}")
    return "\n".join(step["words"] for step in told["steps"])


async def test_a_rule_is_made_used_told_listed_and_removed(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        job_id = await daemon.begin("alice", "/ask pytest -q")
        question = await asked(daemon, job_id)
        assert question["offers"] == [{"tool": "Bash", "kind": "prefix", "text": "pytest"}]
        assert question["project"] == "proj"
        status, refused = await answer(daemon, question, "allow", always=2)
        assert (status, refused["error"]["code"]) == (400, "E_INVALID_ARGS")
        assert (await answer(daemon, question, "allow", always=1, userId="alice"))[0] == 200
        assert "allowed: pytest -q" in await answer_of(daemon, job_id)
        assert "alice made rule 1: pytest … in proj" in await story(daemon, job_id)
    async with run_daemon_in(tmp_path) as daemon:  # a rule outlives the daemon, and holds in every session
        await daemon.post("/v1/reset", {"userId": "alice"})
        job_id = await daemon.begin("bob", "/ask pytest tests")
        used = await daemon.until(job_id, "rule")
        assert used.data == {"number": 1, "rule": {"tool": "Bash", "kind": "prefix", "text": "pytest"}}
        assert "allowed: pytest tests" in await answer_of(daemon, job_id)
        assert "question" not in await heard(daemon, job_id)
        assert "allowed by rule 1 (pytest …) without asking: Bash pytest tests" in await story(daemon, job_id)
        job_id = await daemon.begin("bob", "/ask pytest && rm -rf ~")
        await answer(daemon, await asked(daemon, job_id), "deny")
        _, listed = await daemon.get("/v1/rules")
        [rule] = listed["rules"]
        assert (rule["number"], rule["project"], rule["uses"], rule["person"]) == (1, "proj", 1, "alice")
        assert (await daemon.post("/v1/rules/7/remove", {}))[1]["error"]["code"] == "E_RULE_NOT_FOUND"
        assert (await daemon.post("/v1/rules/1/remove", {}))[0] == 200
        assert (await daemon.get("/v1/rules"))[1]["rules"] == []
        job_id = await daemon.begin("bob", "/ask pytest")
        await answer(daemon, await asked(daemon, job_id), "deny")


async def test_a_rule_goes_with_its_project_under_a_new_name_and_away_with_it(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        job_id = await daemon.begin("alice", "/ask pytest")
        await answer(daemon, await asked(daemon, job_id), "allow", always=1)
        await daemon.until(job_id, "done")
        await daemon.post("/v1/projects/proj/rename", {"new_name": "shop"})
        job_id = await daemon.begin("alice", "/ask pytest")
        await daemon.until(job_id, "rule", number=1)
        await daemon.until(job_id, "done")
        assert (await daemon.get("/v1/rules"))[1]["rules"][0]["project"] == "shop"
        assert (await daemon.post("/v1/projects/shop/remove", {}))[0] == 200
        assert (await daemon.get("/v1/rules"))[1]["rules"] == []


@pytest.mark.req("A13")
async def test_a_rule_never_goes_beyond_the_tier_of_the_project(tmp_path: Path):
    workspace = tmp_path / "state" / "workspaces" / "proj"
    async with run_daemon_in(tmp_path) as daemon:
        job_id = await daemon.begin("alice", "/ask pytest")
        await answer(daemon, await asked(daemon, job_id), "allow", always=1)
        await daemon.until(job_id, "done")
        workspace.mkdir(parents=True)
        (workspace / "PERMISSIONS.json").write_text('{"tier": "readonly"}')
        for seen_before in (True, False):
            job_id = await daemon.begin("alice", "/ask pytest")
            question = await asked(daemon, job_id)
            assert bool(question.get("tier_before")) is seen_before
            await answer(daemon, question, "deny")
            await daemon.until(job_id, "done")


async def test_a_refusal_in_words_reaches_an_agent_that_takes_words_with_the_refusal(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        job_id = await daemon.begin("alice", "/ask rm -rf build")
        await answer(daemon, await asked(daemon, job_id), "deny", message="use make clean", userId="alice")
        assert "denied: rm -rf build (use make clean)" in await answer_of(daemon, job_id)
        assert "alice denied it, because: use make clean" in await story(daemon, job_id)
        assert list(daemon.flow.ledger.state.jobs) == [job_id]


# --- agents that speak ACP -------------------------------------------------------------------------------------------


async def test_any_acp_agent_gets_the_words_as_its_next_message_before_all_that_wait(tmp_path: Path):
    agent = ScriptedAgent(tmp_path, "goose")
    configure(tmp_path / "state", agent)
    async with run_daemon_in(tmp_path) as daemon:
        job_id = await daemon.begin("alice", "ask: rm -rf build", tool="goose")
        question = await asked(daemon, job_id)
        assert question["words_go_next"] is True
        later = await daemon.begin("alice", "and then this")
        await answer(daemon, question, "deny", message="use make clean", userId="alice")
        assert "Chose reject" in await answer_of(daemon, job_id)
        await daemon.until(later, "done")
        told = "I refused this (Bash: rm -rf build), because: use make clean"
        assert agent.prompts() == ["ask: rm -rf build", told, "and then this"]
        assert [job.state for job in daemon.flow.ledger.state.jobs.values()] == ["success"] * 3


async def test_the_words_of_a_refusal_outlive_a_crash(tmp_path: Path):
    agent = ScriptedAgent(tmp_path, "goose")
    configure(tmp_path / "state", agent)
    async with run_daemon_in(tmp_path) as daemon:
        job_id = await daemon.begin("alice", "ask: rm -rf build\nhang", tool="goose")
        await answer(daemon, await asked(daemon, job_id), "deny", message="use make clean")
    async with run_daemon_in(tmp_path) as daemon:
        [told] = [other for other in daemon.flow.ledger.state.jobs if other != job_id]
        assert "because: use make clean" in await answer_of(daemon, told)


async def test_a_rule_holds_for_an_acp_agent_and_never_becomes_the_agents_own_always(tmp_path: Path):
    agent = ScriptedAgent(tmp_path, "goose")
    configure(tmp_path / "state", agent)
    async with run_daemon_in(tmp_path) as daemon:
        job_id = await daemon.begin("alice", "ask: pytest -q", tool="goose")
        await answer(daemon, await asked(daemon, job_id), "allow", always=1)
        assert "Chose once" in await answer_of(daemon, job_id)
        job_id = await daemon.begin("alice", "ask: pytest -x")
        await daemon.until(job_id, "rule", number=1)
        assert "Chose once" in await answer_of(daemon, job_id)
        assert [r["outcome"]["optionId"] for r in agent.responses()] == ["once", "once"]
        job_id = await daemon.begin("alice", "ask: pytest | tee log")
        await answer(daemon, await asked(daemon, job_id), "deny")
        assert "Chose reject" in await answer_of(daemon, job_id)


async def test_a_rule_about_a_directory_holds_for_files_really_below_it(tmp_path: Path):
    agent = ScriptedAgent(tmp_path, "goose")
    configure(tmp_path / "state", agent)
    (tmp_path / "proj" / "src").mkdir(parents=True)
    (tmp_path / "proj" / "src" / "out").symlink_to(tmp_path)
    async with run_daemon_in(tmp_path) as daemon:
        job_id = await daemon.begin("alice", "ask: edit src/app.py", tool="goose")
        question = await asked(daemon, job_id)
        assert [(offer["kind"], offer["text"]) for offer in question["offers"]] == [
            ("path", "src/app.py"),
            ("directory", "src"),
        ]
        await answer(daemon, question, "allow", always=2)
        await daemon.until(job_id, "done")
        job_id = await daemon.begin("alice", "ask: edit src/new/other.py")
        await daemon.until(job_id, "rule", number=1)
        await daemon.until(job_id, "done")
        for elsewhere in ("src/../setup.py", "src/out/x", "src/.git/config", "/etc/hosts", "src"):
            job_id = await daemon.begin("alice", f"ask: edit {elsewhere}")
            await answer(daemon, await asked(daemon, job_id), "deny")
            await daemon.until(job_id, "done")
        job_id = await daemon.begin("alice", "ask: delete src/app.py")
        await answer(daemon, await asked(daemon, job_id), "deny")
        await daemon.until(job_id, "done")


# --- claude, as it was recorded --------------------------------------------------------------------------------------

RECORDED = "touch made-by-04d-perm-stdio-allow; echo done"


def listening_claude(tmp_path: Path, transcript: str) -> tuple[Path, Path]:
    """The recorded program, and a file with every line that it is given."""
    recorded = write_shim(tmp_path / "recorded", "claude", transcript)
    program, given = tmp_path / "bin" / "claude", tmp_path / "given"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\ncase "$*" in *--version*) exec {recorded} "$@";; esac\ntee -a {given} | {recorded} "$@"\n'
    )
    program.chmod(0o755)
    return program, given


def responses(given: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in given.read_text().splitlines()]
    return [line["response"]["response"] for line in lines if line["type"] == "control_response"]


async def test_claude_is_told_why_it_is_refused(tmp_path: Path):
    program, given = listening_claude(tmp_path, "claude/04e-perm-stdio-deny")
    async with run_daemon_in(tmp_path, CLAUDE_COMMAND=str(program)) as daemon:
        job_id = await daemon.begin("alice", "go", tool="claude")
        await answer(daemon, await asked(daemon, job_id), "deny", message="not in this directory")
        await daemon.until(job_id, "done")
    assert responses(given) == [{"behavior": "deny", "message": "not in this directory"}]


async def test_a_rule_holds_for_claude(tmp_path: Path):
    program, given = listening_claude(tmp_path, "claude/04d-perm-stdio-allow")
    async with run_daemon_in(tmp_path, CLAUDE_COMMAND=str(program)) as daemon:
        job_id = await daemon.begin("alice", "go", tool="claude")
        question = await asked(daemon, job_id)
        assert question["offers"] == [{"tool": "Bash", "kind": "exact", "text": RECORDED}]
        await answer(daemon, question, "allow", always=1)
        await daemon.until(job_id, "done")
        job_id = await daemon.begin("bob", "go", tool="claude")  # another session, another process
        await daemon.until(job_id, "rule", number=1)
        await daemon.until(job_id, "done")
        assert "question" not in await heard(daemon, job_id)
    assert [response["behavior"] for response in responses(given)] == ["allow", "allow"]
