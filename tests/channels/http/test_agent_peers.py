"""An agent that has the token is nevertheless no person: what its processes ask over HTTP is refused and reported."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

import fairlead.channels.http.agent_peers as peers
from fairlead.core.events import AgentRequestRefused, QuestionAnswered
from fairlead.kit.processes import count_living
from tests.channels.harness import DaemonHarness, run_daemon_in
from tests.support import hostile_agent

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.req("A13"),
    pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux tells who holds a connection"),
]
HOSTILE = str(Path(hostile_agent.__file__))


async def let_loose(daemon: DaemonHarness, **deeds: tuple[object, ...]) -> dict[str, Any]:
    """What the hostile agent found out, and the whole answer under `answer`."""
    status, job = await daemon.say("mallory", json.dumps(deeds), tool="codex")
    assert status == 200, job
    found = json.loads(job["answer"].partition("\n\n⚠")[0])
    return found | {"answer": job["answer"], "job_id": job["job_id"]}


async def test_an_agent_can_answer_nobodys_question_although_it_has_the_token(tmp_path: Path):
    async with run_daemon_in(tmp_path, CODEX_COMMAND=HOSTILE) as daemon:
        waiting = await daemon.begin("alice", "/ask rm -rf build", tool="echo")
        asked = await daemon.until(waiting, "question")
        question = asked.data["question_id"]
        answer = {"verdict": "allow", "for_session": True}
        found = await let_loose(
            daemon,
            directly=("ask", daemon.url, daemon.token, f"/v1/questions/{question}", answer),
            by_a_grandchild=("ask_without_mark", daemon.url, daemon.token, f"/v1/questions/{question}", answer),
            as_a_command=("ask", daemon.url, daemon.token, "/v1/projects/add", {"path": "/usr"}),
            as_a_message=("ask", daemon.url, daemon.token, "/v1/messages", {"userId": "alice", "message": "hi"}),
            by_reading=("ask", daemon.url, daemon.token, "/v1/sessions"),
            in_public=("ask", daemon.url, "", "/v1/health"),
        )
        refused = "403 E_AGENT_CALLER"
        assert found["in_public"] == "200"
        names = ("directly", "by_a_grandchild", "as_a_command", "as_a_message", "by_reading")
        assert {name: found[name] for name in names} == dict.fromkeys(names, refused)
        assert "⚠ A process of this agent sent a request to Fairlead in your name (5 time(s))" in found["answer"]
        _, story = await daemon.get(f"/v1/why?subject={found['job_id']}")
        told = [step["words"] for step in story["steps"] if step["type"] == AgentRequestRefused.__name__]
        assert len(told) == 5
        assert f"POST /v1/questions/{question} from " in told[0]
        assert "hostile_agent.py" in told[0]
        # The question is still open, and a person's answer counts: the way it came stands with it.
        assert (await daemon.post(f"/v1/questions/{question}", {"verdict": "deny", "userId": "alice"}))[0] == 200
        await daemon.until(waiting, "done")
        _, story = await daemon.get(f"/v1/why?subject={waiting}")
        answered = [step["words"] for step in story["steps"] if step["type"] == QuestionAnswered.__name__]
        assert answered[0].startswith("alice denied it (http/fairlead/alice over HTTP from 127.0.0.1:")
    assert "an agent asked as if it were a person" in (tmp_path / "logs/app.ndjson").read_text()


@pytest.mark.parametrize("how", ["shutdown", "close"])
async def test_an_agent_that_leaves_before_it_can_be_looked_up_answers_nothing(tmp_path: Path, how: str):
    async with run_daemon_in(tmp_path, CODEX_COMMAND=HOSTILE) as daemon:
        waiting = await daemon.begin("alice", "/ask rm -rf build", tool="echo")
        question = (await daemon.until(waiting, "question")).data["question_id"]
        given = (daemon.url, daemon.token, f"/v1/questions/{question}", {"verdict": "allow"}, how, 100)
        assert (await let_loose(daemon, tried=("ask_and_leave", *given)))["tried"] == "ok"
        _, questions = await daemon.get("/v1/questions")
        assert [one["question_id"] for one in questions["questions"]] == [question]


async def test_a_caller_that_has_closed_its_end_is_nobody_and_one_from_afar_is_not_looked_for():
    ours = ("127.0.0.1", 9)
    assert peers.find_agent_process(("127.0.0.1", 8), ours, "x:") == peers.AgentProcess("", peers.CLOSED)
    assert peers.find_agent_process(("192.0.2.1", 8), ours, "x:") is None


async def test_a_person_is_served_while_agents_work_and_no_agent_costs_no_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    looks: list[object] = []
    real = peers.find_agent_process
    monkeypatch.setattr(peers, "find_agent_process", lambda *given: looks.append(given) or real(*given))
    async with run_daemon_in(tmp_path, CODEX_COMMAND=HOSTILE) as daemon:
        assert count_living() == 0
        for _ in range(3):
            assert (await daemon.get("/v1/sessions"))[0] == 200
        assert looks == []
        slow = tmp_path / "gate"
        os.mkfifo(slow)
        waiting = await daemon.begin("mallory", json.dumps({"read": ("read", str(slow))}), tool="codex")
        await daemon.until(waiting, "moved", state="running")
        while not count_living():
            await daemon.get("/v1/health")
        for _ in range(3):
            assert (await daemon.get("/v1/sessions"))[0] == 200
        assert len(looks) <= 2  # one for each connection of the client, however many requests it carries
        await asyncio.to_thread(slow.write_text, "go on")  # the daemon here may still have to give the prompt
        await daemon.until(waiting, "done")
