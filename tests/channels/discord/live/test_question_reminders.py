"""The owner is reminded of a question that stays open: once, by a direct message that goes with the question."""

from pathlib import Path
from typing import Any

import pytest
from loopback_discord import Fault

from tests.channels.discord.harness import Daemon, a_stage

pytestmark = pytest.mark.anyio

SILENT = 1 << 12
REMINDER = "waiting for your answer"


def owed_reminders(daemon: Daemon) -> list[dict[str, Any]]:
    return [event for event in daemon.journal("DeliveryOwed") if event["payload"]["kind"] == "reminder"]


async def test_a_question_that_stays_open_is_sent_to_the_owner_once_with_a_link_and_goes_when_it_is_answered(
    tmp_path: Path,
) -> None:
    async with a_stage(tmp_path, FAIRLEAD_REMIND_AFTER_SEC="1") as stage:
        thread = await stage.start_thread()
        held = stage.discord.faults.always("POST", "/users/@me/channels", Fault.hang())
        said = stage.owner.say(thread, "/ask rm -rf build")
        question = await thread.wait_for_answer(lambda m: m.components, after=said)
        [asked] = await stage.daemon.until_journalled("QuestionAsked")
        await stage.daemon.until_journalled("PieceDelivered", debt_id=f"debt_{asked['payload']['question_id']}")
        held.lift()  # a reminder that comes before its question is shown has no message to link to
        dm = stage.owner.dm
        reminder = await dm.wait_for_answer(lambda m: REMINDER in m.content)
        guild = stage.text_channel.channel.guild_id
        assert f"https://discord.com/channels/{guild}/{thread.id}/{question.id}" in reminder.content
        assert not reminder.flags & SILENT
        assert [user.id for user in reminder.mentions] == [stage.owner.id]
        await stage.daemon.kill()
        await stage.daemon.up()
        said = stage.owner.say(thread, "/question Which? | red | blue")
        question = await thread.wait_for_answer(lambda m: m.components and "Which?" in m.content, after=said)
        second = await dm.wait_for_answer(lambda m: "Which?" in m.content)
        reminders = [m for m in dm.from_bot if REMINDER in m.content]
        assert [m.id for m in reminders] == [reminder.id, second.id]
        await stage.owner.click(question, "red").acknowledged()
        await stage.discord.wait_for(lambda: second.deleted, what="the end of the reminder")
        owed = [e["payload"]["question_id"] for e in owed_reminders(stage.daemon)]
        assert len(owed) == len(set(owed)) == 2


async def test_a_reminder_that_was_owed_when_the_daemon_died_comes_once(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_REMIND_AFTER_SEC="1") as stage:
        thread = await stage.start_thread()
        dm = stage.owner.dm
        refused = stage.discord.faults.always("POST", f"/channels/{dm.id}/messages", Fault.status(503))
        stage.owner.say(thread, "/question Which? | red | blue")
        [asked] = await stage.daemon.until_journalled("QuestionAsked")
        reminder_id = f"debt_reminder_{asked['payload']['question_id']}"
        await stage.daemon.until_journalled("DeliveryPlanned", debt_id=reminder_id)
        await stage.daemon.kill()
        refused.lift()
        await stage.daemon.up()
        await dm.wait_for_answer(lambda m: "Which?" in m.content)
        said = stage.owner.say(dm, "still there?")
        await dm.wait_for_answer(lambda m: "still there?" in m.content, after=said)
        assert len([m for m in dm.from_bot if "Which?" in m.content]) == 1


async def test_a_question_in_the_owners_direct_messages_needs_no_reminder(tmp_path: Path) -> None:
    """A question that is asked later in a thread is reminded of; by then the first one's time was over too."""
    async with a_stage(tmp_path, FAIRLEAD_REMIND_AFTER_SEC="0.3") as stage:
        dm, thread = stage.owner.dm, await stage.start_thread()
        said = stage.owner.say(dm, "/ask ls")
        question = await dm.wait_for_answer(lambda m: m.components, after=said)
        stage.owner.say(thread, "/question Which? | red | blue")
        await dm.wait_for_answer(lambda m: REMINDER in m.content and "Which?" in m.content)
        await stage.owner.click(question, "Allow once").acknowledged()
        await dm.wait_for_answer(lambda m: m.content.startswith("echo"), after=said)
        _, later = stage.daemon.journal("QuestionAsked")
        reminded = [event["payload"]["question_id"] for event in owed_reminders(stage.daemon)]
        assert reminded == [later["payload"]["question_id"]]
