"""A budget through the whole daemon, over HTTP: set, spent, asked about, and answered after a restart."""

from pathlib import Path

import pytest

from tests.channels.harness import run_daemon_in

pytestmark = [pytest.mark.anyio, pytest.mark.req("E6")]


async def test_a_spent_budget_holds_the_next_job_until_a_client_lets_it_go_on(tmp_path: Path):
    async with run_daemon_in(tmp_path, FAIRLEAD_TIME_ZONE="Pacific/Kiritimati") as daemon:
        status, shown = await daemon.post("/v1/budgets/proj", {"tokens": 10})
        assert (status, shown["rows"]) == (200, [{"project": "proj", "spent_usd": 0.0, "tokens": 10}])
        await daemon.say("alice", "/usage 10 5 0")
        job_id = await daemon.begin("alice", "more")
        question = (await daemon.until(job_id, "question", status="open")).data
        assert question["budget_day"] == shown["day"]
        _, listed = await daemon.get("/v1/questions")
        assert [each["question_id"] for each in listed["questions"]] == [question["question_id"]]
    async with run_daemon_in(tmp_path, FAIRLEAD_TIME_ZONE="Pacific/Kiritimati") as daemon:
        _, job = await daemon.get(f"/v1/jobs/{job_id}")
        assert job["state"] == "queued"
        path, text = f"/v1/questions/{question['question_id']}", question["items"][0]["text"]
        status, refused = await daemon.post(path, {"verdict": "allow", "chosen": {text: "perhaps"}})
        assert (status, refused["error"]["code"]) == (400, "E_INVALID_ARGS")
        assert (await daemon.post(path, {"verdict": "allow", "chosen": {text: "go_on"}}))[0] == 200
        await daemon.until(job_id, "done")
        _, shown = await daemon.get("/v1/budgets")
        assert shown["rows"] == [{"project": "proj", "spent_usd": 0.0, "spent_tokens": 15, "tokens": 10}]
        _, cleared = await daemon.post("/v1/budgets/proj/clear", {})
        assert cleared["rows"] == [{"project": "proj", "spent_usd": 0.0, "spent_tokens": 15}]
