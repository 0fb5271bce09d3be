"""What happens in a person's session, from now on: each job that moves, and each question. For clients that want to
hear of what they did not ask for themselves. Nothing is kept for a client that was away: it looks at /v1/answers."""

import asyncio
from contextlib import aclosing
from typing import Final

from aiohttp import web

from fairlead.api.wire import OfUser
from fairlead.channels.http.call import Call
from fairlead.channels.http.job_stream import HEARTBEAT_SEC, frame_of, stream_event_of
from fairlead.channels.http.sse import EVENT_STREAM_HEADERS
from fairlead.core.live import AgentActed, LiveEvent
from fairlead.ports import Watching

_LOOK_SEC: Final = 0.5
"""How often a stream without events looks whether the server is closing."""


async def get_session_events(call: Call) -> web.StreamResponse:
    query: OfUser = call.query
    caller = call.caller(query.userId)
    bound = call.service.view.conversation(caller.conversation)
    key = caller.session_key.text if bound is None else bound.session_key
    response = web.StreamResponse(headers=EVENT_STREAM_HEADERS)
    async with aclosing(call.service.view.watch(session_key=key)) as watching:
        await response.prepare(call.http)
        try:
            await response.write(b": listening\n\n")
            await _send_events(call, response, watching)
        except ConnectionError:
            pass  # the client is gone
    return response


async def _send_events(call: Call, response: web.StreamResponse, watching: Watching) -> None:
    loop = asyncio.get_running_loop()
    events = aiter(watching)
    silent_since = loop.time()
    while not call.service.streams.closed:
        try:
            async with asyncio.timeout(_LOOK_SEC):
                data = _frame_bytes(await anext(events))
        except TimeoutError:
            data = b": still here\n\n" if loop.time() - silent_since >= HEARTBEAT_SEC else b""
        if data:
            silent_since = loop.time()
            await response.write(data)


def _frame_bytes(event: LiveEvent) -> bytes:
    """Empty for what only the stream of the job itself tells: the words and tools of the agent."""
    shown = None if isinstance(event, AgentActed) else stream_event_of(event)
    return b"" if shown is None else frame_of(shown, "").as_bytes()
