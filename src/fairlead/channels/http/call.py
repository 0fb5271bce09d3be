"""The parts that handlers share: the service, the caller, and a job as a client sees it. Knows no route."""

import re
import uuid
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec
from aiohttp import web

from fairlead.api.wire import CHANNEL_HEADER, KEY_HEADER, FileInfo, JobInfo
from fairlead.channels.http.errors import fault_of_job
from fairlead.channels.http.event_limits import EventLimits
from fairlead.channels.http.health_samples import HealthSamples
from fairlead.channels.http.job_stream import JobStreams
from fairlead.channels.http.logins import ConsoleLogins
from fairlead.channels.http.proxies import Proxies
from fairlead.channels.http.pull_channels import PULL_CHANNELS
from fairlead.core import message_ids
from fairlead.core.conversation import ConversationRef
from fairlead.core.identity import LOCAL_USER, Identities
from fairlead.core.ids import MessageId
from fairlead.core.keys import normalise_id, user_key
from fairlead.core.replies import Reply
from fairlead.core.requests import Caller, Request
from fairlead.core.views import JobFields, JobView
from fairlead.errors import Code, error
from fairlead.kit.tasks import run_to_end
from fairlead.ports import Blobs, Durability, Gate, View

R = TypeVar("R")

_NAMED_BY_HEADER: Final = ("http", "terminal")
"""The console is told by its cookie."""
_KEY_FORM: Final = re.compile(r"[A-Za-z0-9._~+/=-]{1,128}")


class Service(msgspec.Struct, frozen=True, kw_only=True):
    gate: Gate
    view: View
    blobs: Blobs
    vitals: Durability
    identities: Identities
    agent_id: str
    streams: JobStreams
    events: EventLimits
    logins: ConsoleLogins
    proxies: Proxies = Proxies()
    samples: HealthSamples | None = None

    async def command(self, request: Request, caller: Caller, kind: type[R]) -> R:
        """Run to its end even if the client hangs up: half a command is worse than an unread reply."""
        reply: Reply = await run_to_end(self.gate.command(request, caller))
        assert isinstance(reply, kind), f"{type(request).__name__} was answered with {type(reply).__name__}"
        return reply

    async def job(self, job_id: str) -> JobView:
        """A job to look at. An ended job is read back from the journal: while the disk is full that would wait
        without a word to the client, because the job's end may not be written yet."""
        live = self.view.recent_job(job_id)
        if self.vitals.is_stalled and (live is None or not live.is_live):
            raise error(Code.E_DISK_FULL)
        return await self.view.job(job_id)

    async def acknowledge(self, job_id: str) -> None:
        """Only for an answer that is fetched here: an answer for another channel stays in the outbox."""
        requester = self.view.answer_owed_to(job_id)
        if requester is not None and requester.channel in PULL_CHANNELS:
            await run_to_end(self.gate.acknowledge(job_id))


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request, understood: its body and query are decoded, its channel is known."""

    service: Service
    http: web.Request
    channel: str
    body: Any = None
    query: Any = None

    def part(self, name: str) -> str:
        return self.http.match_info[name]

    def way_in(self, user_id: str | None) -> str:
        """By which way a request came, for the journal: channel, conversation, and the other end of the connection."""
        return f"{self.caller(user_id).conversation.address} over HTTP from {self.service.proxies.client_of(self.http)}"

    def caller(self, user_id: str | None) -> Caller:
        """The person for whom the client speaks; without a user id, the owner of the token."""
        if user_id is None:
            return caller_at(self.service, "terminal", LOCAL_USER)
        return caller_at(self.service, self.channel, user_id)


def request_id(call: Call) -> MessageId:
    """The client's Idempotency-Key; without one, an id that no other request has."""
    key = call.http.headers.get(KEY_HEADER)
    if key is None:
        return message_ids.idempotency_id(uuid.uuid4().hex)
    bare = key.strip().strip('"')
    if not _KEY_FORM.fullmatch(bare):
        raise error(Code.E_INVALID_ARGS, f"{KEY_HEADER} takes 1 to 128 letters, digits and . _ ~ + / = -")
    return message_ids.idempotency_id(bare)


def caller_at(service: Service, channel: str, user_id: str) -> Caller:
    person = service.identities.person_of(channel, user_id)
    conversation = ConversationRef(channel, service.agent_id, normalise_id(user_id))
    key = user_key(agent_id=service.agent_id, user_id=person)
    return Caller(person=person, conversation=conversation, session_key=key, pre_authorised=True)


def channel_of(http: web.Request) -> str:
    channel = http.headers.get(CHANNEL_HEADER, "http")
    if channel not in _NAMED_BY_HEADER:
        raise error(Code.E_INVALID_ARGS, f"{CHANNEL_HEADER} is {' or '.join(_NAMED_BY_HEADER)}, not {channel[:40]!r}.")
    return channel


def job_info(job: JobView) -> JobInfo:
    code = job.error_code
    return JobInfo(
        **{name: getattr(job, name) for name in JobFields.__struct_fields__},
        error=fault_of_job(code, job.error_message or "") if code else None,
        files=tuple(FileInfo(f.name, file_url(job.job_id, n), f.media_type) for n, f in enumerate(job.files)),
    )


def job_url(job_id: str) -> str:
    return f"/v1/jobs/{quote(job_id)}"


def file_url(job_id: str, number: int) -> str:
    return f"{job_url(job_id)}/files/{number}"
