"""Many ACP agents at once: every answer comes to the conversation that asked, from an agent of its own."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.channels.harness import DaemonHarness, run_daemon_in
from tests.support.configured_agents import ScriptedAgent, configure

pytestmark = [pytest.mark.anyio, pytest.mark.req("B9", "C3")]


async def until_prompted(daemon: DaemonHarness, agent: ScriptedAgent, count: int) -> None:
    """Returns when so many prompts have reached agents; a job that ends meanwhile ends the wait."""
    ledger = daemon.flow.ledger
    async with asyncio.timeout(120):
        while len(agent.received("session/prompt")) < count:
            assert not any(job.state == "failed" for job in ledger.state.jobs.values()), "an agent could not be started"
            await asyncio.sleep(0.05)  # a file of notes announces nothing


def release(fifo: Path) -> None:
    """Opening it for writing returns when the agent waits there."""
    os.close(os.open(fifo, os.O_WRONLY))


@pytest.mark.parametrize(("count", "pooled"), [(10, 5), (50, 50)])
async def test_every_answer_comes_to_its_own_conversation(tmp_path: Path, count: int, pooled: int):
    agent = ScriptedAgent(tmp_path, "goose")
    configure(tmp_path / "state", agent)
    limits = {"FAIRLEAD_GLOBAL_MAX_RUNNING": count, "FAIRLEAD_MULTI_TURN_MAX_PROCESSES": pooled}
    people = [f"person-{number}" for number in range(count)]
    fifos = {person: tmp_path / f"{person}.fifo" for person in people}
    for fifo in fifos.values():
        os.mkfifo(fifo)
    async with run_daemon_in(tmp_path, patience_sec=240, **limits) as daemon:
        jobs = {}
        for person in people:
            words = f"my town is {person}-town\nhold: {fifos[person]}\nsay: for {person}"
            jobs[person] = await daemon.begin(person, words)
        state = daemon.flow.ledger.state
        assert all(state.jobs[job].is_live for job in jobs.values()), "each was acknowledged while the others run"
        await until_prompted(daemon, agent, count)
        assert len(state.running) == count, "they run at once"
        for person in reversed(people):
            await asyncio.to_thread(release, fifos[person])
        for person in people:
            ended = (await daemon.until(jobs[person], "done")).data["job"]
            assert ended["session_key"] == f"agent:fairlead:user:{person}"
            assert ended["answer"].endswith(f"for {person}")
        assert len(set(agent.processes_with("session/prompt"))) == count, "nobody shares a process"
        sessions = [params["sessionId"] for params in agent.received("session/prompt")]
        assert len(set(sessions)) == count, "nobody shares a session"
        asked = [daemon.say(person, "what is my town?") for person in people]
        remembered = [job["answer"] for _, job in await asyncio.gather(*asked)]
        assert [f"{person}-town" in answer for person, answer in zip(people, remembered, strict=True)] == [True] * count
