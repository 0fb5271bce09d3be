"""A ban by Cloudflare: no request goes into it, whoever would make it, and what is owed arrives when it is over."""

import os
from pathlib import Path

import pytest
from loopback_discord import Fault

from fairlead.channels.discord.outbound.api_ban import BAN_FILE, ApiBan, retry_after
from fairlead.testing.clock import run_virtually
from tests.channels.discord.answers import answer_to, answers
from tests.channels.discord.harness import a_stage

pytestmark = [pytest.mark.anyio, pytest.mark.req("A2")]

AT_ONCE = 4
"""So many calls may be under way when the first of them meets the ban."""


@pytest.mark.parametrize(("headers", "wait"), [({"Retry-After": "3600"}, 3600), ({"Retry-After": "soon"}, 7), ({}, 7)])
def test_the_header_says_how_long(headers: dict[str, str], wait: float) -> None:
    assert retry_after(headers, default=7) == wait


def test_the_next_process_knows_the_ban_and_no_wall_clock_makes_it_longer(tmp_path: Path) -> None:
    async def story() -> None:
        ApiBan(tmp_path).begin(3600)
        assert 1800 < ApiBan(tmp_path).remaining_sec() <= 3600  # the wall clock goes on meanwhile
        (tmp_path / BAN_FILE).write_text('{"until": 99999999999, "seconds": 60}')
        assert ApiBan(tmp_path).remaining_sec() == 60
        (tmp_path / BAN_FILE).write_text("torn")
        assert ApiBan(tmp_path).remaining_sec() == 0

    run_virtually(story())


async def test_into_a_ban_of_an_hour_goes_no_request_also_after_a_restart(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        ban = stage.discord.faults.always("*", "/*", Fault.ban(3600))
        stage.owner.say(thread, "first")
        later = stage.owner.say(thread, "/hang")
        stage.owner.slash(thread, "status")
        await stage.daemon.until_journalled("JobCompleted")
        [deferred] = await stage.daemon.until_journalled("DeliveryDeferred", error_code="E_DISCORD_RATE_LIMIT")
        assert deferred["payload"]["must_wait"]
        await stage.daemon.cancel(later)  # its end is to be told when the ban is known
        await stage.daemon.until_journalled("JobCancelled")
        assert ban.struck <= AT_ONCE
        await stage.daemon.kill()
        before = len(stage.discord.requests)
        await stage.daemon.launch()
        await stage.daemon.until_logged("Discord has temporarily banned this machine")
        assert len(stage.discord.requests) == before
        assert stage.daemon.journal("DeliveryAbandoned") == []


async def test_when_the_ban_is_over_the_answer_comes(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        stage.discord.faults.next("POST", f"/channels/{thread.id}/messages", Fault.ban(2))
        said = stage.owner.say(thread, "patience")
        await answer_to(thread, said)
        assert answers(thread) == ["patience"]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("3600", 3600.0), ("0.5", 0.5), ("-1", 0.0), ("inf", 9.0), ("nan", 9.0), ("1e30", 7 * 86400.0), ("soon", 9.0)],
)
def test_a_wait_that_is_no_time_bans_nobody_for_ever(header: str, seconds: float):
    assert retry_after({"Retry-After": header}, default=9.0) == seconds


async def test_a_named_pipe_in_the_place_of_the_written_ban_holds_up_nothing(tmp_path: Path):
    os.mkfifo(tmp_path / BAN_FILE)
    assert ApiBan(tmp_path).remaining_sec() == 0.0
