"""Threads are called after what is talked about, with a sign of how the work stands; a person's name stays."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

import pytest
from loopback_discord import threads

from fairlead.channels.discord.live.thread_titles import RENAMES, WITHIN_SEC
from tests.channels.discord.harness import Stage, a_stage

pytestmark = pytest.mark.anyio

WINDOW_SEC = 15.0


@asynccontextmanager
async def a_stage_with_window(home: Path, seconds: float) -> AsyncGenerator[Stage]:
    async with a_stage(home, up=False, PYTHONPATH=str(Path(__file__).parents[4])) as stage:
        stage.daemon.program = ("tests.channels.discord.rename_window", str(seconds))
        await stage.daemon.up()
        yield stage


@pytest.fixture
async def eager(tmp_path: Path) -> AsyncIterator[Stage]:
    """On a busy machine a short job shows that it runs, which uses up one of Discord's two renames. Here there are
    more, so that the last name always comes."""
    async with a_stage_with_window(tmp_path, 0) as stage:
        yield stage


async def test_a_thread_is_called_after_its_first_prompt_then_after_the_agents_title(eager: Stage) -> None:
    stage = eager
    thread = await stage.start_thread()
    assert thread.channel.name.startswith("api · ")
    said = stage.owner.say(thread, "**Fix** the parser\nplease")
    await thread.wait_for_answer(after=said)
    await stage.discord.wait_for(lambda: thread.channel.name == "✅ Fix the parser", timeout=60)
    stage.owner.say(thread, "/title Parser of dates")
    await stage.discord.wait_for(lambda: thread.channel.name == "✅ Parser of dates", timeout=60)


async def test_a_hook_that_only_answers_in_a_thread_does_not_name_it(eager: Stage) -> None:
    thread = await eager.start_thread()
    await eager.owner.slash(thread, "hook add", name="ci", template="Look at the build").reply()
    await eager.owner.slash(thread, "hook test", name="ci").reply()
    await thread.wait_for_answer(lambda m: "Look at the build" in m.content)
    said = eager.owner.say(thread, "Fix the parser")
    await thread.wait_for_answer(after=said)
    await eager.discord.wait_for(lambda: thread.channel.name == "✅ Fix the parser", timeout=60)


async def test_the_third_rename_waits_until_the_window_of_the_first_is_over(tmp_path: Path) -> None:
    assert (RENAMES, WITHIN_SEC > 600) == (2, True), "Discord allows no more within ten minutes"
    async with a_stage_with_window(tmp_path, WINDOW_SEC) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "Fix the parser\n/hang")
        [started] = await stage.daemon.until_journalled("JobStarted")
        await stage.discord.wait_for(lambda: thread.channel.name == "⏳ Fix the parser")
        await stage.daemon.cancel(said)
        await stage.discord.wait_for(lambda: thread.channel.name == "Fix the parser")
        stage.owner.say(thread, "/title Parser of dates")
        await stage.discord.wait_for(lambda: thread.channel.name.endswith("Parser of dates"))
        third = stage.discord.calls("PATCH", f"/channels/{thread.id}")[2]
        # The first rename came after the start of its job. No delay makes the third one come sooner.
        assert third.at - datetime.fromisoformat(started["ts"]).timestamp() >= WINDOW_SEC


async def test_the_sign_says_that_it_works_and_that_it_failed(eager: Stage) -> None:
    stage = eager
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "Run it\n/hang")
    await stage.discord.wait_for(lambda: thread.channel.name == "⏳ Run it", timeout=60)
    await stage.daemon.cancel(said)
    stage.owner.say(thread, "/fail E_AGENT_ERROR")
    await stage.discord.wait_for(lambda: thread.channel.name == "❌ Run it", timeout=60)


async def test_the_sign_says_that_it_waits_for_a_person(eager: Stage) -> None:
    stage = eager
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "Clean up\n/ask rm -rf build")
    asked = await thread.wait_for_answer(lambda m: m.components, after=said)
    await stage.discord.wait_for(lambda: thread.channel.name == "✋ Clean up", timeout=60)
    await stage.owner.click(asked, "Deny").reply()
    await stage.discord.wait_for(lambda: thread.channel.name == "✅ Clean up", timeout=60)


async def test_a_name_that_a_person_gave_stays(eager: Stage) -> None:
    stage = eager
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "Fix the parser")
    await thread.wait_for_answer(after=said)
    await stage.discord.wait_for(lambda: thread.channel.name == "✅ Fix the parser", timeout=60)
    threads.change(stage.discord.world, thread.channel, {"name": "Mine"})
    stage.owner.say(thread, "/title Something else")
    await stage.daemon.until_journalled("SessionTitled", by="person", title="Mine")
    assert thread.channel.name == "Mine"


async def test_a_thread_that_a_person_began_keeps_its_name(stage: Stage) -> None:
    thread = stage.owner.begin_thread(stage.text_channel, "plans")
    said = stage.owner.tell_bot(thread, "join us")
    await thread.wait_for_answer(after=said)
    looked = f"/channels/{thread.id}"
    await stage.discord.wait_for(lambda: stage.discord.calls("GET", looked), timeout=60, what="a look at its name")
    assert thread.channel.name == "plans"
    assert stage.discord.calls("PATCH", looked) == []
