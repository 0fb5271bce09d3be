"""Real agents through a real daemon: a text in the middle of a tool is taken into the turn, or waits; never both."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .acp_daemon import AcpDaemon
from .daemon import Daemon, ended
from .model_server import ModelServer
from .test_undo_through_the_daemon import ACP, CLI, command_for, order

pytestmark = [pytest.mark.agents, pytest.mark.anyio, pytest.mark.req("F6")]


@pytest.fixture(params=(*CLI, *ACP))
async def daemon(request: pytest.FixtureRequest, tmp_path: Path, server: ModelServer) -> AsyncIterator[Daemon]:
    name = request.param
    daemon = AcpDaemon(name, tmp_path, server) if name in ACP else Daemon(name, tmp_path, server)
    await daemon.start()
    yield daemon
    await daemon.end()


async def test_a_text_in_the_middle_of_a_tool_is_taken_or_waits(daemon: Daemon, server: ModelServer):
    gate = daemon.project / "gate"
    os.mkfifo(gate)
    async with daemon.client() as client:
        await order(daemon, client, "my name is Carol")
        working = asyncio.ensure_future(order(daemon, client, command_for(daemon, "cat gate")))
        opened = await asyncio.to_thread(_open_when_read, gate)
        text = await client.submit("alice", "!my colour is green", tool=daemon.name)
        await daemon.until(lambda: bool(daemon.facts("SteeringBegun") + daemon.facts("SteeringDeclined")))
        os.write(opened, b"opened\n")
        os.close(opened)
        await working
        job = await ended(client, text.job_id)
    ran = [fact["job_id"] for fact in daemon.facts("JobStarted")]
    assert "my colour is green" in str(server.turns[-1].body), "the model has read it"
    if daemon.name == "codex":
        assert [fact["reason"] for fact in daemon.facts("SteeringDeclined")] == ["unsupported"]
        assert (job.state, ran.count(text.job_id)) == ("success", 1)
    else:
        assert (job.state, ran.count(text.job_id)) == ("steered", 0)


def _open_when_read(gate: Path) -> int:
    """Returns when the agent's command has opened the other end."""
    return os.open(gate, os.O_WRONLY)
