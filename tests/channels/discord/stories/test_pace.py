"""Marks, notes, the status and the name of the thread keep to Discord's limits, and answers go before them."""

from pathlib import Path

import pytest

from tests.channels.discord.harness import a_stage

pytestmark = pytest.mark.anyio


@pytest.mark.req("A2")
async def test_a_busy_thread_earns_no_429_and_its_answers_come_in_order(tmp_path: Path) -> None:
    async with a_stage(tmp_path, paced=True) as stage:
        thread = await stage.start_thread()
        script = "Make it faster\n/todo +look | >measure | change\n/tool Read a.py\n/tool Bash pytest\n/task 3 the docs"
        first = stage.owner.say(thread, script)
        others = [stage.owner.say(thread, f"number {n}\n/slow 0.2") for n in range(6)]
        last = await thread.wait_for_answer(lambda m: "number 5" in m.content, after=others[-1], timeout=60)
        await stage.discord.wait_for(
            lambda: all(set(m.reactions) == {"✅"} for m in (first, *others)), timeout=60, what="one mark on each"
        )
        answers = [m.reference for m in thread.from_bot if m.content.startswith("echo")]
        assert answers == [(thread.id, m.id) for m in (first, *others)]
        assert last.reference == (thread.id, others[-1].id)
        await stage.discord.wait_for(lambda: thread.channel.name.endswith(" Make it faster"), timeout=60)
        assert stage.discord.count(429) == 0


async def test_a_second_and_a_third_start_do_not_wait_for_the_end_of_discords_window(tmp_path: Path) -> None:
    async with a_stage(tmp_path, paced=True) as stage:
        await stage.start_thread()
        asked = [stage.owner.slash(stage.text_channel, "start", project_name="api") for _ in range(2)]
        for each in asked:
            assert (await each.reply(timeout=30)).content.startswith("Session started: ")
        assert len(stage.text_channel.threads()) == 3
        assert stage.discord.count(429) == 0
