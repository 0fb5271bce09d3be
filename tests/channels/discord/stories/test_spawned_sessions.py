"""Sessions of their own for tasks, on Discord, through a whole daemon. The first five tests are those that the
specification of bindings demands, each by its name."""

from pathlib import Path

import pytest
from loopback_discord import Conversation, Message

from tests.channels.discord.harness import Stage, a_stage

pytestmark = [pytest.mark.anyio, pytest.mark.req("D4")]

THREADS = {"FAIRLEAD_SPAWN_THREADS": "1"}


def echoes(conversation: Conversation, words: str) -> list[Message]:
    return [m for m in conversation.from_bot if m.content.startswith("echo") and words in m.content]


async def spawn(stage: Stage, at: Conversation, task: str) -> str:
    """What the person who asked reads."""
    reply = await stage.owner.slash(at, "spawn", task=task).reply()
    return reply.content


async def spawn_thread(stage: Stage, at: Conversation, task: str) -> Conversation:
    before = {each.id for each in stage.text_channel.threads()}
    await spawn(stage, at, task)
    return next(each for each in stage.text_channel.threads() if each.id not in before)


async def completed(stage: Stage, words: str) -> None:
    """Until the outbox has settled the completion of the task with these words."""
    [job] = [e for e in stage.daemon.journal("JobEnqueued", cause="spawn") if words in e["payload"]["prompt"]]
    entry_id = f"debt_{job['payload']['job_id']}"
    await stage.daemon.until_journalled("PieceDelivered", debt_id=entry_id)


@pytest.mark.req("D5")
async def test_manager_token_rotation_uses_the_latest_token_after_the_manager_is_reused(tmp_path: Path) -> None:
    async with a_stage(tmp_path, up=False, DISCORD_TOKEN="-", **THREADS) as stage:
        dotenv = tmp_path / ".config" / "fairlead" / ".env"
        dotenv.parent.mkdir(parents=True)
        dotenv.write_text(f"DISCORD_TOKEN={stage.discord.token}\n")
        await stage.daemon.up()
        thread = await spawn_thread(stage, stage.text_channel, "begun before")
        await completed(stage, "begun before")
        dotenv.write_text(f"DISCORD_TOKEN={stage.discord.rotate_token()}\n")
        await stage.discord.gateway.ready(identifies=2, timeout=60)
        said = stage.owner.say(thread, "said after")
        await thread.wait_for_answer(lambda m: "said after" in m.content, after=said, timeout=60)
        other = await spawn_thread(stage, stage.text_channel, "asked after")
        await completed(stage, "asked after")
        assert [len(echoes(thread, "said after")), len(echoes(other, "asked after"))] == [1, 1]


@pytest.mark.req("D1", "D5")
async def test_a_webhook_send_updates_the_activity_timestamp_of_its_channel(tmp_path: Path) -> None:
    settings = THREADS | {"FAIRLEAD_WEBHOOK_IDENTITY": "1", "FAIRLEAD_SPAWN_BINDING_TTL_SEC": "3600"}
    async with a_stage(tmp_path, **settings) as stage:
        thread = await spawn_thread(stage, stage.text_channel, "count the files")
        await completed(stage, "count the files")
        [answer] = echoes(thread, "count the files")
        assert answer.webhook_id is not None
        [bound] = stage.daemon.journal("BindingBound", target_kind="subagent")
        [touched] = await stage.daemon.until_journalled("BindingTouched")
        assert touched["payload"]["binding_id"] == bound["payload"]["binding_id"]
        assert touched["payload"]["expires_at"] > bound["payload"]["expires_at"]


@pytest.mark.req("D2", "D6")
async def test_two_active_bound_sessions_of_one_requester_channel_do_not_duplicate_to_the_main_channel(
    tmp_path: Path,
) -> None:
    async with a_stage(tmp_path, **THREADS) as stage:
        one = await spawn_thread(stage, stage.text_channel, "first task\n/slow 1")
        two = await spawn_thread(stage, stage.text_channel, "second task\n/slow 1")
        for words in ("first task", "second task"):
            await completed(stage, words)
        seen = {p.id: [len(echoes(p, w)) for w in ("first", "second")] for p in (one, two, stage.text_channel)}
        assert seen == {one.id: [1, 0], two.id: [0, 1], stage.text_channel.id: [0, 0]}


@pytest.mark.req("D2", "D3", "D6")
async def test_the_completion_of_a_bound_session_mode_run_resolves_only_to_the_thread_target(tmp_path: Path) -> None:
    async with a_stage(tmp_path, **THREADS) as stage:
        parent = await stage.start_thread()
        thread = await spawn_thread(stage, parent, "count the files")
        await completed(stage, "count the files")
        assert [len(echoes(p, "count")) for p in (thread, parent, stage.text_channel)] == [1, 0, 0]
        # Nothing comes to the parent later: it says something, and its answer is the next thing there.
        said = stage.owner.say(parent, "and now?")
        await parent.wait_for_answer(lambda m: "and now?" in m.content, after=said)
        link, answer = (m.content for m in parent.from_bot if not m.ephemeral)
        assert link == f"↳ Spawned: <#{thread.id}>"
        assert "and now?" in answer


@pytest.mark.req("D2", "D3")
async def test_a_disabled_spawn_flag_keeps_the_legacy_behaviour_unchanged(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        parent = await stage.start_thread()
        threads = len(stage.text_channel.threads())
        told = await spawn(stage, parent, "count the files")
        await completed(stage, "count the files")
        assert "spawn-1" in told
        assert len(stage.text_channel.threads()) == threads
        [answer] = [m for m in parent.from_bot if "count the files" in m.content]
        assert answer.content.startswith("↳ From the spawned session spawn-1:")
        assert not [m for m in stage.text_channel.from_bot if "count the files" in m.content]
        [plan] = [e["payload"] for e in stage.daemon.journal("DeliveryPlanned", route="fallback")]
        assert plan["destination"]["conversation_id"] == str(parent.id)


async def test_killed_while_the_task_runs_it_is_told_in_the_thread_alone(tmp_path: Path) -> None:
    async with a_stage(tmp_path, **THREADS) as stage:
        thread = await spawn_thread(stage, stage.text_channel, "count\n/hang")
        await stage.daemon.until_journalled("JobStarted")
        await stage.daemon.kill()
        await stage.daemon.up()
        await thread.wait_for_answer(lambda m: "E_UNKNOWN_AFTER_CRASH" in m.content, timeout=60)
        assert not [m for m in stage.text_channel.from_bot if "E_UNKNOWN_AFTER_CRASH" in m.content]


async def test_a_task_without_a_thread_leaves_the_name_of_the_thread_that_asked_alone(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        parent = await stage.start_thread()
        before = parent.channel.name
        await spawn(stage, parent, "count the files\n/slow 1")
        await completed(stage, "count the files")
        assert parent.channel.name == before


async def test_a_direct_message_can_ask_too_and_is_answered_there(tmp_path: Path) -> None:
    async with a_stage(tmp_path, **THREADS) as stage:
        told = await spawn(stage, stage.owner.dm, "count the files")
        await completed(stage, "count the files")
        assert "comes back here" in told
        assert [m for m in stage.owner.dm.from_bot if "count the files" in m.content]
        listed = await stage.owner.slash(stage.owner.dm, "session list").reply()
        assert "↳" in listed.content
