"""Threads are called after what is talked about, with a sign of how the work stands; a person's name stays."""

import pytest
from loopback_discord import threads

from tests.channels.discord.harness import Stage

pytestmark = pytest.mark.anyio


async def test_a_thread_is_called_after_its_first_prompt_then_after_the_agents_title(stage: Stage) -> None:
    thread = await stage.start_thread()
    assert thread.channel.name.startswith("api · ")
    said = stage.owner.say(thread, "**Fix** the parser\nplease")
    await thread.wait_for_answer(after=said)
    await stage.discord.wait_for(lambda: thread.channel.name == "✅ Fix the parser", timeout=60)
    stage.owner.say(thread, "/title Parser of dates")
    await stage.discord.wait_for(lambda: thread.channel.name == "✅ Parser of dates", timeout=60)
    later = stage.owner.say(thread, "and another thing")
    await thread.wait_for_answer(lambda m: "another thing" in m.content, after=later)
    renames = stage.discord.calls("PATCH", f"/channels/{thread.id}")
    assert len(renames) == 2, "Discord allows no more within ten minutes"


async def test_the_sign_says_that_it_works_and_that_it_failed(stage: Stage) -> None:
    thread = await stage.start_thread()
    stage.owner.say(thread, "Run it\n/slow 5\n/fail E_AGENT_ERROR")
    await stage.discord.wait_for(lambda: thread.channel.name == "⏳ Run it", timeout=60)
    await stage.discord.wait_for(lambda: thread.channel.name == "❌ Run it", timeout=60)


async def test_the_sign_says_that_it_waits_for_a_person(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "Clean up\n/ask rm -rf build")
    asked = await thread.wait_for_answer(lambda m: m.components, after=said)
    await stage.discord.wait_for(lambda: thread.channel.name == "✋ Clean up", timeout=20)
    await stage.owner.click(asked, "Deny").reply()
    await stage.discord.wait_for(lambda: thread.channel.name == "✅ Clean up", timeout=20)


async def test_a_name_that_a_person_gave_stays(stage: Stage) -> None:
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
