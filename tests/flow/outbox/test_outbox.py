"""The outbox: planned once, paid in order, at least once and made once by looking, given up only in the open."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.core import events as e
from fairlead.core import requests as ask
from fairlead.core import timestamps
from fairlead.core.engine import TurnEnded
from fairlead.core.keys import user_key
from fairlead.core.limits import Limits
from fairlead.errors import Code
from fairlead.flow.outbox.outbox import nonce_of
from fairlead.ports import ChannelCapabilities
from fairlead.testing.channel import ChannelHistory, RecordingChannel, Weather
from fairlead.testing.clock import run_virtually
from tests.flow.harness import OWNER, Agent, flow_house, place, virtually
from tests.flow.outbox.harness import Skies, chat, saying

pytestmark = pytest.mark.req("A2")


@virtually
async def test_answers_of_one_conversation_are_posted_in_their_order():
    async with flow_house(runtimes=[saying(*(f"answer {n}" for n in range(10)))]) as flow:
        for n in range(10):
            await flow.say(f"message {n}")
        await flow.quiet()
        assert flow.texts(place(OWNER)) == [f"answer {n}" for n in range(10)]


@pytest.mark.req("A16")
@virtually
async def test_every_end_owes_at_least_a_line():
    async with flow_house() as flow:
        await flow.answered("/fail E_AGENT_ERROR the model is on holiday", user="a")
        receipt = await flow.say("/hang", user="b")
        await flow.until(lambda: flow.state.jobs[receipt.job_id].state == "running")
        disk, history = flow.disk, flow.history
        await flow.until(lambda: len(flow.posts(place("a"))) == 1)
    async with flow_house(disk=disk, history=history, life=1) as flow:
        await flow.quiet()
        [failed], [unknown] = flow.texts(place("a")), flow.texts(place("b"))
        assert "E_AGENT_ERROR" in failed
        assert "the model is on holiday" in failed
        assert "E_UNKNOWN_AFTER_CRASH" in unknown


@virtually
async def test_a_dead_conversation_delays_no_other():
    channel = chat()
    channel.history.closed.add(place("dead").address)
    slow = Skies()
    async with flow_house(channels=[channel], history=channel.history) as flow:
        slow.now = Weather.HANGS
        await flow.say("hello", user="dead")
        await flow.answered("hello", user="alive")
        await flow.until(lambda: len(flow.posts(place("alive"))) == 1, seconds=10)


@virtually
async def test_one_conversation_that_hangs_holds_up_only_itself():
    class HalfDead(RecordingChannel):
        async def send(self, outgoing):
            if outgoing.destination.conversation_id == "stuck":
                await asyncio.sleep(10_000)
            return await super().send(outgoing)

    channel = HalfDead(ChannelHistory())
    async with flow_house(channels=[channel], history=channel.history) as flow:
        await flow.answered("hello", user="stuck")
        for _ in range(3):
            await flow.answered("hello", user="alive")
        await flow.until(lambda: len(flow.posts(place("alive"))) == 3, seconds=10)


@virtually
async def test_while_the_channel_is_away_debts_wait_and_no_attempt_counts():
    skies = Skies()
    skies.now = Weather.AWAY
    channel = chat(skies)
    async with flow_house(channels=[channel], history=channel.history) as flow:
        await flow.answered("hello")
        await asyncio.sleep(6 * 86400)
        [entry] = flow.state.outbox.values()
        assert entry.attempts == 0
        assert len(flow.facts(e.DeliveryDeferred)) < 150, "waiting must not fill the journal"
        skies.now = Weather.FAIR
        await flow.quiet()
        assert len(flow.posts(place(OWNER))) == 1


@virtually
async def test_after_seven_days_away_it_is_given_up_in_the_open():
    skies = Skies()
    skies.now = Weather.AWAY
    channel = chat(skies)
    async with flow_house(channels=[channel], history=channel.history) as flow:
        job = await flow.answered("hello")
        await asyncio.sleep(7.1 * 86400)
        assert not flow.state.outbox
        [given_up] = flow.facts(e.DeliveryAbandoned)
        assert given_up.error_code == Code.E_UNDELIVERABLE
        assert "168" in given_up.reason
        assert (await flow.view.job(job.job_id)).answer, "the answer itself is not lost"


@virtually
async def test_a_rate_limit_is_waited_out_with_growing_pauses_and_then_given_up():
    skies = Skies()
    skies.now = Weather.REFUSED_FOR_NOW
    channel = chat(skies)
    async with flow_house(channels=[channel], history=channel.history, limits=Limits(max_delivery_attempts=8)) as flow:
        await flow.answered("hello")
        await flow.until(lambda: not flow.state.outbox)
        deferred = flow.facts(e.DeliveryDeferred)
        assert [d.attempts for d in deferred] == [1, 2, 3, 4, 5, 6, 7]
        assert {d.error_code for d in deferred} == {Code.E_DISCORD_RATE_LIMIT}
        assert [d.error_code for d in flow.facts(e.DeliveryAbandoned)] == [Code.E_DISCORD_RATE_LIMIT]


@virtually
async def test_a_rate_limit_is_waited_out_in_full_and_a_little_longer_by_chance():
    channel = chat(Skies(*[Weather.REFUSED_FOR_NOW] * 2))
    async with flow_house(channels=[channel], history=channel.history) as flow:
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
        async with flow_house(channels=[channel], history=channel.history) as flow:
            await flow.answered("hello")
            await flow.quiet()
            assert len(flow.posts(place(OWNER))) == 1

    run_virtually(story())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(list(Weather)), max_size=12),
    st.lists(st.integers(0, 2), min_size=1, max_size=6),
)
def test_whatever_the_weather_every_answer_arrives_once_and_in_order(forecast, people):
    async def story() -> None:
        channel = chat(Skies(*forecast))

        async def play(invocation):
            yield TurnEnded(f"answer to {invocation.prompt}\n" + "words " * 60)

        async with flow_house(
            runtimes=[Agent(play)],
            channels=[channel],
            history=channel.history,
            limits=Limits(max_delivery_attempts=100),
        ) as flow:
            for number, person in enumerate(people):
                await flow.say(f"message {number}", user=f"u{person}")
            await flow.quiet()
            for person in range(3):
                posts = flow.posts(place(f"u{person}"))
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
    channel.history.closed.add(place(OWNER).address)
    async with flow_house(channels=[channel], history=channel.history) as flow:
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
    async with flow_house(channels=[channel], history=channel.history) as flow:
        await flow.answered("hello")
        await flow.quiet()
        assert len(flow.posts(place(OWNER))) == 1
        assert {d.error_code for d in flow.facts(e.DeliveryDeferred)} == {Code.E_INTERNAL}


@virtually
async def test_a_half_sent_answer_follows_its_plan_after_a_restart():
    answer = "\n".join(f"line {n} of a long answer that needs several messages" for n in range(30))
    history = ChannelHistory()
    fair_then_away = Skies(Weather.FAIR, Weather.FAIR)
    fair_then_away.now = Weather.AWAY
    channel = RecordingChannel(history, weather=fair_then_away)
    async with flow_house(runtimes=[saying(answer)], channels=[channel], history=history) as flow:
        await flow.answered("hello")
        await flow.until(lambda: bool(flow.facts(e.DeliveryDeferred)))
        [plan] = flow.facts(e.DeliveryPlanned)
        assert len(flow.posts(place(OWNER))) == 2
        disk = flow.disk
    # A later version that would split otherwise:
    async with flow_house(disk=disk, channels=[RecordingChannel(history, text_limit=2000)], history=history) as flow:
        await flow.quiet()
        assert flow.facts(e.DeliveryPlanned) == [plan]
        assert flow.texts(place(OWNER)) == [piece.text for piece in plan.pieces]


@virtually
async def test_a_piece_that_went_out_before_the_crash_is_found_and_not_sent_again():
    history = ChannelHistory()

    class Dying(RecordingChannel):
        async def send(self, outgoing):
            await super().send(outgoing)
            await asyncio.sleep(10_000)
            return ""

    async with flow_house(channels=[Dying(history)], history=history) as flow:
        await flow.answered("hello")
        await flow.until(lambda: len(history.posts) == 1)
        disk = flow.disk
    await asyncio.sleep(3600)  # Discord has forgotten the nonce by now
    async with flow_house(disk=disk, channels=[RecordingChannel(history)], history=history) as flow:
        await flow.quiet()
        assert len(history.posts) == 1
        [paid] = flow.facts(e.PieceDelivered)
        assert paid.message_id == history.posts[0].message_id


@virtually
async def test_a_debt_of_a_channel_that_is_off_waits_for_it_and_disturbs_nobody():
    skies = Skies()
    skies.now = Weather.AWAY
    history = ChannelHistory()
    async with flow_house(channels=[RecordingChannel(history, weather=skies)], history=history) as flow:
        await flow.answered("hello")
        await flow.until(lambda: bool(flow.facts(e.DeliveryDeferred)))
        disk = flow.disk
    other = RecordingChannel(history, name="other")
    async with flow_house(disk=disk, channels=[other], history=history) as flow:
        await flow.answered("hi", at=place("x", "other"))
        await flow.answered("unplanned")
        await asyncio.sleep(100)
        assert flow.texts(place("x", "other"))
        assert not flow.facts(e.DeliveryAbandoned)
    async with flow_house(disk=disk, channels=[RecordingChannel(history)], history=history) as flow:
        await flow.quiet()
        assert len(flow.texts(place(OWNER))) == 2


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
    async with flow_house(channels=[Noting(history, weather=skies)], history=history) as flow:
        await flow.answered("hello")
        await flow.until(lambda: len(sent) >= 3)
        disk = flow.disk
    async with flow_house(disk=disk, channels=[Noting(history)], history=history) as flow:
        await flow.quiet()
    assert len(set(sent)) == 1
    assert sent[0] == nonce_of("abcd", "debt_job_20260105_0001", 0)


@pytest.mark.req("D2", "D3")
@virtually
async def test_an_answer_goes_to_the_requesters_own_binding_and_nowhere_else():
    async with flow_house() as flow:
        here, there = place("here"), place("there")
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
    async with flow_house() as flow:
        parent, thread = place("parent"), place("thread")
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
async def test_a_debt_whose_courier_crashed_is_taken_up_again_with_the_next_fact():
    skies = Skies()
    skies.now = Weather.AWAY
    channel = chat(skies)
    async with flow_house(channels=[channel], history=channel.history) as flow:
        await flow.say("hello")
        await flow.until(lambda: any(entry.plan for entry in flow.state.outbox.values()))
        del flow.world.channels[channel.name]
        await asyncio.sleep(60)
        flow.world.channels[channel.name] = channel
        skies.now = Weather.FAIR
        await asyncio.sleep(60)
        assert flow.texts(place(OWNER)) == []
        await flow.gate.see_person(OWNER, "ja")
        await flow.quiet()
        assert len(flow.texts(place(OWNER))) == 1


@pytest.mark.req("D2", "D3")
@virtually
async def test_without_a_binding_it_falls_back_to_the_requester_openly():
    async with flow_house() as flow:
        receipt = await flow.say("/slow 10")
        await flow.flow.bindings.unbind(reason="gone", target_session_key=receipt.session_key)
        await flow.quiet()
        [plan] = flow.facts(e.DeliveryPlanned)
        assert (plan.route, plan.destination) == ("fallback", place(OWNER))
        assert "no active binding" in plan.reason
        assert len(flow.posts(place(OWNER))) == 1


@pytest.mark.req("D2")
@virtually
async def test_an_expired_binding_is_no_binding():
    async with flow_house() as flow:
        receipt = await flow.say("/slow 100")
        await flow.flow.bindings.bind(
            target_session_key=receipt.session_key, target_kind="session", conversation=place(OWNER), ttl_ms=50_000
        )
        await flow.quiet()
        [plan] = flow.facts(e.DeliveryPlanned)
        assert plan.route == "fallback"


@pytest.mark.req("D2")
@virtually
async def test_with_fail_closed_it_goes_nowhere_and_is_recorded_as_undeliverable():
    async with flow_house() as flow:
        receipt = await flow.say("/slow 10")
        await flow.flow.bindings.unbind(reason="gone", target_session_key=receipt.session_key)
        await flow.until(lambda: bool(flow.state.running))
        owed = e.DeliveryOwed(
            entry_id="debt_x",
            kind="answer",
            session_key=receipt.session_key,
            requester=place(OWNER),
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
        assert "debt_x" not in [post.entry_id for post in flow.posts(place(OWNER))]


class Pulling:
    name = "http"
    capabilities = ChannelCapabilities()

    async def send(self, outgoing):
        raise AssertionError("nothing is pushed to who fetches")

    async def find(self, outgoing):
        raise AssertionError


@pytest.mark.req("C5")
@virtually
async def test_an_answer_on_a_pull_channel_is_paid_when_it_is_durable_and_fetched():
    async with flow_house(channels=[Pulling()]) as flow:
        here = place("me", "http")
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
    async with flow_house(channels=[RecordingChannel(history), Pulling()], history=history) as flow:
        await flow.answered("posted")
        job = await flow.answered("fetched", user="me", at=place("me", "http"))
        await flow.quiet()
        await flow.gate.acknowledge(job.job_id)
        assert flow.flow.outbox._begun_here == set()
