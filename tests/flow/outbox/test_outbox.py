"""The outbox: planned once, sent in order, at least once and made once by looking, given up only in the open."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.core import events as e
from fairlead.core import requests as ask
from fairlead.core import timestamps
from fairlead.core.engine import TurnEnded
from fairlead.core.keys import user_key
from fairlead.errors import Code
from fairlead.flow.outbox.outbox import nonce_of
from fairlead.ports import ChannelCapabilities, DeliveryForbidden
from fairlead.testing.channel import ChannelHistory, RecordingChannel, Weather
from fairlead.testing.clock import run_virtually
from tests.flow.harness import OWNER, Agent, conversation_ref, run_flow, virtually
from tests.flow.outbox.harness import Skies, chat, saying

pytestmark = pytest.mark.req("A2")


@virtually
async def test_answers_of_one_conversation_are_posted_in_their_order():
    async with run_flow(runtimes=[saying(*(f"answer {n}" for n in range(10)))]) as flow:
        for n in range(10):
            await flow.say(f"message {n}")
        await flow.quiet()
        assert flow.texts(conversation_ref(OWNER)) == [f"answer {n}" for n in range(10)]


@pytest.mark.req("A16")
@virtually
async def test_every_end_owes_at_least_a_line():
    async with run_flow() as flow:
        await flow.answered("/fail E_AGENT_ERROR the model is on holiday", user="a")
        receipt = await flow.say("/hang", user="b")
        await flow.until(lambda: flow.state.jobs[receipt.job_id].state == "running")
        disk, history = flow.disk, flow.history
        await flow.until(lambda: len(flow.posts(conversation_ref("a"))) == 1)
    async with run_flow(disk=disk, history=history, life=1) as flow:
        await flow.quiet()
        [failed], [unknown] = flow.texts(conversation_ref("a")), flow.texts(conversation_ref("b"))
        assert "E_AGENT_ERROR" in failed
        assert "the model is on holiday" in failed
        assert "E_UNKNOWN_AFTER_CRASH" in unknown


@virtually
async def test_a_dead_conversation_delays_no_other():
    channel = chat()
    channel.history.closed.add(conversation_ref("dead").address)
    slow = Skies()
    async with run_flow(channels=[channel], history=channel.history) as flow:
        slow.now = Weather.HANGS
        await flow.say("hello", user="dead")
        await flow.answered("hello", user="alive")
        await flow.until(lambda: len(flow.posts(conversation_ref("alive"))) == 1, seconds=10)


@virtually
async def test_one_conversation_that_hangs_holds_up_only_itself():
    class HalfDead(RecordingChannel):
        async def send(self, outgoing):
            if outgoing.destination.conversation_id == "stuck":
                await asyncio.sleep(10_000)
            return await super().send(outgoing)

    channel = HalfDead(ChannelHistory())
    async with run_flow(channels=[channel], history=channel.history) as flow:
        await flow.answered("hello", user="stuck")
        for _ in range(3):
            await flow.answered("hello", user="alive")
        await flow.until(lambda: len(flow.posts(conversation_ref("alive"))) == 3, seconds=10)


@virtually
async def test_while_the_channel_is_away_outbox_entries_wait_and_no_attempt_counts():
    skies = Skies()
    skies.now = Weather.AWAY
    channel = chat(skies)
    async with run_flow(channels=[channel], history=channel.history) as flow:
        await flow.answered("hello")
        await asyncio.sleep(6 * 86400)
        [entry] = flow.state.outbox.values()
        assert entry.attempts == 0
        assert len(flow.facts(e.DeliveryDeferred)) < 150, "waiting must not fill the journal"
        skies.now = Weather.FAIR
        await flow.quiet()
        assert len(flow.posts(conversation_ref(OWNER))) == 1


@virtually
async def test_after_seven_days_away_it_is_given_up_in_the_open():
    skies = Skies()
    skies.now = Weather.AWAY
    channel = chat(skies)
    async with run_flow(channels=[channel], history=channel.history) as flow:
        job = await flow.answered("hello")
        await asyncio.sleep(7 * 86400)
        assert flow.state.outbox
        await asyncio.sleep(2 * 86400)
        assert not flow.state.outbox
        [given_up] = flow.facts(e.DeliveryAbandoned)
        assert given_up.error_code == Code.E_UNDELIVERABLE
        assert "in 9 days" in given_up.reason
        assert (await flow.view.job(job.job_id)).answer, "the answer itself is not lost"


@virtually
async def test_a_rate_limit_is_waited_out_with_growing_pauses_for_seven_days_and_then_given_up():
    skies = Skies()
    skies.now = Weather.REFUSED_FOR_NOW
    channel = chat(skies)
    async with run_flow(channels=[channel], history=channel.history) as flow:
        await flow.answered("hello")
        await asyncio.sleep(6.9 * 86400)
        deferred = flow.facts(e.DeliveryDeferred)
        assert [d.attempts for d in deferred] == list(range(1, len(deferred) + 1))
        assert 500 < len(deferred) < 1500, "it is tried for days, and must not fill the journal"
        await asyncio.sleep(2 * 86400)
        assert {d.error_code for d in deferred} == {Code.E_DISCORD_RATE_LIMIT}
        assert [d.error_code for d in flow.facts(e.DeliveryAbandoned)] == [Code.E_DISCORD_RATE_LIMIT]


@virtually
async def test_a_ban_that_names_its_end_is_waited_out_with_one_attempt_also_across_a_restart():
    skies = Skies()
    skies.now = Weather.BANNED
    channel = chat(skies)
    async with run_flow(channels=[channel], history=channel.history) as flow:
        await flow.answered("hello")
        await asyncio.sleep(1000)
        assert skies.calls == 1
        disk = flow.disk
    channel = RecordingChannel(channel.history, weather=skies)
    async with run_flow(disk=disk, channels=[channel], history=channel.history) as flow:
        await asyncio.sleep(2500)
        assert skies.calls == 1
        skies.now = Weather.FAIR
        await flow.quiet()
        assert len(flow.posts(conversation_ref(OWNER))) == 1


class Locked(RecordingChannel):
    """A conversation that people have closed to us, until they open it."""

    is_locked = True

    async def send(self, outgoing):
        if self.is_locked:
            raise DeliveryForbidden(Code.E_THREAD_ACCESS_FAILED, "no right to send")
        return await super().send(outgoing)


@virtually
async def test_an_answer_that_may_not_be_sent_waits_and_goes_when_the_right_is_back():
    channel = Locked(ChannelHistory())
    async with run_flow(channels=[channel], history=channel.history) as flow:
        await flow.answered("hello")
        await asyncio.sleep(6 * 86400)
        assert {d.error_code for d in flow.facts(e.DeliveryDeferred)} == {Code.E_THREAD_ACCESS_FAILED}
        assert len(flow.facts(e.DeliveryDeferred)) < 1500
        channel.is_locked = False
        flow.gate.came_back(channel.name)
        await asyncio.sleep(1)
        assert len(flow.posts(conversation_ref(OWNER))) == 1


@virtually
async def test_what_was_given_up_is_named_once_with_the_next_delivery_to_that_place():
    channel = Locked(ChannelHistory())
    async with run_flow(channels=[channel], history=channel.history) as flow:
        lost = await flow.answered("hello")
        await asyncio.sleep(9 * 86400)
        assert [d.error_code for d in flow.facts(e.DeliveryAbandoned)] == [Code.E_THREAD_ACCESS_FAILED]
        channel.is_locked = False
        await flow.answered("elsewhere", user="ben")
        for text in ("again", "and again"):
            await flow.answered(text)
        await flow.quiet()
        [elsewhere] = flow.texts(conversation_ref("ben"))
        first, second = flow.texts(conversation_ref(OWNER))
        assert [lost.job_id in text for text in (elsewhere, first, second)] == [False, True, False]
        assert f"/why {lost.job_id}" in first.splitlines()[0]
        assert flow.state.undelivered == {}


@virtually
async def test_a_report_that_is_given_up_itself_is_made_again():
    channel = Locked(ChannelHistory())
    async with run_flow(channels=[channel], history=channel.history) as flow:
        lost = [(await flow.answered("hello")).job_id]
        await asyncio.sleep(9 * 86400)
        lost.append((await flow.answered("again")).job_id)
        await asyncio.sleep(9 * 86400)
        channel.is_locked = False
        await flow.answered("at last")
        await flow.quiet()
        text, *_ = flow.texts(conversation_ref(OWNER))
        assert all(job_id in text.splitlines()[0] for job_id in lost)


@virtually
async def test_a_rate_limit_is_waited_out_in_full_and_a_little_longer_by_chance():
    channel = chat(Skies(*[Weather.REFUSED_FOR_NOW] * 2))
    async with run_flow(channels=[channel], history=channel.history) as flow:
        for user in ("one", "two"):
            await flow.answered("hello", user=user)
        await flow.quiet()
        found = [r for r in flow.recorded() if isinstance(r.event, e.DeliveryDeferred)]
        waits = [timestamps.seconds_between(r.ts, r.event.due) for r in found]
        assert all(2.0 < wait < 3.1 for wait in waits)
        assert len(set(waits)) == len(waits) == 2


@pytest.mark.parametrize(
    "weather", [Weather.REPLY_LOST, Weather.LOST_ON_THE_WAY, Weather.HANGS, Weather.HANGS_AND_IS_LOST]
)
def test_a_piece_of_unknown_outcome_arrives_once(weather: Weather):
    async def story() -> None:
        channel = chat(Skies(weather, weather))
        async with run_flow(channels=[channel], history=channel.history) as flow:
            await flow.answered("hello")
            await flow.quiet()
            assert len(flow.posts(conversation_ref(OWNER))) == 1

    run_virtually(story())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([w for w in Weather if w is not Weather.BANNED]), max_size=12),
    st.lists(st.integers(0, 2), min_size=1, max_size=6),
)
def test_whatever_the_weather_every_answer_arrives_once_and_in_order(forecast, people):
    async def story() -> None:
        channel = chat(Skies(*forecast))

        async def play(invocation):
            yield TurnEnded(f"answer to {invocation.prompt}\n" + "words " * 60)

        async with run_flow(
            runtimes=[Agent(play)],
            channels=[channel],
            history=channel.history,
        ) as flow:
            for number, person in enumerate(people):
                await flow.say(f"message {number}", user=f"u{person}")
            await flow.quiet()
            for person in range(3):
                posts = flow.posts(conversation_ref(f"u{person}"))
                expected = [n for n, p in enumerate(people) if p == person]
                firsts = [p.text.splitlines()[0] for p in posts if p.index == 0]
                assert firsts == [f"answer to message {n}" for n in expected]
                assert len({(p.entry_id, p.index) for p in posts}) == len(posts)
                assert [p.index for p in posts] == [i for _ in expected for i in range(len(posts) // len(expected))]

    run_virtually(story())


@pytest.mark.req("A3", "A18")
@virtually
async def test_what_can_never_arrive_is_abandoned_and_can_be_seen():
    channel = chat()
    channel.history.closed.add(conversation_ref(OWNER).address)
    async with run_flow(channels=[channel], history=channel.history) as flow:
        job = await flow.answered("hello")
        await flow.until(lambda: not flow.state.outbox)
        [abandoned] = flow.facts(e.DeliveryAbandoned)
        assert abandoned.error_code == Code.E_THREAD_ACCESS_FAILED
        from fairlead.core import requests as ask

        story = await flow.command(ask.Why(job.job_id))
        assert "DeliveryAbandoned" in [s.type for s in story.steps]


@virtually
async def test_a_channel_that_breaks_in_an_unforeseen_way_is_tried_again():
    class Breaking(RecordingChannel):
        broken = 3

        async def send(self, outgoing):
            if self.broken:
                self.broken -= 1
                raise KeyError("a bug in the adapter")
            return await super().send(outgoing)

    channel = Breaking(ChannelHistory())
    async with run_flow(channels=[channel], history=channel.history) as flow:
        await flow.answered("hello")
        await flow.quiet()
        assert len(flow.posts(conversation_ref(OWNER))) == 1
        assert {d.error_code for d in flow.facts(e.DeliveryDeferred)} == {Code.E_INTERNAL}


@virtually
async def test_a_half_sent_answer_follows_its_plan_after_a_restart():
    answer = "\n".join(f"line {n} of a long answer that needs several messages" for n in range(30))
    history = ChannelHistory()
    fair_then_away = Skies(Weather.FAIR, Weather.FAIR)
    fair_then_away.now = Weather.AWAY
    channel = RecordingChannel(history, weather=fair_then_away)
    async with run_flow(runtimes=[saying(answer)], channels=[channel], history=history) as flow:
        await flow.answered("hello")
        await flow.until(lambda: bool(flow.facts(e.DeliveryDeferred)))
        [plan] = flow.facts(e.DeliveryPlanned)
        assert len(flow.posts(conversation_ref(OWNER))) == 2
        disk = flow.disk
    # A later version that would split otherwise:
    async with run_flow(disk=disk, channels=[RecordingChannel(history, text_limit=2000)], history=history) as flow:
        await flow.quiet()
        assert flow.facts(e.DeliveryPlanned) == [plan]
        assert flow.texts(conversation_ref(OWNER)) == [piece.text for piece in plan.pieces]


@virtually
async def test_a_piece_that_went_out_before_the_crash_is_found_and_not_sent_again():
    history = ChannelHistory()

    class Dying(RecordingChannel):
        async def send(self, outgoing):
            await super().send(outgoing)
            await asyncio.sleep(10_000)
            return ""

    async with run_flow(channels=[Dying(history)], history=history) as flow:
        await flow.answered("hello")
        await flow.until(lambda: len(history.posts) == 1)
        disk = flow.disk
    await asyncio.sleep(3600)  # Discord has forgotten the nonce by now
    async with run_flow(disk=disk, channels=[RecordingChannel(history)], history=history) as flow:
        await flow.quiet()
        assert len(history.posts) == 1
        [delivered] = flow.facts(e.PieceDelivered)
        assert delivered.message_id == history.posts[0].message_id


@virtually
async def test_an_outbox_entry_of_a_channel_that_is_off_waits_for_it_and_disturbs_nobody():
    skies = Skies()
    skies.now = Weather.AWAY
    history = ChannelHistory()
    async with run_flow(channels=[RecordingChannel(history, weather=skies)], history=history) as flow:
        await flow.answered("hello")
        await flow.until(lambda: bool(flow.facts(e.DeliveryDeferred)))
        disk = flow.disk
    other = RecordingChannel(history, name="other")
    async with run_flow(disk=disk, channels=[other], history=history) as flow:
        await flow.answered("hi", at=conversation_ref("x", "other"))
        await flow.answered("unplanned")
        await asyncio.sleep(100)
        assert flow.texts(conversation_ref("x", "other"))
        assert not flow.facts(e.DeliveryAbandoned)
    async with run_flow(disk=disk, channels=[RecordingChannel(history)], history=history) as flow:
        await flow.quiet()
        assert len(flow.texts(conversation_ref(OWNER))) == 2


def test_a_nonce_names_the_state_directory_and_is_the_same_for_ever():
    assert nonce_of("abcd", "debt_job_20260105_0001", 0) == nonce_of("abcd", "debt_job_20260105_0001", 0)
    assert nonce_of("abcd", "debt_job_20260105_0001", 0).startswith("abcd")
    assert len(nonce_of("abcd", "debt_job_20260105_0001", 12)) <= 25
    nonces = {nonce_of("abcd", f"debt_{d}", i) for d in range(50) for i in range(5)}
    assert len(nonces) == 250


@virtually
async def test_the_nonce_of_a_piece_does_not_change_between_attempts_and_lives():
    sent: list[str] = []

    class Noting(RecordingChannel):
        async def send(self, outgoing):
            sent.append(outgoing.nonce)
            return await super().send(outgoing)

    history = ChannelHistory()
    skies = Skies()
    skies.now = Weather.REFUSED_FOR_NOW
    async with run_flow(channels=[Noting(history, weather=skies)], history=history) as flow:
        await flow.answered("hello")
        await flow.until(lambda: len(sent) >= 3)
        disk = flow.disk
    async with run_flow(disk=disk, channels=[Noting(history)], history=history) as flow:
        await flow.quiet()
    assert len(set(sent)) == 1
    assert sent[0] == nonce_of("abcd", "debt_job_20260105_0001", 0)


@pytest.mark.req("D2", "D3")
@virtually
async def test_an_answer_goes_to_the_requesters_own_binding_and_nowhere_else():
    async with run_flow() as flow:
        here, there = conversation_ref("here"), conversation_ref("there")
        key = user_key(agent_id="fairlead", user_id=OWNER)
        await flow.answered("first", at=here)
        await flow.flow.bindings.bind(target_session_key=str(key), target_kind="session", conversation=there)
        await flow.answered("second", at=there)
        await flow.answered("third", at=here)
        await flow.quiet()
        assert [len(flow.posts(p)) for p in (here, there)] == [2, 1]
        assert {p.route for p in flow.facts(e.DeliveryPlanned)} == {"bound"}
        assert {p.reason for p in flow.facts(e.DeliveryPlanned)} == {"the requester's own binding"}


@pytest.mark.req("D2", "D3", "D6")
@virtually
async def test_with_one_other_binding_it_goes_there_and_not_to_the_parent_too():
    async with run_flow() as flow:
        parent, thread = conversation_ref("parent"), conversation_ref("thread")
        receipt = await flow.say("/slow 10", at=parent)
        await flow.flow.bindings.unbind(reason="moved", target_session_key=receipt.session_key)
        await flow.flow.bindings.bind(
            target_session_key=receipt.session_key, target_kind="session", conversation=thread
        )
        await flow.quiet()
        assert [len(flow.posts(p)) for p in (parent, thread)] == [0, 1]
        [plan] = flow.facts(e.DeliveryPlanned)
        assert (plan.route, plan.reason) == ("bound", "the session's only binding")


@virtually
async def test_an_outbox_entry_whose_send_loop_crashed_is_taken_up_again_with_the_next_fact():
    skies = Skies()
    skies.now = Weather.AWAY
    channel = chat(skies)
    async with run_flow(channels=[channel], history=channel.history) as flow:
        await flow.say("hello")
        await flow.until(lambda: any(entry.plan for entry in flow.state.outbox.values()))
        del flow.world.channels[channel.name]
        await asyncio.sleep(60)
        flow.world.channels[channel.name] = channel
        skies.now = Weather.FAIR
        await asyncio.sleep(60)
        assert flow.texts(conversation_ref(OWNER)) == []
        await flow.gate.see_person(OWNER, "ja")
        await flow.quiet()
        assert len(flow.texts(conversation_ref(OWNER))) == 1


@pytest.mark.req("D2", "D3")
@virtually
async def test_without_a_binding_it_falls_back_to_the_requester_openly():
    async with run_flow() as flow:
        receipt = await flow.say("/slow 10")
        await flow.flow.bindings.unbind(reason="gone", target_session_key=receipt.session_key)
        await flow.quiet()
        [plan] = flow.facts(e.DeliveryPlanned)
        assert (plan.route, plan.destination) == ("fallback", conversation_ref(OWNER))
        assert "no active binding" in plan.reason
        assert len(flow.posts(conversation_ref(OWNER))) == 1


@pytest.mark.req("D2")
@virtually
async def test_an_expired_binding_is_no_binding():
    async with run_flow() as flow:
        receipt = await flow.say("/slow 100")
        await flow.flow.bindings.bind(
            target_session_key=receipt.session_key,
            target_kind="session",
            conversation=conversation_ref(OWNER),
            ttl_ms=50_000,
        )
        await flow.quiet()
        [plan] = flow.facts(e.DeliveryPlanned)
        assert plan.route == "fallback"


@pytest.mark.req("D2")
@virtually
async def test_with_fail_closed_it_goes_nowhere_and_is_recorded_as_undeliverable():
    async with run_flow() as flow:
        receipt = await flow.say("/slow 10")
        await flow.flow.bindings.unbind(reason="gone", target_session_key=receipt.session_key)
        await flow.until(lambda: bool(flow.state.running))
        owed = e.DeliveryOwed(
            entry_id="debt_x",
            kind="answer",
            session_key=receipt.session_key,
            requester=conversation_ref(OWNER),
            job_id=receipt.job_id,
            fail_closed=True,
        )
        seq = flow.state.seq + 1
        flow.journal.append("2026-01-05T08:00:05.000Z", seq, [owed])
        from fairlead.core.fold import apply

        apply(flow.state, seq, "2026-01-05T08:00:05.000Z", owed)
        await flow.quiet()
        [plan] = [p for p in flow.facts(e.DeliveryPlanned) if p.entry_id == "debt_x"]
        assert (plan.route, plan.destination) == ("nowhere", None)
        [abandoned] = flow.facts(e.DeliveryAbandoned)
        assert abandoned.error_code == Code.E_UNDELIVERABLE
        assert "debt_x" not in [post.entry_id for post in flow.posts(conversation_ref(OWNER))]


class Pulling:
    name = "http"
    capabilities = ChannelCapabilities()

    async def send(self, outgoing):
        raise AssertionError("nothing is pushed to who fetches")

    async def find(self, outgoing):
        raise AssertionError


@pytest.mark.req("C5")
@virtually
async def test_an_answer_on_a_pull_channel_is_delivered_when_it_is_durable_and_fetched():
    async with run_flow(channels=[Pulling()]) as flow:
        here = conversation_ref("me", "http")
        job = await flow.answered("hello", at=here)
        await flow.until(lambda: flow.view.unfetched_jobs(here) == [job.job_id])
        await flow.gate.acknowledge(job.job_id)
        assert flow.view.unfetched_jobs(here) == []
        await flow.gate.acknowledge(job.job_id)
        assert len(flow.facts(e.DeliveryAcknowledged)) == 1
        assert (await flow.view.job(job.job_id)).answer
        assert await flow.command(ask.Status(), at=here)


@virtually
async def test_what_is_delivered_or_fetched_leaves_nothing_behind_in_memory():
    history = ChannelHistory()
    async with run_flow(channels=[RecordingChannel(history), Pulling()], history=history) as flow:
        await flow.answered("posted")
        job = await flow.answered("fetched", user="me", at=conversation_ref("me", "http"))
        await flow.quiet()
        await flow.gate.acknowledge(job.job_id)
        assert flow.flow.outbox._times.entries == set()
