"""What can be done with one job: cancel it, try it again, undo it, read its answer as a file, fetch its files."""

import uuid

from aiohttp import web

from fairlead.channels.http.console.visit import Visit
from fairlead.channels.http.handlers import send_file
from fairlead.core import replies as r
from fairlead.core import requests
from fairlead.core.trees import UndoneParts
from fairlead.core.views import JobView
from fairlead.errors import Code, error
from fairlead.render.console.parts import job_path, session_path

_INLINE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
TEXT_HEADERS = {
    "Content-Type": "text/plain; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox",
    "Cache-Control": "no-store",
}


async def _find_job(visit: Visit) -> JobView:
    """Raises E_JOB_NOT_FOUND, also for a job that the visitor may not see."""
    job = await visit.service.job(visit.parts["job_id"])
    if not visit.sees(job.session_key):
        raise error(Code.E_JOB_NOT_FOUND, f"There is no job {visit.parts['job_id'][:60]!r}.")
    return job


async def change_job(visit: Visit) -> str:
    job = await _find_job(visit)
    session = visit.view.session(job.session_key)
    if session is None:
        raise error(Code.E_JOB_NOT_FOUND, f"The session of {job.job_id} is gone.")
    caller = visit.caller_in(session)
    match visit.parts["action"]:
        case "cancel":
            await visit.command(requests.Cancel(job.job_id), r.JobsCancelled, caller)
        case "retry":
            await visit.command(requests.Retry(job.job_id), r.JobQueued, caller)
        case "steer":
            await visit.command(requests.SteerTurn(asked_by=uuid.uuid4().hex, job_id=job.job_id), r.TurnSteered, caller)
        case "undo":
            await visit.command(requests.Undo(job.job_id, what=_read_what(visit)), r.TurnsUndone, caller)
            return job_path(job.job_id, "changes")
        case "redo":
            await visit.command(requests.Redo(), r.TurnsUndone, caller)
            return job_path(job.job_id, "changes")
        case other:
            raise error(Code.E_INVALID_ARGS, f"There is no action {other[:40]!r} for a job.")
    return session_path(session.session_id)


def _read_what(visit: Visit) -> UndoneParts:
    match visit.text("what"):
        case "files" | "talk" as what:
            return what
        case _:
            return "both"


async def get_answer(visit: Visit) -> web.StreamResponse:
    """The whole answer as plain text."""
    job = await _find_job(visit)
    return web.Response(body=job.answer.encode(), headers=TEXT_HEADERS)


async def get_file(visit: Visit) -> web.StreamResponse:
    """A file of the answer. Only pictures of known kinds are shown by the browser; all others are saved."""
    job = await _find_job(visit)
    named = {str(number): file for number, file in enumerate(job.files)}
    file = named.get(visit.parts["number"])
    if file is None:
        raise error(Code.E_JOB_NOT_FOUND, f"The answer of {job.job_id} has {len(named)} files.")
    response = await send_file(visit.service.blobs, file)
    if file.media_type in _INLINE:
        response.headers["Content-Disposition"] = "inline"
    return response
