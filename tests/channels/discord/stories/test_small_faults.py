"""One call that fails at an awkward moment, or a thread that fell asleep: nothing is lost or doubled by it."""

from pathlib import Path

import pytest
from loopback_discord import Conversation, Fault, Message

from fairlead.channels.discord.gateway.registration import REGISTERED_FILE
from tests.channels.discord.answers import answer_to, answers
from tests.channels.discord.harness import Stage, a_stage

pytestmark = pytest.mark.anyio


WORKED = [Fault.after_work(500), Fault.after_work(503), Fault.reset_after_work()]


def statuses(conversation: Conversation, said: Message) -> list[Message]:
    return [m for m in conversation.from_bot if m.id > said.id and "-# job_" in m.content and not m.deleted]


async def test_a_queued_message_is_read_again_although_the_first_look_fails(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        stage.owner.say(thread, "/hang")
        await thread.wait_for_typing()
        edited = stage.owner.say(thread, "old words")
        await stage.daemon.until_journalled("JobEnqueued", times=2)
        await stage.daemon.kill()
        stage.owner.edit(edited, "new words")
        stage.discord.faults.next("GET", f"/channels/{thread.id}/messages/{edited.id}", Fault.status(503))
        stage.discord.faults.next("GET", f"/channels/{thread.id}/messages", Fault.status(503))
        await stage.daemon.up()
        await stage.discord.wait_for(lambda: answers(thread), what="the answer")
        assert answers(thread) == ["new words"]


async def test_settling_in_outlasts_a_call_that_fails(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_LANG="en") as stage:
        await stage.daemon.kill()
        (tmp_path / "state" / REGISTERED_FILE).unlink(missing_ok=True)
        stage.discord.faults.next("PUT", "/applications/*/commands", Fault.status(503))
        stage.discord.faults.next("POST", "/users/@me/channels", Fault.status(503))
        said = stage.owner.say(stage.owner.dm, "anybody home?")
        await stage.daemon.up()
        await answer_to(stage.owner.dm, said)


async def test_however_much_was_said_since_a_piece_that_went_out_is_found(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        hold = Fault.hang_after_work()
        where = f"/channels/{thread.id}/messages"
        stage.discord.faults.next("POST", where, hold, when=lambda body: "exactly once" in str(body))
        await answer_to(thread, stage.owner.say(thread, "exactly once"))
        await stage.daemon.kill()
        hold.release()
        stage.discord.clock.advance(3600)
        eve = stage.discord.person("eve")
        for number in range(230):
            eve.say(thread, f"chatter {number}")
        await stage.daemon.up()
        await answer_to(thread, stage.owner.say(thread, "and then?"))
        assert answers(thread) == ["exactly once", "and then?"]


@pytest.mark.req("A1")
@pytest.mark.parametrize("fault", [Fault.reset(), Fault.reset_after_work()])
async def test_a_command_whose_acknowledgement_was_cut_off_is_answered(stage: Stage, fault: Fault) -> None:
    stage.discord.faults.next("POST", "/interactions/*/callback", fault)
    reply = await stage.owner.slash(stage.text_channel, "projects").reply()
    assert "api" in str(reply.embeds)


@pytest.mark.req("A1")
@pytest.mark.parametrize(
    ("fault", "times"), [(Fault.reset(), 2), (Fault.reset_after_work(), 1), (Fault.status(503), 6)]
)
async def test_a_reply_to_a_command_outlasts_cut_connections_and_a_row_of_503(
    stage: Stage, fault: Fault, times: int
) -> None:
    order = stage.discord.faults.next("PATCH", "/webhooks/*/messages/@original", fault, for_times=times)
    reply = await stage.owner.slash(stage.text_channel, "projects").reply(timeout=60)
    assert "api" in str(reply.embeds)
    await stage.discord.wait_for(lambda: order.left == 0)


@pytest.mark.req("A2")
async def test_a_refusal_is_told_although_the_first_sends_fail_and_keeps_nobody_waiting(stage: Stage) -> None:
    thread = await stage.start_thread()
    where = f"/channels/{thread.id}/messages"
    sends = stage.discord.faults.next(
        "POST", where, Fault.status(503), when=lambda body: "E_QUEUE_FULL" in str(body), for_times=4
    )
    stage.owner.say(thread, "/hang")
    last = [stage.owner.say(thread, f"number {number}") for number in range(21)][-1]
    await stage.discord.wait_for(lambda: bool(sends.struck), what="the first attempt to tell of the refusal")
    await stage.owner.slash(thread, "reset").reply()
    await answer_to(thread, stage.owner.say(thread, "the next one"))
    refusal = await thread.wait_for_answer(lambda m: "E_QUEUE_FULL" in m.content, timeout=60)
    assert refusal.reference == (thread.id, last.id)
    assert sends.left == 0


@pytest.mark.req("A14")
@pytest.mark.parametrize("fault", WORKED)
async def test_a_status_message_whose_reply_was_lost_goes_with_its_job(stage: Stage, fault: Fault) -> None:
    thread = await stage.start_thread()
    stage.discord.faults.next(
        "POST", f"/channels/{thread.id}/messages", fault, when=lambda body: "-# job_" in str(body)
    )
    said = stage.owner.say(thread, "/hang")
    await stage.discord.wait_for(lambda: statuses(thread, said), what="a status message")
    await stage.daemon.cancel(said)
    await answer_to(thread, said)
    await stage.discord.wait_for(lambda: not statuses(thread, said), what="the end of the status")


@pytest.mark.req("A14")
async def test_a_job_that_ends_before_the_status_is_known_does_not_look_as_if_it_ran(stage: Stage) -> None:
    thread = await stage.start_thread()
    hold = Fault.reset_after_work()
    stage.discord.faults.next("POST", f"/channels/{thread.id}/messages", hold, when=lambda b: "-# job_" in str(b))
    said = stage.owner.say(thread, "/slow 1")
    await answer_to(thread, said)
    await stage.discord.wait_for(lambda: not statuses(thread, said), what="the end of the status")


@pytest.mark.req("A2")
async def test_an_edit_that_was_told_to_wait_is_not_followed_at_once_by_the_next(stage: Stage) -> None:
    thread = await stage.start_thread()
    said = stage.owner.say(thread, "\n".join(f"/slow 0.2\n/tool Bash step-{n}" for n in range(300)))
    await stage.discord.wait_for(lambda: statuses(thread, said), what="a status message")
    edits = f"/channels/{thread.id}/messages/*"
    stage.discord.faults.next("PATCH", edits, Fault.rate_limit(2.0))

    def after_the_wait() -> list[float]:
        calls = stage.discord.calls("PATCH", edits)
        limited = [n for n, call in enumerate(calls) if call.status == 429]
        return [call.at for call in calls[limited[0] + 1 :]] if limited else []

    await stage.discord.wait_for(lambda: len(after_the_wait()) >= 2, what="the edit that waited, and the next")
    await stage.daemon.cancel(said)
    held_back, following = after_the_wait()[:2]
    assert following - held_back >= 1.19


@pytest.mark.req("A14")
async def test_killed_between_the_answer_and_the_end_of_its_status_the_status_goes(tmp_path: Path) -> None:
    async with a_stage(tmp_path) as stage:
        thread = await stage.start_thread()
        stage.discord.faults.always("DELETE", f"/channels/{thread.id}/messages/*", Fault.status(503))
        said = stage.owner.say(thread, "/hang")
        [status] = await stage.discord.wait_for(lambda: statuses(thread, said), what="a status message")
        await stage.daemon.cancel(said)
        await answer_to(thread, said)
        await stage.daemon.until_journalled("PieceDelivered", times=3)
        await stage.daemon.kill()
        stage.discord.faults.clear()
        await stage.daemon.up()
        await stage.discord.wait_for(lambda: status.deleted, what="the end of the status")


@pytest.mark.req("D5", "D6")
@pytest.mark.parametrize("fault", [*WORKED, Fault.status(503), Fault.reset()])
async def test_a_webhook_send_of_unknown_outcome_comes_once(tmp_path: Path, fault: Fault) -> None:
    async with a_stage(tmp_path, FAIRLEAD_WEBHOOK_IDENTITY="1") as stage:
        thread = await stage.start_thread()
        stage.discord.faults.next("POST", "/webhooks/*", fault, when=lambda b: "exactly once" in str(b))
        stage.owner.say(thread, "exactly once")
        said = stage.owner.say(thread, "and the next")
        await thread.wait_for_answer(lambda m: "and the next" in m.content, after=said, timeout=60)
        assert answers(thread) == ["exactly once", "and the next"]


@pytest.mark.req("D5")
async def test_killed_between_any_two_pieces_a_webhooks_long_answer_is_whole_an_hour_later(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_WEBHOOK_IDENTITY="1") as stage:
        thread = await stage.start_thread()

        def pieces(said: Message) -> list[Message]:
            return [m for m in thread.from_bot if m.id > said.id and "Every word" in m.content]

        for cut in (1, 2, 3):
            said = stage.owner.say(thread, f"round {cut}\n/long 5500")
            hold = Fault.hang_after_work()
            is_piece = lambda body: "Every word" in str(body)  # noqa: E731
            stage.discord.faults.next("POST", "/webhooks/*", Fault.slow(0), for_times=cut - 1, when=is_piece)
            stage.discord.faults.next("POST", "/webhooks/*", hold, when=is_piece)
            await stage.discord.wait_for(lambda s=said, c=cut: len(pieces(s)) == c, what=f"piece {cut}")
            await stage.daemon.kill()
            hold.release()
            stage.discord.clock.advance(3600)
            await stage.daemon.up()
            await stage.discord.wait_for(lambda s=said: len(pieces(s)) == 3, timeout=60, what="all pieces")
            after = stage.owner.say(thread, "and then?")
            await thread.wait_for_answer(lambda m: "and then?" in m.content, after=after)
            assert len(pieces(said)) == 3


@pytest.mark.req("D5")
async def test_two_threads_at_once_share_one_webhook_also_when_it_is_made_again(tmp_path: Path) -> None:
    async with a_stage(tmp_path, FAIRLEAD_WEBHOOK_IDENTITY="1") as stage:
        threads = [await stage.start_thread() for _ in range(2)]
        for _ in range(2):
            stage.discord.faults.next("GET", "/channels/*/webhooks", Fault.slow(0.3), for_times=2)
            stage.discord.faults.next("POST", "/webhooks/*", Fault.slow(0.3), for_times=2)
            said = [stage.owner.say(thread, "both at once") for thread in threads]
            for thread, message in zip(threads, said, strict=True):
                await thread.wait_for_answer(lambda m: m.content.startswith("echo"), after=message)
            assert len(stage.discord.world.webhooks) == 1
            stage.discord.world.webhooks.clear()
            stage.discord.faults.clear()
        assert [e for e in stage.daemon.log() if e.get("event") == "delivery failed"] == []


@pytest.mark.req("A6", "D5")
@pytest.mark.parametrize("what", ["archive", "lock", "delete"])
@pytest.mark.parametrize("webhook", ["0", "1"])
async def test_a_thread_that_closes_between_two_pieces_of_an_answer(tmp_path: Path, what: str, webhook: str) -> None:
    """Archived, it is reopened, the answer whole; locked, the answer waits; deleted, it is given up in the open. Nobody
    else waits."""
    async with a_stage(tmp_path, FAIRLEAD_WEBHOOK_IDENTITY=webhook) as stage:
        thread, other = await stage.start_thread(), await stage.start_thread()
        where = "/webhooks/*" if webhook == "1" else f"/channels/{thread.id}/messages"
        hold = Fault.hang()
        stage.discord.faults.next("POST", where, Fault.slow(0), when=_is_piece)
        stage.discord.faults.next("POST", where, hold, when=_is_piece)
        said = stage.owner.say(thread, "/long 5500")
        await stage.discord.wait_for(lambda: len(_pieces(thread, said)) == 1)
        await stage.discord.wait_for(lambda: sum(_is_piece(c.body) for c in stage.discord.calls("POST", where)) > 1)
        getattr(thread, what)()
        hold.release()
        if what == "archive":
            await stage.discord.wait_for(lambda: len(_pieces(thread, said)) == 3, what="the whole answer")
        elif what == "lock":
            await stage.daemon.until_journalled("DeliveryDeferred", error_code="E_THREAD_ACCESS_FAILED")
            thread.unlock()
            await stage.discord.wait_for(lambda: len(_pieces(thread, said)) == 3, what="the whole answer")
        else:
            [given_up] = await stage.daemon.until_journalled("DeliveryAbandoned")
            assert given_up["payload"]["error_code"] == "E_THREAD_ACCESS_FAILED"
        alive = stage.owner.say(other, "alive")
        await other.wait_for_answer(lambda m: m.content.startswith("echo"), after=alive)


def _is_piece(body: object) -> bool:
    return "Every word" in str(body) and "-# job_" not in str(body)


def _pieces(thread: Conversation, said: Message) -> list[Message]:
    return [m for m in thread.from_bot if m.id > said.id and _is_piece(m.content)]


@pytest.mark.req("D5")
async def test_a_project_named_after_discord_speaks_through_a_webhook_too(tmp_path: Path) -> None:
    project = tmp_path / "discord-bot"
    project.mkdir()
    async with a_stage(tmp_path, FAIRLEAD_WEBHOOK_IDENTITY="1", PROJECTS=f'["{project}"]') as stage:
        thread = await stage.start_thread("discord-bot")
        said = stage.owner.say(thread, "hello")
        answer = await thread.wait_for_answer(lambda m: m.content.startswith("echo"), after=said)
        assert answer.webhook_id is not None
