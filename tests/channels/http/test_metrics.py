"""The metrics of a daemon."""

import re
from pathlib import Path

import pytest

from tests.channels.harness import at_home

pytestmark = pytest.mark.anyio


@pytest.mark.req("C5")
async def test_metrics_are_the_account_of_the_house(tmp_path: Path):
    async with at_home(tmp_path) as home:
        await home.say("alice", "hello")
        await home.say("alice", "/fail E_CLI_TIMEOUT")
        await home.say("alice", "")
        _, text = await home.get("/v1/metrics")
        seq = home.daemon.flow.view.seq
    lines = text.decode().splitlines()
    assert all(re.fullmatch(r"# (HELP|TYPE) \w+ .+|\w+({\w+=\"[^\"]*\"})? \S+", line) for line in lines)
    for line in (
        "fairlead_messages_received_total 3",
        'fairlead_messages_settled_total{outcome="answered"} 1',
        'fairlead_messages_settled_total{outcome="failed"} 1',
        'fairlead_messages_settled_total{outcome="refused"} 1',
        'fairlead_jobs{state="running"} 0',
    ):
        assert line in lines
    durable = next(line for line in lines if line.startswith("fairlead_journal_durable_seq "))
    assert 0 < int(durable.split()[1]) <= seq
