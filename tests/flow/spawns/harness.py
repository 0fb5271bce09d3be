"""A channel with a thread in it, where people and agents ask for sessions of their own."""

from typing import Any

from fairlead.core import requests as ask
from fairlead.core.conversation import ConversationRef
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.core.inbound import Inbound
from fairlead.core.keys import channel_key, thread_key
from fairlead.core.limits import Limits
from fairlead.core.replies import Spawned
from fairlead.core.requests import Caller
from fairlead.core.state import Job
from fairlead.flow.spawns.spawning import AgentAsks
from tests.flow.harness import OWNER, FlowHarness, conversation_ref

TOWN = conversation_ref("7")
THREAD = ConversationRef("chat", "acc", "77", "7")
IN_TOWN = channel_key(agent_id="fairlead", space_id="1", channel_id="7")
IN_THREAD = thread_key(agent_id="fairlead", space_id="1", thread_id="77")


def limits(**different: Any) -> Limits:
    return Limits(runtimes=("echo",), **different)


def with_threads(**different: Any) -> Limits:
    return limits(spawn_threads=True, **different)


def caller(at: ConversationRef = THREAD) -> Caller:
    key = IN_THREAD if at is THREAD else IN_TOWN
    return Caller(person=OWNER, conversation=at, session_key=key, pre_authorised=True)


async def spawn(
    flow: FlowHarness,
    task: str = "count the files",
    *,
    asked_by: str = "900",
    at: ConversationRef = THREAD,
    **more: Any,
) -> Spawned:
    reply = await flow.gate.command(ask.Spawn(asked_by=asked_by, task=task, **more), caller(at))
    assert isinstance(reply, Spawned)
    return reply


async def say_in_thread(flow: FlowHarness, text: str, **more: Any) -> Job:
    """Until the answer is there."""
    message_id = more.pop("message_id", None) or flow.history.new_message_id()
    inbound = Inbound(
        conversation=THREAD,
        session_key=IN_THREAD,
        message_id=message_id,
        person=OWNER,
        text=text,
        pre_authorised=True,
        **more,
    )
    return await flow.ended((await flow.gate.submit(inbound)).job_id)


async def agent_spawns(
    flow: FlowHarness, parent: Job, task: str = "count the files", *, asked_by: str = "call-1", **more: Any
) -> Spawned:
    asker = AgentAsks(SessionKeyText(parent.session_key), JobId(parent.job_id))
    return await flow.flow.spawning.spawn_session(asker, task=task, asked_by=asked_by, **more)


def follow_ups(flow: FlowHarness) -> list[Job]:
    return [job for job in flow.state.jobs.values() if job.cause == "child"]


def thread_at(message_id: str) -> ConversationRef:
    return ConversationRef("chat", "acc", message_id, "7")
