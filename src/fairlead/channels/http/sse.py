"""Following a job to its end: as server-sent events, or by just waiting. A client that hangs up cancels nothing."""

from typing import Final

import msgspec
from aiohttp import web

from fairlead.api.wire import ACK_HEADER, MANUAL, Accepted, Done, Failed
from fairlead.channels.http.call import Call, Service, job_info
from fairlead.channels.http.errors import fault_of
from fairlead.channels.http.job_stream import HEARTBEAT, JobStream, frame_of
from fairlead.errors import Code, error

EVENT_STREAM_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}

_RETRY: Final = b"retry: 2000\n\n"
"""How many milliseconds a client waits before it connects again after its stream broke off."""


async def get_events(call: Call) -> web.StreamResponse:
    job = await call.service.view.job(call.part("job_id"))
    if call.http.method == "HEAD":
        return web.Response(
            headers=EVENT_STREAM_HEADERS
        )  # nothing is read, so nothing may be waited for or acknowledged
    return await send_events(call, Accepted(job.job_id, job.session_key, job.state))


async def send_events(call: Call, accepted: Accepted) -> web.StreamResponse:
    """`accepted` says what a client begins with: the frames that follow it tell what happened since."""
    stream = call.service.streams.follow(accepted.job_id)
    if not stream.is_over:
        accepted = msgspec.structs.replace(accepted, state=stream.first_state)
    response = web.StreamResponse(headers=EVENT_STREAM_HEADERS)
    await response.prepare(call.http)
    await response.write(_RETRY)
    number = stream.number_after(call.http.headers.get("Last-Event-ID", ""))
    try:
        if number is None:
            await response.write(frame_of(accepted, stream.first_id).as_bytes())
        await _send_frames(response, stream, number or 0)
        if not call.service.streams.closed:
            await _send_end(call, response, stream)
    except ConnectionError:
        pass  # the client is gone; its job goes on, and the answer waits to be fetched
    return response


async def _send_frames(response: web.StreamResponse, stream: JobStream, number: int) -> None:
    async for frame in stream.frames(number):
        await response.write(b": still here\n\n" if frame is HEARTBEAT else frame.as_bytes())


async def _send_end(call: Call, response: web.StreamResponse, stream: JobStream) -> None:
    end = await _end_of(call.service, stream.job_id)
    await response.write(frame_of(end, stream.end_id).as_bytes())
    await response.write_eof()
    await acknowledge_if_wanted(call, stream.job_id)


async def until_over(service: Service, job_id: str) -> Done | Failed:
    """Raises E_SHUTDOWN if the server closes first: the job is written and goes on without it."""
    stream = service.streams.follow(job_id)
    async for _ in stream.frames(0):
        pass
    if service.streams.closed:
        raise error(
            Code.E_SHUTDOWN,
            f"Fairlead is shutting down; {job_id} is saved and not lost.",
            next_step=f"Ask for /v1/jobs/{job_id} after the next start.",
        )
    return await _end_of(service, job_id)


async def _end_of(service: Service, job_id: str) -> Done | Failed:
    await service.vitals.until_durable(service.view.seq)  # nobody hears of an end that a crash could undo
    job = job_info(await service.view.job(job_id))
    if job.state == "unknown_after_crash" and job.error is None:
        return Failed(fault_of(error(Code.E_UNKNOWN_AFTER_CRASH)), job)
    return Done(job) if job.error is None else Failed(job.error, job)


async def acknowledge_if_wanted(call: Call, job_id: str) -> None:
    """A reply that was written whole counts as fetched, unless the client says that it will confirm by itself."""
    if call.http.headers.get(ACK_HEADER, "") == MANUAL:
        return
    transport = call.http.transport
    if transport is not None and not transport.is_closing():
        await call.service.acknowledge(job_id)
