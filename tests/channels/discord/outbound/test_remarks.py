"""A refusal is heard by the person whose message it is about."""

from pathlib import Path

import pytest

from tests.channels.discord.harness import a_stage

pytestmark = pytest.mark.anyio

SILENT = 1 << 12


async def test_a_refused_message_rings_for_its_author(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        stage.owner.say(thread, "/hang")
        for number in range(21):
            stage.owner.say(thread, f"number {number}")
        refusal = await thread.wait_for_answer(lambda m: "E_QUEUE_FULL" in m.content)
        assert not refusal.flags & SILENT
        assert [user.id for user in refusal.mentions] == [stage.owner.id]
