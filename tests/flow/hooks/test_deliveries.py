"""Events of hooks become messages like any other: once, where their owner wants them, and with nothing allowed."""

import asyncio

import msgspec
import pytest

from fairlead.core import events as e
from fairlead.core import requests as ask
from fairlead.core.hook_deliveries import Delivery, signature_of
from fairlead.core.limits import Limits
from fairlead.core.replies import HookMade
from fairlead.errors import Code, FairleadError
from fairlead.flow.hooks.deliveries import HookDeliveries
from tests.flow.harness import OWNER, FlowHarness, conversation_ref, run_flow, virtually

DEN = conversation_ref(OWNER)


async def add(flow: FlowHarness, **more: object) -> str:
    made = await flow.command(ask.HookAdd(name="ci", **more))
    assert isinstance(made, HookMade)
    return made.secret


def make_delivery(secret: str, number: int = 0, text: str = "") -> Delivery:
    body = msgspec.json.encode({"number": number, "text": text})
    bare = Delivery(hook="ci", body=body, event="push")
    return msgspec.structs.replace(bare, signature=signature_of("github", secret, bare))


@virtually
async def test_the_same_event_many_times_at_once_is_one_job():
    async with run_flow() as flow:
        delivery = make_delivery(await add(flow))
        receipts = await asyncio.gather(*(flow.gate.take_event(delivery) for _ in range(20)))
        await flow.quiet()
        assert len({r.job_id for r in receipts}) == len(flow.agents.invoked) == 1
        assert [r.duplicate for r in receipts].count(False) == 1
        assert flow.state.account.received == 1


@virtually
async def test_a_hook_has_its_own_session_and_answers_where_it_was_added():
    async with run_flow() as flow:
        await flow.answered("hello")
        secret = await add(flow)
        receipt = await flow.gate.take_event(make_delivery(secret))
        job = await flow.ended(receipt.job_id)
        await flow.quiet()
        assert (job.session_key, job.project) == ("agent:fairlead:channel:hook:ci", "api")
        assert any("agent:fairlead:channel:hook:ci" in text for text in flow.texts(DEN))
        own = await flow.answered("and again")
        assert own.session_key == "agent:fairlead:user:42"  # the conversation still leads to its own session


@virtually
async def test_a_hook_for_here_speaks_into_the_session_of_the_conversation():
    async with run_flow() as flow:
        await flow.answered("hello")
        receipt = await flow.gate.take_event(make_delivery(await add(flow, session="here")))
        assert (await flow.ended(receipt.job_id)).session_key == "agent:fairlead:user:42"


@virtually
async def test_what_a_person_allowed_before_does_not_hold_for_an_event():
    async with run_flow() as flow:
        secret = await add(flow, session="here", template="{text}\n/ask make test")
        first = await flow.say("/ask make test")
        await flow.click(await flow.question(), for_session=True)
        await flow.ended(first.job_id)
        receipt = await flow.gate.take_event(make_delivery(secret, text="harmless"))
        question = flow.state.questions[await flow.question()]
        assert (question.job_id, question.offers) == (receipt.job_id, ())


@virtually
async def test_an_event_that_was_refused_is_a_new_try_when_it_comes_again():
    limits = Limits(max_queue_per_session=1, global_max_running=1)
    async with run_flow(limits=limits) as flow:
        secret = await add(flow, template="/slow 50")
        for number in (1, 2):
            await flow.gate.take_event(make_delivery(secret, number))
        for _ in range(2):
            with pytest.raises(FairleadError) as refused:
                await flow.gate.take_event(make_delivery(secret, 3))
            assert refused.value.code == Code.E_QUEUE_FULL
        await flow.quiet()
        again = [await flow.gate.take_event(make_delivery(secret, 3)) for _ in range(2)]
        assert [r.duplicate for r in again] == [False, True]
        await flow.quiet()
        assert len(flow.agents.invoked) == 3


@virtually
async def test_the_pace_of_a_hook_recovers_with_time():
    async with run_flow(limits=Limits(hook_events_per_minute=2)) as flow:
        secret = await add(flow)
        for number in range(2):
            await flow.gate.take_event(make_delivery(secret, number))
        with pytest.raises(FairleadError) as refused:
            await flow.gate.take_event(make_delivery(secret, 7))
        assert refused.value.code == Code.E_TOO_MANY_EVENTS
        await asyncio.sleep(31)
        assert (await flow.gate.take_event(make_delivery(secret, 7))).job_id


@virtually
async def test_a_hook_goes_with_its_project_and_answers_for_no_other_once_it_is_removed():
    async with run_flow() as flow:
        secret = await add(flow)
        await flow.command(ask.ProjectRename("api", "shop"))
        receipt = await flow.gate.take_event(make_delivery(secret))
        assert (await flow.ended(receipt.job_id)).project == "shop"
        await flow.command(ask.HookRemove("ci"))
        other = await add(flow)
        with pytest.raises(FairleadError) as refused:
            await flow.gate.take_event(make_delivery(secret, 2))
        assert (refused.value.code, other != secret) == (Code.E_UNAUTHORIZED, True)
        assert secret not in flow.disk.read(flow.journal._path).decode()
        assert [fact.name for fact in flow.facts(e.HookAdded, e.HookRemoved)] == ["ci", "ci", "ci"]


@virtually
async def test_only_the_owner_makes_hooks():
    async with run_flow(limits=Limits(allowed_people=("ben",))) as flow:
        assert isinstance(flow.flow.gate._hooks, HookDeliveries)
        for request in (ask.HookAdd(name="ci"), ask.HookList(), ask.HookRemove("ci"), ask.HookTest("1", "ci")):
            with pytest.raises(FairleadError) as refused:
                await flow.gate.command(request, flow.caller("ben", pre_authorised=False))
            assert refused.value.code == Code.E_OWNER_ONLY
