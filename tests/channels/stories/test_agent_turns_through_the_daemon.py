"""What a claude does by itself, from its pipe to the person: the whole daemon, with a recording instead of claude."""

import asyncio
import json
from pathlib import Path

import pytest

from fairlead.core.state import Job
from tests.channels.harness import DaemonHarness, run_daemon_in
from tests.support.replaying_cli import TRANSCRIPTS, write_shim

pytestmark = [pytest.mark.anyio, pytest.mark.req("E7", "B3")]

SUBAGENT = "claude/10b-subagent"


def talk_with_a_subagent(directory: Path) -> str:
    """One prompt and its turn, in which a sub-agent is sent off; then the turn that claude begins when it reports."""
    said = [json.loads(line) for line in (TRANSCRIPTS / f"{SUBAGENT}.out").read_text().splitlines()]
    heard = {"dir": ">", "msg": {"type": "user"}}
    entries = [heard, *({"dir": "<", "msg": one} for one in said), {"dir": "!", "msg": "we closed stdin"}]
    (directory / "subagent.duplex.jsonl").write_text("\n".join(map(json.dumps, entries)))
    return str(directory / "subagent")


async def agents_own_job(daemon: DaemonHarness) -> Job:
    """The job that nobody asked for, once it has ended."""
    ledger = daemon.flow.ledger
    while True:
        own = [job for job in ledger.state.jobs.values() if job.cause == "agent" and not job.is_live]
        if own:
            return own[0]
        await ledger.until_changed(ledger.state.seq)


async def test_what_claude_says_when_its_subagent_reports_is_a_job_of_its_own_and_reaches_the_person(tmp_path: Path):
    shim = write_shim(tmp_path / "bin", "claude", talk_with_a_subagent(tmp_path))
    async with run_daemon_in(tmp_path, CLAUDE_COMMAND=str(shim)) as daemon, asyncio.timeout(20):
        status, asked = await daemon.say("alice", "send somebody", tool="claude")
        own = await agents_own_job(daemon)
        _, waiting = await daemon.get("/v1/answers?userId=alice")

    assert (status, asked["state"]) == (200, "success")
    assert (own.state, own.cause, own.session_key) == ("success", "agent", asked["session_key"])
    assert own.job_id != asked["job_id"]
    assert [job["job_id"] for job in waiting["jobs"]] == [own.job_id]
    assert waiting["jobs"][0]["answer"].startswith("AFTERTOOL")
    assert own.cost_usd == pytest.approx(0.0511808 - asked["cost_usd"]), "each job counts what it cost itself"
