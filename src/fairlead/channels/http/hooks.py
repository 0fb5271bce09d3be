"""Events for webhooks: from a request that nobody vouches for to a Delivery. The gate decides whether it is believed.

1. The body is bounded, and so is the number of bodies that are read at once: a sender is not known before its body is.
2. What is refused before the signature is checked (size, media type) is refused alike for every hook, known or not.
"""

import asyncio
import re
from typing import Final

from aiohttp import web

from fairlead.api.wire import EventTaken
from fairlead.channels.http.call import Call, job_url
from fairlead.channels.http.errors import HttpRefusal, json_reply
from fairlead.channels.http.event_limits import MAX_EVENT_BYTES
from fairlead.core.hook_deliveries import Delivery
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.tasks import run_to_end
from fairlead.ports import HookReceipt

EVENT_PATH: Final = re.compile(r"/v1/hooks/[^/]+")
_RETRY_AFTER: Final = {"Retry-After": "60"}


async def post_event(call: Call) -> web.Response:
    _check_headers(call.http)
    try:
        with call.service.events.one_more():
            body = await _read_body(call.http, call.service.events.seconds)
            receipt = await run_to_end(call.service.gate.take_event(_delivery_of(call, body)))
    except FairleadError as refused:
        if refused.code in {Code.E_TOO_MANY_EVENTS, Code.E_QUEUE_FULL}:
            raise HttpRefusal(429, refused, _RETRY_AFTER) from refused
        raise
    return _reply_of(receipt)


def _reply_of(receipt: HookReceipt) -> web.Response:
    """202 says that there is a job, and that it is durable; 200, that the hook leaves such events alone."""
    taken = EventTaken(receipt.job_id, duplicate=receipt.duplicate, reason=receipt.reason)
    if not receipt.job_id:
        return json_reply(taken)
    response = json_reply(taken, status=202)
    response.headers["Location"] = job_url(receipt.job_id)
    return response


def _check_headers(http: web.Request) -> None:
    if http.content_type != "application/json" or http.headers.get("Content-Encoding", "identity") != "identity":
        sentence = f"The body must be application/json and not compressed, not {http.content_type[:80]!r}."
        next_step = "In GitHub's settings of the webhook, choose the content type application/json."
        raise HttpRefusal(415, error(Code.E_INVALID_ARGS, sentence, next_step=next_step))
    if (http.content_length or 0) > MAX_EVENT_BYTES:
        raise _build_too_large()


async def _read_body(http: web.Request, seconds: float) -> bytes:
    try:
        async with asyncio.timeout(seconds):
            return await http.clone(client_max_size=MAX_EVENT_BYTES).read()
    except web.HTTPRequestEntityTooLarge:
        raise _build_too_large() from None
    except TimeoutError:
        sentence = f"The body was not received completely within {seconds:g} s (timed out)."
        raise HttpRefusal(408, error(Code.E_INVALID_ARGS, sentence), {"Connection": "close"}) from None


def _build_too_large() -> FairleadError:
    return error(Code.E_MESSAGE_TOO_LARGE, f"An event has at most {MAX_EVENT_BYTES >> 20} MiB.")


def _delivery_of(call: Call, body: bytes) -> Delivery:
    """GitHub's headers, or ours: the hook's own form says which of them count."""
    headers = call.http.headers
    if "X-Hub-Signature-256" in headers:
        signature, number = headers["X-Hub-Signature-256"], headers.get("X-GitHub-Delivery", "")
    else:
        signature, number = headers.get("X-Fairlead-Signature", ""), headers.get("X-Fairlead-Delivery", "")
    return Delivery(
        hook=call.part("name"),
        body=body,
        signature=signature,
        event=headers.get("X-GitHub-Event", ""),
        number=number,
        stamp=headers.get("X-Fairlead-Timestamp", ""),
    )
