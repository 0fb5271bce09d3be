"""Schedules through the whole daemon: real clock, real HTTP, real commands as checks, a restart in between."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.channels.harness import DaemonHarness, run_daemon_in

pytestmark = [pytest.mark.anyio, pytest.mark.req("E10")]


def soon(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


async def add(daemon: DaemonHarness, when: str, text: str, **more: Any) -> dict[str, Any]:
    status, shown = await daemon.post("/v1/schedules", {"userId": "alice", "when": when, "text": text, **more})
    assert status == 200, shown
    return shown["schedule"]


async def settled(daemon: DaemonHarness, number: int) -> Any:
    """The schedule when its first tick has been settled."""
    schedules = daemon.flow.ledger.state.schedules
    while not schedules[number].last_outcome:
        await daemon.flow.ledger.until_changed(daemon.flow.ledger.state.seq)
    return schedules[number]


async def test_a_time_in_words_is_confirmed_and_a_moment_fires(tmp_path: Path):
    async with run_daemon_in(tmp_path, FAIRLEAD_TIME_ZONE="Europe/Berlin") as daemon:
        proposed = await add(daemon, "every weekday at 9", "look at the build")
        assert (proposed["status"], proposed["cron"], proposed["zone"]) == ("proposed", "0 9 * * 1-5", "Europe/Berlin")
        assert len(proposed["next_local"]) == 3
        status, confirmed = await daemon.post("/v1/schedules/confirm", {"userId": "alice"})
        assert (status, confirmed["schedule"]["status"]) == (200, "active")
        once = await add(daemon, soon(1.5), "say hello")
        fired = await settled(daemon, once["number"])
        done = await daemon.until(fired.last_job_id, "done")
        assert done.data["job"]["answer"].endswith(": say hello")
        _, listed = await daemon.get("/v1/schedules?userId=alice")
        assert [(row["number"], row["status"]) for row in listed["schedules"]] == [(1, "active"), (2, "done")]
        _, told = await daemon.get(f"/v1/why?subject={fired.last_job_id}")
        assert any("schedule 2 started it" in step["words"] for step in told["steps"])


async def test_a_schedule_outlives_the_daemon_that_it_was_made_in_and_fires_once(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        made = await add(daemon, soon(1.0), "say hello")
    async with run_daemon_in(tmp_path) as daemon:
        fired = await settled(daemon, made["number"])
        assert (fired.last_outcome, fired.runs, fired.status) == ("ran", 1, "done")
        await daemon.until(fired.last_job_id, "done")
    async with run_daemon_in(tmp_path) as daemon:
        assert daemon.flow.ledger.state.schedules[1].runs == 1
        assert len(daemon.flow.ledger.state.jobs) == 1


@pytest.mark.parametrize(
    ("check", "outcome", "detail"),
    [
        ("test -f go", "ran", "exit code 0"),
        ("test -f stop", "check", "exit code 1"),
        ("no-such-program", "check", "no-such-program was not found"),
        ("sleep 600", "check", "did not end within 1 s"),
    ],
)
async def test_a_command_in_the_projects_directory_decides(tmp_path: Path, check: str, outcome: str, detail: str):
    async with run_daemon_in(tmp_path, FAIRLEAD_SCHEDULE_CHECK_SEC=1) as daemon:
        (tmp_path / "proj" / "go").touch()
        made = await add(daemon, soon(0.7), "say hello", check=check)
        fired = await settled(daemon, made["number"])
        assert fired.last_outcome == outcome
        assert fired.last_detail.startswith(detail)
        assert fired.runs == int(outcome == "ran")


async def test_faults_are_answered_with_their_codes(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        for body, code in (
            ({"when": "0 0 30 2 *", "text": "x"}, "E_SCHEDULE_TIME"),
            ({"when": "soon", "text": "x"}, "E_SCHEDULE_TIME"),
            ({"when": "0 9 * * *", "text": ""}, "E_EMPTY_MESSAGE"),
        ):
            status, refused = await daemon.post("/v1/schedules", {"userId": "alice", **body})
            assert (status, refused["error"]["code"]) == (400, code)
        status, refused = await daemon.post("/v1/schedules/9/pause", {"userId": "alice"})
        assert (status, refused["error"]["code"]) == (404, "E_SCHEDULE_NOT_FOUND")


async def test_a_run_by_hand_is_asked_for_once_however_often_it_is_sent(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        made = await add(daemon, "0 9 1 1 *", "say hello")
        path, body = f"/v1/schedules/{made['number']}/run", {"userId": "alice"}
        status, ran = await daemon.post(path, body)
        assert status == 200, ran
        await daemon.until(ran["job_id"], "done")
        assert (await daemon.post(path, body))[1]["job_id"] != ran["job_id"]
