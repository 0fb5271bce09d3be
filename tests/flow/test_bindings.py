"""Which conversation is bound to which session: durable before it returns, ended with a reason."""

import asyncio

import pytest

from fairlead.core import events as e
from fairlead.core.conversation import SessionBindingRecord
from fairlead.errors import Code, FairleadError
from tests.flow.harness import conversation_ref, run_flow, virtually

pytestmark = pytest.mark.req("D1")

KEY = "agent:fairlead:user:42"


@virtually
async def test_a_binding_has_every_field_and_survives_a_restart():
    async with run_flow() as flow:
        await flow.answered("hello")
        made = await flow.flow.bindings.bind(
            target_session_key=KEY,
            target_kind="subagent",
            conversation=conversation_ref("thread"),
            metadata={"by": "/spawn", "n": 1},
            ttl_ms=60_000,
        )
        assert made == SessionBindingRecord(
            binding_id=made.binding_id,
            target_session_key=KEY,
            target_kind="subagent",
            conversation=conversation_ref("thread"),
            status="active",
            bound_at=made.bound_at,
            expires_at=made.expires_at,
            ttl_ms=60_000,
            ended_reason=None,
            metadata={"by": "/spawn", "n": 1},
        )
        disk, kept = flow.disk, made
    async with run_flow(disk=disk) as flow:
        assert flow.state.bindings[kept.binding_id] == kept


@virtually
async def test_bindings_are_found_by_session_and_by_conversation():
    async with run_flow() as flow:
        await flow.answered("hello")
        bindings = flow.flow.bindings
        assert [b.conversation for b in bindings.list_by_session(KEY)] == [conversation_ref("42")]
        found = bindings.resolve_by_conversation(conversation_ref("42"))
        assert found is not None
        assert found.target_session_key == KEY
        assert bindings.resolve_by_conversation(conversation_ref("elsewhere")) is None
        assert bindings.list_by_session("agent:fairlead:user:nobody") == []


@virtually
async def test_binding_a_bound_conversation_ends_the_older_binding_as_rebound():
    async with run_flow() as flow:
        await flow.answered("hello")
        await flow.answered("hello", user="43")
        older = flow.flow.bindings.resolve_by_conversation(conversation_ref("42"))
        other = "agent:fairlead:user:43"
        newer = await flow.flow.bindings.bind(
            target_session_key=other, target_kind="session", conversation=conversation_ref("42")
        )
        assert flow.flow.bindings.resolve_by_conversation(conversation_ref("42")) == newer
        assert older is not None
        assert [(f.binding_id, f.reason) for f in flow.facts(e.BindingEnded)] == [(older.binding_id, "rebound")]
        assert (await flow.answered("now here", user="42")).session_key == other


@virtually
async def test_a_touch_moves_the_expiry_by_the_whole_time_to_live():
    async with run_flow() as flow:
        await flow.answered("hello")
        bindings = flow.flow.bindings
        made = await bindings.bind(
            target_session_key=KEY, target_kind="session", conversation=conversation_ref("t"), ttl_ms=60_000
        )
        for _ in range(5):
            await asyncio.sleep(40)
            assert bindings.resolve_by_conversation(conversation_ref("t")) is not None
            await bindings.touch(made.binding_id)
        await asyncio.sleep(61)
        assert bindings.resolve_by_conversation(conversation_ref("t")) is None
        assert conversation_ref("t") not in [b.conversation for b in bindings.list_by_session(KEY)]


@virtually
async def test_a_binding_for_good_needs_no_touch():
    async with run_flow() as flow:
        await flow.answered("hello")
        before = flow.state.seq
        [binding] = flow.flow.bindings.list_by_session(KEY)
        await flow.flow.bindings.touch(binding.binding_id)
        await flow.flow.bindings.touch("bind_999")
        assert flow.facts(e.BindingTouched) == []
        assert flow.state.seq >= before


@virtually
async def test_unbinding_gives_back_what_it_ended():
    async with run_flow() as flow:
        await flow.answered("hello")
        bindings = flow.flow.bindings
        for name in ("a", "b"):
            await bindings.bind(target_session_key=KEY, target_kind="session", conversation=conversation_ref(name))
        first = bindings.resolve_by_conversation(conversation_ref("a"))
        assert first is not None
        [ended] = await bindings.unbind(binding_id=first.binding_id, reason="closed")
        assert (ended.conversation, ended.status, ended.ended_reason) == (conversation_ref("a"), "ended", "closed")
        rest = await bindings.unbind(target_session_key=KEY, reason="session over")
        assert {b.conversation for b in rest} == {conversation_ref("42"), conversation_ref("b")}
        assert bindings.list_by_session(KEY) == []
        assert await bindings.unbind(binding_id="bind_999", reason="x") == []


@virtually
async def test_a_session_that_is_not_there_cannot_be_bound():
    async with run_flow() as flow:
        with pytest.raises(FairleadError) as caught:
            await flow.flow.bindings.bind(
                target_session_key="agent:fairlead:user:nobody",
                target_kind="session",
                conversation=conversation_ref("x"),
            )
        assert caught.value.code is Code.E_SESSION_NOT_FOUND


@pytest.mark.req("D5")
@virtually
async def test_whatever_is_delivered_to_a_conversation_moves_the_expiry_of_its_binding():
    async with run_flow() as flow:
        await flow.answered("hello", user="42")
        made = await flow.flow.bindings.bind(
            target_session_key=KEY, target_kind="session", conversation=conversation_ref("42"), ttl_ms=60_000
        )
        before = made.expires_at
        await asyncio.sleep(30)
        await flow.answered("again", user="42")
        await flow.until(lambda: not flow.state.outbox)
        after = flow.flow.bindings.resolve_by_conversation(conversation_ref("42"))
        assert after is not None
        assert before is not None
        assert (after.expires_at or "") > before
