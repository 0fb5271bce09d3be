"""Choosing a model for a real claude, and what it says of its context, through the commands that channels offer."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.app import Daemon as Open
from fairlead.app import run_daemon
from fairlead.core import requests as ask
from fairlead.core.conversation import ConversationRef
from fairlead.core.inbound import Inbound
from fairlead.core.keys import user_key
from fairlead.core.replies import UsageReport
from fairlead.core.requests import Caller
from fairlead.errors import Code, FairleadError
from fairlead.settings import load_settings

from .environment import agent_environment, prepare_home
from .model_server import ModelServer

pytestmark = [pytest.mark.agents, pytest.mark.anyio, pytest.mark.req("B1", "E7")]

HERE = ConversationRef("http", "fairlead", "alice")
KEY = user_key(agent_id="fairlead", user_id="alice")
ALICE = Caller(person="alice", conversation=HERE, session_key=KEY, pre_authorised=True)


def surround(monkeypatch: pytest.MonkeyPatch, home: Path, server: ModelServer) -> None:
    (home / "project").mkdir(exist_ok=True)
    prepare_home("claude", home, server)
    own = {
        "STATE_DIR": str(home / "state"),
        "LOG_DIR": str(home / "logs"),
        "PROJECTS": json.dumps([str(home / "project")]),
        "FAIRLEAD_HTTP": "0",
    }
    for name, value in {**agent_environment("claude", home, server), **own}.items():
        monkeypatch.setenv(name, value)


async def say(daemon: Open, number: int) -> None:
    text = f"say: {number}"
    inbound = Inbound(
        conversation=HERE, message_id=f"m{number}", person="alice", text=text, session_key=KEY, pre_authorised=True
    )
    receipt = await daemon.flow.gate.submit(inbound)
    await until(daemon, lambda: not daemon.flow.ledger.state.jobs[receipt.job_id].is_live)
    assert (await daemon.flow.view.job(receipt.job_id)).answer == str(number)


async def until(daemon: Open, holds: Callable[[], bool]) -> None:
    ledger = daemon.flow.ledger
    async with asyncio.timeout(60):
        while not holds():
            await ledger.until_changed(ledger.state.seq)


async def test_a_chosen_model_is_used_by_the_living_process_and_after_a_restart(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    surround(monkeypatch, tmp_path, server)
    async with run_daemon(load_settings()) as daemon:
        await say(daemon, 1)
        assert "haiku" in [choice.value for choice in daemon.flow.view.choices("model", "", ALICE)]
        await daemon.flow.gate.command(ask.AgentModel("haiku"), ALICE)
        with pytest.raises(FairleadError) as refusal:
            await daemon.flow.gate.command(ask.AgentModel("no-such-model"), ALICE)
        await say(daemon, 2)
        usage = await daemon.flow.gate.command(ask.AgentUsage(), ALICE)
    async with run_daemon(load_settings()) as daemon:
        await say(daemon, 3)

    assert refusal.value.code is Code.E_MODEL_UNAVAILABLE
    models = [seen.body["model"] for seen in server.turns]
    assert ["haiku" in model for model in models] == [False, True, True]
    assert isinstance(usage, UsageReport)
    assert 0 < usage.context_used < usage.context_size
    assert usage.cost_usd > 0
