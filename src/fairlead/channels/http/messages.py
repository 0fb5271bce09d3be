"""Taking a message over HTTP: once per Idempotency-Key, answered at once, later, or as a stream."""

import hashlib
from typing import Final

import msgspec
from aiohttp import web

from fairlead.api.wire import (
    KEY_HEADER,
    MAX_FILES_BYTES,
    Accepted,
    Done,
    Failed,
    FaultBody,
    MessageQuery,
    NewFile,
    NewMessage,
)
from fairlead.channels.http.call import Call, Service, job_url, request_id
from fairlead.channels.http.errors import json_reply, status_of
from fairlead.channels.http.sse import acknowledge_if_wanted, send_events, until_over
from fairlead.core import message_ids
from fairlead.core.inbound import Attachment, Inbound, clean_text
from fairlead.core.job_states import JobState
from fairlead.core.limits import Limits
from fairlead.core.message_outcomes import Refused
from fairlead.core.requests import Caller
from fairlead.errors import Code, error
from fairlead.kit.file_names import clean_media_type, clean_name
from fairlead.kit.tasks import run_to_end
from fairlead.ports import Blobs, Receipt

MAX_FILES: Final = Limits().max_attachments
_MAX_REFUSED: Final = 50
"""How many refusals one key may have; after that the client gets the last of them instead of a new try."""


async def post_message(call: Call) -> web.StreamResponse:
    body: NewMessage = call.body
    caller = call.caller(body.userId)  # refused, if the id is wrong, before a file of it is kept
    inbound = _build_inbound(call, caller, body, await _keep_files(call.service.blobs, body.files))
    receipt = await run_to_end(call.service.gate.submit(inbound))
    job = await call.service.view.job(receipt.job_id)
    if receipt.duplicate and job.body_digest != inbound.body_digest:
        raise error(Code.E_IDEMPOTENCY_MISMATCH, f"This {KEY_HEADER} already belongs to {receipt.job_id}.")
    accepted = _build_accepted(receipt, job.state, job.session_key)
    if body.stream or "text/event-stream" in call.http.headers.get("Accept", ""):
        return await send_events(call, accepted)
    if _wants_no_waiting(call):
        response = json_reply(accepted, status=202)
        response.headers["Location"] = job_url(receipt.job_id)
        return response
    return await _respond_when_over(call, receipt.job_id)


def _build_accepted(receipt: Receipt, state: JobState, session_key: str) -> Accepted:
    return Accepted(
        job_id=receipt.job_id,
        session_key=receipt.session_key or session_key,
        state=state,
        position=receipt.position,
        duplicate=receipt.duplicate,
        held=receipt.held,
    )


async def _keep_files(blobs: Blobs, files: tuple[NewFile, ...]) -> tuple[Attachment, ...]:
    """Durable before the message is: a message that was taken has its files."""
    if sum(len(file.data) for file in files) > MAX_FILES_BYTES:
        raise error(Code.E_MESSAGE_TOO_LARGE, f"The files are larger than {MAX_FILES_BYTES >> 20} MiB together.")
    if len(files) > MAX_FILES:
        raise error(Code.E_INVALID_ARGS, f"At most {MAX_FILES} files go with one message.")
    return tuple(
        [
            Attachment(
                name=clean_name(file.name),
                media_type=clean_media_type(file.media_type),
                size=len(file.data),
                blob=await blobs.put(file.data),
            )
            for file in files
        ]
    )


def _build_inbound(call: Call, caller: Caller, body: NewMessage, files: tuple[Attachment, ...]) -> Inbound:
    wanted = (caller.conversation.conversation_id, body.message, body.project, body.tool)
    wanted = wanted if body.steer is None else (*wanted, body.steer)
    contents = tuple((file.name, file.media_type, file.blob) for file in files)
    inbound = Inbound(
        conversation=caller.conversation,
        session_key=caller.session_key,
        message_id=request_id(call),
        person=caller.person,
        text=clean_text(body.message),
        pre_authorised=True,
        project=body.project or None,
        runtime=body.tool or None,
        attachments=files,
        steers=body.steer,
        body_digest=hashlib.sha256(msgspec.json.encode((*wanted, contents) if files else wanted)).hexdigest(),
    )
    return _skip_refused_ids(call.service, inbound)


def _skip_refused_ids(service: Service, inbound: Inbound) -> Inbound:
    """The same key after a refusal is a new try, under an id of its own: the first try made no job, and clients repeat
    a request after a 429."""
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
