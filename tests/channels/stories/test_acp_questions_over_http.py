"""An ACP agent asks a person over HTTP: permissions, plans and forms, and what the agent is told."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.channels.harness import DaemonHarness, run_daemon_in
from tests.support.configured_agents import ScriptedAgent, configure

pytestmark = [pytest.mark.anyio, pytest.mark.req("B4")]


@pytest.fixture
def agent(tmp_path: Path) -> ScriptedAgent:
    return ScriptedAgent(tmp_path, "goose")


@pytest.fixture
async def daemon(tmp_path: Path, agent: ScriptedAgent) -> AsyncIterator[DaemonHarness]:
    configure(tmp_path / "state", agent)
    async with run_daemon_in(tmp_path) as daemon:
        yield daemon


async def asked(daemon: DaemonHarness, message: str) -> dict[str, Any]:
    """What the agent asks, as a client that listens to the job is told, and as the list of open questions has it."""
    job_id = await daemon.begin("alice", message, tool="goose")
    heard = await daemon.until(job_id, "question")
    _, listed = await daemon.get("/v1/questions?userId=alice")
    [question] = listed["questions"]
    assert question["question_id"] == heard.data["question_id"]
    return question


async def respond(daemon: DaemonHarness, question: dict[str, Any], verdict: str, **more: Any) -> str:
    """The answer of the job, in which the agent says what it was told."""
    body = {"userId": "alice", "verdict": verdict, **more}
    status, told = await daemon.post(f"/v1/questions/{question['question_id']}", body)
    assert status == 200, told
    await daemon.until(question["job_id"], "done")
    assert (await daemon.get("/v1/questions?userId=alice"))[1] == {"questions": []}
    return (await daemon.get(f"/v1/jobs/{question['job_id']}"))[1]["answer"]


def option(option_id: str) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": option_id}}


@pytest.mark.parametrize(("verdict", "told"), [("allow", "once"), ("deny", "reject")])
async def test_a_plan_is_approved_or_sent_back(daemon: DaemonHarness, agent: ScriptedAgent, verdict: str, told: str):
    question = await asked(daemon, "ask: switch_mode First this, then that")
    assert (question["kind"], question["detail"]) == ("plan", "First this, then that")
    assert f"Chose {told}" in await respond(daemon, question, verdict)
    assert agent.responses()[-1] == option(told)


async def test_of_two_ways_to_allow_once_the_person_names_one(daemon: DaemonHarness, agent: ScriptedAgent):
    question = await asked(daemon, "ask: [two-once] edit /srv/a.txt")
    [item] = question["items"]
    assert [each["label"] for each in item["options"]] == ["Yes, and allow all edits", "Yes, this once", "No"]
    await respond(daemon, question, "allow", chosen={item["text"]: "Yes, this once"})
    assert agent.responses()[-1] == option("allow-this")


async def test_a_form_is_filled_in(daemon: DaemonHarness, agent: ScriptedAgent):
    question = await asked(daemon, "form: titled multi boolean integer text")
    assert question["kind"] == "question"
    colour, colours, sure, many, name = (item["text"] for item in question["items"])
    chosen = {colour: "Blue", colours: "red, green", sure: "Yes", many: "3", name: "Ada, of London"}
    await respond(daemon, question, "allow", chosen=chosen)
    values = {"titled": "blue", "multi": ["red", "green"], "boolean": True, "integer": 3, "text": "Ada, of London"}
    assert agent.responses()[-1] == {"action": "accept", "content": values}


async def test_the_form_in_which_claude_asks_takes_words_of_ones_own(daemon: DaemonHarness, agent: ScriptedAgent):
    question = await asked(daemon, "form: claude")
    colour, sizes = (item["text"] for item in question["items"])
    await respond(daemon, question, "allow", chosen={colour: "mauve", sizes: "Red, Blue"})
    values = {"question_0_custom": "mauve", "question_1": ["red", "blue"]}
    assert agent.responses()[-1] == {"action": "accept", "content": values}


async def test_a_form_is_declined(daemon: DaemonHarness, agent: ScriptedAgent):
    question = await asked(daemon, "form: titled")
    assert await respond(daemon, question, "deny") == "Form: decline"
    assert agent.responses()[-1] == {"action": "decline"}


async def test_an_answer_that_does_not_fit_the_form_is_told_to_the_person(daemon: DaemonHarness, agent: ScriptedAgent):
    question = await asked(daemon, "form: integer")
    [item] = question["items"]
    answer = await respond(daemon, question, "allow", chosen={item["text"]: "a handful"})
    assert "The agent did not get your answers: 'a handful' is not a valid answer to 'How many?'." in answer
    assert agent.responses()[-1] == {"action": "cancel"}
