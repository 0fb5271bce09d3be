"""What the handlers work with, and what they share: who asks, and how a job looks to a client. Knows no route."""

from typing import Any, Protocol, TypeVar
from urllib.parse import quote

import msgspec
from aiohttp import web

from fairlead.api.wire import CHANNEL_HEADER, FileInfo, JobInfo
from fairlead.channels.http.errors import fault_of_job
from fairlead.channels.http.job_stream import JobStreams
from fairlead.core.conversation import ConversationRef
from fairlead.core.identity import LOCAL_USER, Identities
from fairlead.core.ids import JobId
from fairlead.core.keys import user_key
from fairlead.core.replies import Reply
from fairlead.core.requests import Caller, Request
from fairlead.core.state import JobState, answer_entry_id
from fairlead.errors import Code, error
from fairlead.kit.tasks import shielded
from fairlead.ports import Blobs, Gate, JobView, View

R = TypeVar("R")

PULL_CHANNELS = ("http", "terminal")


class Vitals(Protocol):
    """How the journal is doing; the journal itself will do."""

    @property
    def durable_seq(self) -> int: ...

    @property
    def is_stalled(self) -> bool: ...

    async def until_durable(self, seq: int) -> None: ...


class Service(msgspec.Struct, frozen=True):
    gate: Gate
    view: View
    blobs: Blobs
    vitals: Vitals
    identities: Identities
    agent_id: str
    streams: JobStreams

    async def command(self, request: Request, caller: Caller, kind: type[R]) -> R:
        """Run to its end even if the client hangs up: half a command is worse than an unread reply."""
        reply: Reply = await shielded(self.gate.command(request, caller))
        assert isinstance(reply, kind), f"{type(request).__name__} was answered with {type(reply).__name__}"
        return reply

    async def job(self, job_id: str) -> JobView:
        """A job to look at. What has ended is read back from the journal: while the disk is full that would wait for
        room in silence, because its end may not be written yet."""
        live = self.view.state.jobs.get(JobId(job_id))
        if self.vitals.is_stalled and (live is None or not live.is_live):
            raise error(Code.E_DISK_FULL)
        return await self.view.job(job_id)

    async def acknowledge(self, job_id: str) -> None:
        """Only what is fetched here: an answer for another channel is still owed there."""
        entry = self.view.state.outbox.get(answer_entry_id(JobId(job_id)))
        if entry is not None and entry.requester.channel in PULL_CHANNELS:
            await shielded(self.gate.acknowledge(job_id))


class Call(msgspec.Struct, frozen=True):
    """One request, understood: its body and query are decoded, its channel is known."""

    service: Service
    http: web.Request
    channel: str
    body: Any = None
    query: Any = None

    def part(self, name: str) -> str:
        return self.http.match_info[name]

    def caller(self, user_id: str | None) -> Caller:
        """The person as whom the client speaks; without one, the owner of the token, at home."""
        if user_id is None:
            return caller_at(self.service, "terminal", LOCAL_USER)
        return caller_at(self.service, self.channel, user_id)


def caller_at(service: Service, channel: str, user_id: str) -> Caller:
    person = service.identities.person_of(channel, user_id)
    conversation = ConversationRef(channel, service.agent_id, user_id)
    return Caller(person, conversation, user_key(agent_id=service.agent_id, user_id=person), pre_authorised=True)


def channel_of(http: web.Request) -> str:
    channel = http.headers.get(CHANNEL_HEADER, "http")
    if channel not in PULL_CHANNELS:
        raise error(Code.E_INVALID_ARGS, f"{CHANNEL_HEADER} is {' or '.join(PULL_CHANNELS)}, not {channel[:40]!r}.")
    return channel


def job_info(job: JobView) -> JobInfo:
    code = job.error_code
    return JobInfo(
        job.job_id,
        job.session_key,
        msgspec.convert(job.state, JobState),
        job.attempt,
        job.enqueued_at,
        job.tool,
        job.prompt,
        job.started_at,
        job.finished_at,
        job.answer,
        fault_of_job(code, job.error_message or "") if code else None,
        tuple(FileInfo(f.name, file_url(job.job_id, n), f.media_type) for n, f in enumerate(job.files)),
        job.cost_usd,
    )


def file_url(job_id: str, number: int) -> str:
    return f"/v1/jobs/{quote(job_id)}/files/{number}"
