"""Schedules typed on Discord: the reading is shown, a confirmation makes it count, the answer comes and rings as
agreed, also when the daemon was killed in between."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.channels.discord.harness import Stage, a_stage
from tests.channels.discord.stories.test_rings import rings

pytestmark = [pytest.mark.anyio, pytest.mark.req("E10")]


def soon(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


async def test_a_time_in_words_is_read_back_and_confirmed(stage: Stage) -> None:
    thread = await stage.start_thread()
    asked = stage.owner.slash(thread, "schedule add", when="every weekday at 9 in Europe/Berlin", text="look at it")
    proposed = (await asked.reply(timeout=60)).content
    assert "0 9 * * 1-5" in proposed
    assert "in Europe/Berlin" in proposed
    assert proposed.count("next: ") == 3
    assert "/schedule confirm" in proposed
    confirmed = (await stage.owner.slash(thread, "schedule confirm").reply(timeout=60)).content
    assert "counts from now on" in confirmed
    listed = (await stage.owner.slash(thread, "schedule list").reply(timeout=60)).content
    assert "active" in listed
    assert "look at it" in listed
    number = next(line.split(".")[0] for line in listed.replace("\\", "").splitlines() if "look at it" in line)
    removed = await stage.owner.slash(thread, "schedule remove", number=int(number)).reply(timeout=60)
    assert f"Removed schedule {number}" in removed.content


async def test_an_answer_comes_by_itself_and_rings_as_agreed(stage: Stage) -> None:
    thread = await stage.start_thread()
    added = await stage.owner.slash(thread, "schedule add", when=soon(1.0), text="ring me", ring="always").reply(
        timeout=60
    )
    assert "is set" in added.content
    loud = await thread.wait_for_answer(lambda m: "ring me" in m.content and "echo" in m.content, timeout=60)
    assert loud.content.startswith("⏰ Schedule ")
    assert rings(loud) == [stage.owner.id]
    await stage.owner.slash(thread, "schedule add", when=soon(1.0), text="/fail E_AGENT_ERROR x", ring="never").reply()
    quiet = await thread.wait_for_answer(lambda m: "E_AGENT_ERROR" in m.content, timeout=60)
    assert rings(quiet) == []


async def test_a_daemon_that_is_killed_fires_once_when_it_is_back(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        await stage.owner.slash(thread, "schedule add", when=soon(1.0), text="after the crash").reply(timeout=60)
        await stage.daemon.kill()
        await stage.daemon.up()
        await thread.wait_for_answer(lambda m: "after the crash" in m.content and "echo" in m.content, timeout=60)
        assert len(stage.daemon.journal("JobEnqueued", cause="schedule")) == 1
        await stage.daemon.stop()
