"""After a crash: what ran is unknown, what was queued runs, and nothing runs twice."""

import pytest

from fairlead.testing.runtime import AgentLog
from tests.flow.harness import run_flow, virtually

pytestmark = pytest.mark.req("A16")


@pytest.mark.req("A8", "A20")
@virtually
async def test_after_a_crash_running_jobs_are_unknown_queued_ones_run_and_nothing_runs_twice():
    agents = AgentLog()
    async with run_flow(agents=agents) as flow:
        running = await flow.say("/hang")
        waiting = await flow.say("/ask ls", user="b")
        queued = await flow.say("later")
        await flow.until(lambda: len(flow.state.running) == 1 and len(flow.state.waiting) == 1)
        disk = flow.disk
    agents.end_all()
    async with run_flow(disk=disk, agents=agents, life=1) as flow:
        assert (await flow.ended(queued.job_id)).state == "success"
        for job_id in (running.job_id, waiting.job_id):
            job = flow.state.jobs[job_id]
            assert (job.state, job.error_code) == ("unknown_after_crash", "E_UNKNOWN_AFTER_CRASH")
        assert agents.violations == []
        assert [i.job_id for i in agents.invoked] == [running.job_id, waiting.job_id, queued.job_id]
