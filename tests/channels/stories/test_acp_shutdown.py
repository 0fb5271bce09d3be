"""SIGTERM while ACP agents work, ask and rest: they are told, they are gone in time, and their talks go on later."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.harness import Daemon, state_of
from tests.support.configured_agents import ScriptedAgent, configure, is_alive

pytestmark = [pytest.mark.req("B10", "B5")]

DRAIN_SEC = 2
PEOPLE = ("works", "asks", "rests", "is-deaf")
DEAF = tuple(f"deaf-{number}" for number in range(16))
"""Each takes four seconds to end. All at once that is ten seconds with the rest, of the minute that the harness has
patience; one after the other they would outlast it on any machine."""


def ask(daemon: Daemon, path: str, body: Any = None) -> Any:
    status, content = daemon.call(path, body)
    assert status < 300, content
    return content


def say(daemon: Daemon, user: str, message: str) -> str:
    return ask(daemon, "/v1/messages", {"userId": user, "message": message})["job_id"]


def state_of_job(daemon: Daemon, job_id: str) -> str:
    return ask(daemon, f"/v1/jobs/{job_id}")["state"]


def until(what: str, is_so: Any) -> None:
    """A daemon in another process announces nothing: this is the one place that looks again and again."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, f"{what} never came"
        time.sleep(0.05)


def answered(daemon: Daemon, user: str, message: str) -> str:
    job_id = say(daemon, user, message)
    until(f"the answer to {user}", lambda: state_of_job(daemon, job_id) == "success")
    return ask(daemon, f"/v1/jobs/{job_id}")["answer"]


def test_agents_are_cancelled_in_order_gone_in_time_and_their_talks_go_on(tmp_path: Path):
    agent = ScriptedAgent(tmp_path, "goose")
    deaf = ScriptedAgent(tmp_path, "deaf", ignore="EOF,TERM,INT,HUP")
    configure(state_of(tmp_path), agent, deaf)
    (tmp_path / "proj").mkdir()
    settings = {
        "PROJECTS": f'["{tmp_path / "proj"}"]',
        "FAIRLEAD_DRAIN_SEC": str(DRAIN_SEC),
        "FAIRLEAD_GLOBAL_MAX_RUNNING": "30",
    }
    with Daemon(tmp_path, **settings).is_up() as daemon:
        for user in PEOPLE:
            ask(daemon, "/v1/agent/start", {"userId": user, "project": "1", "tool": "goose"})
            answered(daemon, user, f"my town is {user}-town")
        for user in DEAF:
            ask(daemon, "/v1/agent/start", {"userId": user, "project": "1", "tool": "deaf"})
            answered(daemon, user, "hello")
        running, waiting = say(daemon, "works", "hang"), say(daemon, "asks", "ask: rm -rf build")
        stubborn, queued = say(daemon, "is-deaf", "hang-deaf"), say(daemon, "works", "what is my town?")
        until("the question", lambda: state_of_job(daemon, waiting) == "waiting")
        until("the prompts", lambda: {"hang", "hang-deaf"} <= set(agent.prompts()))
        pids = {note["pid"] for one in (agent, deaf) for note in one.starts()}
        assert daemon.stop() == 0, "within the patience of the harness"
    assert [pid for pid in pids if is_alive(pid)] == []
    assert len(agent.received("session/cancel")) == 3, "who worked, who asked, and who did not listen"

    with Daemon(tmp_path, **settings).is_up() as daemon:
        ends = {job: ask(daemon, f"/v1/jobs/{job}") for job in (running, waiting, stubborn)}
        assert {job: (end["state"], end["error"]["code"]) for job, end in ends.items()} == dict.fromkeys(
            ends, ("failed", "E_SHUTDOWN")
        )
        assert {job["job_id"] for job in ask(daemon, "/v1/answers?userId=asks")["jobs"]} >= {waiting}, "it is owed"
        until("the queued job", lambda: state_of_job(daemon, queued) == "success")
        assert "works-town" in ask(daemon, f"/v1/jobs/{queued}")["answer"]
        for user in PEOPLE:
            assert f"{user}-town" in answered(daemon, user, "what is my town?")
        daemon.stop()
