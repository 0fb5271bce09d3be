"""The twelve acceptance tests of the owner's bot, each through the real gateway code and a process of its own."""

import json
from pathlib import Path

import pytest
from loopback_discord import Conversation, Fault, Message

from tests.channels.discord.harness import Stage, a_stage
from tests.support.replaying_cli import write_shim

pytestmark = [pytest.mark.anyio, pytest.mark.req("A20")]


async def answer_to(conversation: Conversation, said: Message) -> str:
    return (await conversation.wait_for_answer(lambda m: m.reference == (conversation.id, said.id), after=said)).content


@pytest.mark.req("A13")
async def test_01_owner_gating_commands_and_messages_of_others_are_refused(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        eve = stage.discord.person("eve")
        reply = await eve.slash(stage.text_channel, "start", project_name="api").reply()
        assert reply.content.startswith("E_OWNER_ONLY: ")
        thread = await stage.start_thread()
        eve.say(thread, "do this for me")
        said = stage.owner.say(thread, "mine")
        await answer_to(thread, said)
        assert [e["payload"]["prompt"] for e in stage.daemon.journal("JobEnqueued")] == ["mine"]


@pytest.mark.req("A12")
async def test_02_start_makes_a_thread_and_a_usable_session(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "are you there?")
        assert await answer_to(thread, said) == (
            f"echo agent:fairlead:thread:{thread.channel.guild_id}:{thread.id}: are you there?"
        )


@pytest.mark.req("A8")
async def test_03_three_messages_in_a_row_are_answered_in_their_order(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        stage.owner.say(thread, "first\n/slow 0.3")
        stage.owner.say(thread, "second\n/slow 0.1")
        last = stage.owner.say(thread, "third")
        await thread.wait_for_answer(lambda m: "third" in m.content, after=last)
        answers = [m.content.splitlines()[0].rpartition(": ")[2] for m in thread.from_bot if "echo" in m.content]
        assert answers == ["first", "second", "third"]
        started = [e["payload"]["job_id"] for e in stage.daemon.journal("JobStarted")]
        assert started == [e["payload"]["job_id"] for e in stage.daemon.journal("JobEnqueued")]


@pytest.mark.req("A5")
async def test_04_two_threads_of_one_project_run_at_once_within_the_global_limit(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_GLOBAL_MAX_RUNNING="2") as stage:
        threads = [await stage.start_thread() for _ in range(3)]
        for thread in threads:
            stage.owner.say(thread, "/hang")
        await stage.daemon.until_journalled("JobStarted", times=2)
        await stage.daemon.until_journalled("JobEnqueued", times=3)
        states = [await _state(stage, thread) for thread in threads]
        assert sorted(states) == ["queued", "running", "running"]
        running = threads[states.index("running")]
        await stage.owner.slash(running, "cancel").reply()
        await stage.daemon.until_journalled("JobStarted", times=3)


async def _state(stage: Stage, thread: Conversation) -> str:
    text = (await stage.owner.slash(thread, "status").reply()).content
    return next(line for line in text.splitlines() if line.startswith("state: ")).removeprefix("state: ")


@pytest.mark.req("A12", "A9")
async def test_05_tool_affects_new_jobs_and_not_the_running_one(tmp_path: Path) -> None:
    write_shim(tmp_path / "bin", "gemini", "gemini/01-new-turn-stream-json")
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        await stage.owner.slash(thread, "tool", tool="echo").reply()
        running = stage.owner.say(thread, "still with the old one\n/hang")
        await stage.daemon.until_journalled("JobStarted")
        reply = await stage.owner.slash(thread, "tool", tool="gemini").reply()
        assert reply.content == ("The agent is now gemini, from the next job on; the running job keeps its agent")
        later = stage.owner.say(thread, "with the new one")
        await stage.daemon.cancel(running)
        await stage.discord.wait_for(lambda: "✅" in later.reactions, what="the mark of success")
        assert [e["payload"]["tool"] for e in stage.daemon.journal("JobStarted")] == ["echo", "gemini"]


@pytest.mark.req("A8")
async def test_06_after_a_kill_the_running_job_is_unknown_after_crash(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "/hang")
        await thread.wait_for_typing()
        await stage.daemon.kill()
        await stage.daemon.up()
        told = await thread.wait_for_answer(lambda m: "E_UNKNOWN_AFTER_CRASH" in m.content, after=said)
        assert "/retry job_" in told.content
        assert await _state(stage, thread) == "unknown_after_crash"
        await stage.discord.wait_for(lambda: "❌" in said.reactions, what="the mark of failure")


@pytest.mark.req("A16")
async def test_07_retry_runs_a_failed_job_again_and_it_succeeds(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "once more\n/ask ls")
        await thread.wait_for_answer(lambda m: m.components, after=said)
        await stage.daemon.stop()
        await stage.daemon.up()
        [failed] = stage.daemon.journal("JobFailed")
        job = failed["payload"]["job_id"]
        told = await thread.wait_for_answer(lambda m: "E_SHUTDOWN" in m.content)
        reply = await stage.owner.slash(thread, "retry", job_id=job).reply()
        assert reply.content.startswith("Trying again as #")
        again = stage.daemon.journal("JobEnqueued")[-1]["payload"]
        assert (again["attempt"], again["retry_of"], again["prompt"]) == (2, job, "once more\n/ask ls")
        asked = await thread.wait_for_answer(lambda m: m.components and "Allow once" in str(m.components), after=told)
        await stage.owner.click(asked, "Allow once").reply()
        await thread.wait_for_answer(lambda m: "once more" in m.content, after=told)
        assert [e["payload"]["job_id"] for e in stage.daemon.journal("JobCompleted")] == [again["job_id"]]


@pytest.mark.req("A11")
async def test_08_lines_of_gemini_that_are_no_json_do_not_disturb(tmp_path: Path) -> None:
    write_shim(tmp_path / "bin", "gemini", "gemini/01-new-turn-stream-json", garbage=1)
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "hello")
        await stage.discord.wait_for(lambda: "✅" in said.reactions, what="the mark of success")
        answer = await thread.wait_for_answer(lambda m: m.content.startswith("ECHO"), after=said)
        first, small = answer.content.splitlines()
        assert first == "ECHO users=1 images=0 toolresults=0 last=hi"
        assert small.startswith("-# ")
        job_id = stage.daemon.journal("JobCompleted")[0]["payload"]["job_id"]
        assert b"not json" in (tmp_path / "logs" / "job" / f"{job_id}.log").read_bytes()


@pytest.mark.req("A2")
async def test_09_after_a_429_it_waits_and_the_message_is_updated_in_the_end(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "/slow 1.2\n/tool Bash make\n/hang")
        await thread.wait_for_answer(lambda m: "Running" in m.content, after=said)
        edits = f"/channels/{thread.id}/messages/*"
        stage.discord.faults.next("PATCH", edits, Fault.rate_limit(0.4), for_times=2)
        stage.discord.faults.next("POST", f"/channels/{thread.id}/messages", Fault.rate_limit(0.4, is_global=True))
        await thread.wait_for_answer(lambda m: "Bash" in m.content and "-# job_" in m.content, after=said)
        await stage.daemon.cancel(said)
        await answer_to(thread, said)
        limited = [r.at for r in stage.discord.calls("PATCH", edits, status=429)]
        retried = [r.at for r in stage.discord.calls("PATCH", edits) if r.at > limited[0]]
        assert retried[0] - limited[0] >= 0.4


@pytest.mark.req("A6", "A3")
async def test_10_an_archived_thread_is_opened_and_goes_on(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "before")
        await answer_to(thread, said)
        thread.archive()
        reply = await stage.owner.slash(stage.text_channel, "session open", session_id=str(thread.id)).reply()
        assert f"<#{thread.id}>" in reply.content
        assert not thread.thread.archived
        said = stage.owner.say(thread, "after")
        assert "turn 2 of talk" in await answer_to(thread, said)


@pytest.mark.req("A12", "A7")
async def test_11_status_has_every_field_and_agrees_with_the_snapshot(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "hello")
        await answer_to(thread, said)
        text = (await stage.owner.slash(thread, "status").reply()).content
        shown = dict(line.split(": ", 1) for line in text.splitlines()[2:])
        await stage.daemon.stop()
        snapshot = json.loads((tmp_path / "state" / "snapshot.json").read_text())
        kept = next(s for s in snapshot["sessions"].values() if s.get("thread_id") == str(thread.id))
        assert shown["project"] == kept["project_name"] == "api"
        assert shown["tool"] == kept["tool"] == "echo"
        assert shown["session_key"] in json.dumps(kept["adapter_state"])
        assert shown["state"] == "idle"
        assert shown["queue"] == "pending=0, running=none"
        assert (kept["queue"], kept["running_job_id"]) == ([], None)
        assert shown["last_job"].startswith("success, ")
        assert (shown["resume_ready"], shown["retry_hint"]) == ("yes", "n/a")


@pytest.mark.req("A7")
async def test_12_without_its_snapshot_the_journal_alone_gives_the_same_state(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        said = stage.owner.say(thread, "remember")
        await answer_to(thread, said)
        said = stage.owner.say(thread, "/fail E_AGENT_ERROR")
        await thread.wait_for_answer(lambda m: "E_AGENT_ERROR" in m.content, after=said)
        await stage.discord.wait_for(lambda: "❌" in said.reactions)
        before = (await stage.owner.slash(thread, "status").reply()).content
        await stage.daemon.stop()
        (tmp_path / "state" / "snapshot.json").unlink()
        await stage.daemon.up()
        after = (await stage.owner.slash(thread, "status").reply()).content
        assert after == before
        assert "state: failed" in after
