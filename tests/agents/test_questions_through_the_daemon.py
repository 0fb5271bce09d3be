"""What a real claude asks, notices and does by itself, as a person behind a real daemon gets to see it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .daemon import Daemon, ended
from .model_server import ModelServer

pytestmark = [pytest.mark.agents, pytest.mark.anyio]


@pytest.fixture
async def daemon(tmp_path: Path, server: ModelServer) -> AsyncIterator[Daemon]:
    daemon = Daemon("claude", tmp_path, server)
    await daemon.start()
    yield daemon
    await daemon.end()


@pytest.mark.req("B4", "E7")
async def test_for_this_session_means_this_command_also_after_a_restart_and_no_other(daemon: Daemon):
    log = daemon.project / "log"
    command = f"run: echo x >> {log}"
    async with daemon.client() as client:
        first = await client.submit("alice", command)
        question = await daemon.question(client)
        assert (question.tool, question.detail) == ("Bash", f"echo x >> {log}")
        await client.respond(question.question_id, "allow", user="alice", for_session=True)
        await ended(client, first.job_id)
    await daemon.say(command)
    await daemon.end()
    await daemon.start()
    await daemon.say(command)
    assert log.read_text() == "x\n" * 3
    async with daemon.client() as client:
        other = await client.submit("alice", f"run: echo y >> {log}")
        question = await daemon.question(client)
        await client.respond(question.question_id, "deny", user="alice", message="not that one")
        assert "not that one" in (await ended(client, other.job_id)).answer
    assert len(daemon.facts("QuestionAsked")) == 2
    assert log.read_text() == "x\n" * 3


@pytest.mark.req("B4")
async def test_a_file_is_shown_as_a_diff_before_it_is_written(daemon: Daemon):
    path = daemon.project / "new.txt"
    async with daemon.client() as client:
        accepted = await client.submit("alice", f"write: {path} hello there")
        question = await daemon.question(client)
        assert (question.tool, question.detail) == ("Write", str(path))
        assert "+hello there" in question.diff
        assert not path.exists()
        await client.respond(question.question_id, "allow", user="alice")
        await ended(client, accepted.job_id)
    assert path.read_text() == "hello there"


@pytest.mark.req("B4")
async def test_the_agents_question_is_answered_over_http(daemon: Daemon):
    async with daemon.client() as client:
        accepted = await client.submit("alice", "ask: Which colour? | red | blue")
        question = await daemon.question(client)
        assert [option.label for option in question.items[0].options] == ["red", "blue"]
        await client.respond(question.question_id, "allow", user="alice", chosen={"Which colour?": "blue"})
        job = await ended(client, accepted.job_id)
    assert "blue" in job.answer


@pytest.mark.req("B4")
@pytest.mark.parametrize("verdict", ["allow", "deny"])
async def test_a_plan_is_approved_or_sent_back_over_http(daemon: Daemon, verdict: str):
    async with daemon.client() as client:
        accepted = await client.submit("alice", "tool: EnterPlanMode {}")
        await ended(client, accepted.job_id)
        accepted = await client.submit("alice", 'tool: ExitPlanMode {"plan": "1. look 2. leap"}')
        question = await daemon.question(client)
        assert (question.kind, question.detail) == ("plan", "1. look 2. leap")
        await client.respond(question.question_id, verdict, user="alice", message="look twice")  # type: ignore[arg-type]
        job = await ended(client, accepted.job_id)
    assert ("approved" if verdict == "allow" else "look twice") in job.answer


@pytest.mark.req("E7")
async def test_a_command_that_ends_in_the_background_is_a_job_of_its_own_and_nobodys_answer(daemon: Daemon):
    async with daemon.client() as client:
        asked = await client.submit("alice", "background: sleep 1; true")
        asked_answer = (await ended(client, asked.job_id)).answer
        await daemon.until(lambda: len(daemon.facts("JobCompleted")) == 2)
        [own] = [fact for fact in daemon.facts("JobEnqueued") if fact.get("cause") == "agent"]
        after = await daemon.say("say: hello")
        waiting = {job.job_id: job.answer for job in await client.unfetched_jobs("alice")}
    assert "background" in asked_answer
    assert after.answer == "hello"
    assert waiting[own["job_id"]] == "Noted: the background task has ended."


@pytest.mark.req("E3", "E6")
async def test_a_permissions_file_that_cannot_be_read_is_told_with_the_answer(daemon: Daemon):
    workspace = daemon.home / "state" / "workspaces" / "project"
    workspace.mkdir(parents=True, exist_ok=True)
    (workspace / "PERMISSIONS.json").write_text('{"tier": "everything"}')
    answer = (await daemon.say("run: touch made")).answer
    assert "I am offered no tool for that" in answer
    assert "⚠ PERMISSIONS.json cannot be used" in answer
    (workspace / "PERMISSIONS.json").write_text('{"tier": "readonly"}')
    assert (await daemon.say("say: hello")).answer == "hello"
