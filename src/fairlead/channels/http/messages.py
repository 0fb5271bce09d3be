"""Taking a message over HTTP: once per Idempotency-Key, answered at once, later, or as a stream."""

import hashlib
import re
import uuid
from typing import Final

import msgspec
from aiohttp import web

from fairlead.api.wire import KEY_HEADER, Accepted, Done, Failed, FaultBody, MessageQuery, NewMessage
from fairlead.channels.http.call import Call, Service
from fairlead.channels.http.errors import json_reply, status_of
from fairlead.channels.http.sse import acknowledge_if_wanted, send_events, until_over
from fairlead.core import message_ids
from fairlead.core.ids import MessageId
from fairlead.core.inbound import Inbound, clean_text
from fairlead.core.job_states import JobState
from fairlead.core.message_outcomes import Refused
from fairlead.errors import Code, error
from fairlead.kit.tasks import run_to_end
from fairlead.ports import Receipt

_KEY_FORM: Final = re.compile(r"[A-Za-z0-9._~+/=-]{1,128}")
_MAX_REFUSED: Final = 50
"""After so many refusals under one key, the client gets the last of them instead of a new try."""


async def post_message(call: Call) -> web.StreamResponse:
    body: NewMessage = call.body
    inbound = _inbound(call, body)
    receipt = await run_to_end(call.service.gate.submit(inbound))
    job = await call.service.view.job(receipt.job_id)
    if receipt.duplicate and job.body_digest != inbound.body_digest:
        raise error(Code.E_IDEMPOTENCY_MISMATCH, f"This {KEY_HEADER} already stands for {receipt.job_id}.")
    accepted = _build_accepted(receipt, job.state, job.session_key)
    if body.stream or "text/event-stream" in call.http.headers.get("Accept", ""):
        return await send_events(call, accepted)
    if _wants_no_waiting(call):
        return json_reply(accepted, status=202)
    return await _respond_when_over(call, receipt.job_id)


def _build_accepted(receipt: Receipt, state: JobState, session_key: str) -> Accepted:
    return Accepted(
        receipt.job_id, receipt.session_key or session_key, state, receipt.position, duplicate=receipt.duplicate
    )


def _inbound(call: Call, body: NewMessage) -> Inbound:
    caller = call.caller(body.userId)
    wanted = (body.userId, body.message, body.project, body.tool)
    inbound = Inbound(
        conversation=caller.conversation,
        session_key=caller.session_key,
        message_id=_message_id(call.http.headers.get(KEY_HEADER)),
        person=caller.person,
        text=clean_text(body.message),
        pre_authorised=True,
        project=body.project or None,
        runtime=body.tool or None,
        body_digest=hashlib.sha256(msgspec.json.encode(wanted)).hexdigest(),
    )
    return _behind_refusals(call.service, inbound)


def _message_id(key: str | None) -> MessageId:
    if key is None:
        return MessageId(uuid.uuid4().hex)
    bare = key.strip().strip('"')
    if not _KEY_FORM.fullmatch(bare):
        raise error(Code.E_INVALID_ARGS, f"{KEY_HEADER} takes 1 to 128 letters, digits and . _ ~ + / = -")
    return message_ids.idempotency_id(bare)


def _behind_refusals(service: Service, inbound: Inbound) -> Inbound:
    """The same key after a refusal is a new try: the first made no job, and clients repeat a request after a 429."""
    first_id = inbound.message_id
    for number in range(2, _MAX_REFUSED):
        outcome = service.view.message_outcome(inbound.conversation, inbound.message_id)
        if not isinstance(outcome, Refused):
            break
        inbound = msgspec.structs.replace(inbound, message_id=message_ids.id_after_refusals(first_id, number))
    return inbound


def _wants_no_waiting(call: Call) -> bool:
    query: MessageQuery = call.query
    return query.wait == 0 or "respond-async" in call.http.headers.get("Prefer", "").lower()


async def _respond_when_over(call: Call, job_id: str) -> web.StreamResponse:
    end = await until_over(call.service, job_id)
    match end:
        case Done(job):
            response = json_reply(job)
        case Failed(fault, job):
            response = json_reply(FaultBody(fault, job), status=status_of(Code(fault.code)))
    await response.prepare(call.http)
    await response.write_eof()
    await acknowledge_if_wanted(call, job_id)
    return response
