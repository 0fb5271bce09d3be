"""On Discord: a spent budget asks with buttons, also across a restart; a hook's secret is for its owner alone."""

from pathlib import Path

import pytest

from tests.channels.discord.harness import a_stage
from tests.channels.discord.live.test_button_clicks import question_in

pytestmark = [pytest.mark.anyio, pytest.mark.req("E6")]


async def test_a_spent_budget_asks_with_buttons_and_a_tap_after_a_restart_lets_the_job_run(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        shown = await stage.owner.slash(stage.text_channel, "budget set", project="api", usd="1").reply()
        assert "api: $0.00 of $1.00" in shown.content
        said = stage.owner.say(thread, "/usage 10 5 1.5")
        await thread.wait_for_answer(lambda m: "echo" in m.content, after=said)
        said = stage.owner.say(thread, "and now")
        asked = await question_in(thread, said)
        assert "The budget of project api for today is spent: $1.50 of $1.00" in asked.content
        await stage.daemon.kill()
        await stage.daemon.up()
        await stage.owner.click(asked, "Go on today").reply()
        await thread.wait_for_answer(lambda m: "and now" in m.content, after=said)
        assert f"Answered by <@{stage.owner.id}>: Go on today" in asked.content


async def test_the_secret_of_a_hook_is_shown_to_its_owner_alone(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        made = await stage.owner.slash(thread, "hook add", name="ci", session="here").reply()
        assert made.ephemeral
        assert "/v1/hooks/ci" in made.content
        tested = await stage.owner.slash(thread, "hook test", name="ci").reply()
        assert "was given a test event" in tested.content
        await thread.wait_for_answer(lambda m: "This is an event of the hook ci" in m.content)
