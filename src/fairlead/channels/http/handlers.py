"""The handlers besides those of messages, streams and commands: parse, ask Gate or View, return the struct."""

import re
from typing import Final

from aiohttp import web

from fairlead import __version__
from fairlead.api.wire import (
    Acknowledged,
    Answered,
    Health,
    JobInfo,
    JobList,
    OfAnyUser,
    OfUser,
    QuestionAnswer,
    QuestionList,
    SessionInfo,
    question_info,
)
from fairlead.channels.http.call import Call, job_info
from fairlead.core import replies, requests
from fairlead.core.ids import QuestionId
from fairlead.core.questions import RespondToQuestion
from fairlead.errors import Code, error
from fairlead.kit.tasks import run_to_end

_MEDIA_TYPE: Final = re.compile(r"[a-z]+/[a-z0-9][a-z0-9.+-]{0,60}")

# --- sessions and jobs -------------------------------------------------------------------------------------------


async def _find_session(call: Call) -> replies.SessionRow:
    request = requests.SessionOpen(call.part("session"))
    return (await call.service.command(request, call.caller(None), replies.SessionFound)).session


async def get_session(call: Call) -> SessionInfo:
    row = await _find_session(call)
    session = call.service.view.session(row.session_key)
    assert session is not None, "the command has just found it"
    return SessionInfo(row, session.runtime, session.queue, session.running_job_id)


async def get_history(call: Call) -> JobList:
    history = call.service.view.history((await _find_session(call)).session_key)
    return JobList(tuple(map(job_info, history)))


async def get_job(call: Call) -> JobInfo:
    return job_info(await call.service.job(call.part("job_id")))


async def get_file(call: Call) -> web.StreamResponse:
    """Only a file that an answer names can be fetched; the number in the path counts the files of the answer."""
    job = await call.service.job(call.part("job_id"))
    named = {str(number): file for number, file in enumerate(job.files)}
    file = named.get(call.part("number"))
    if file is None:
        sentence = f"The answer of {job.job_id} has {len(named)} files; {call.part('number')[:20]} is none."
        raise error(Code.E_JOB_NOT_FOUND, sentence)
    data = await call.service.blobs.get(file.blob)
    headers = {
        # An agent made the file, so a browser must not run it as a page of this origin.
        "Content-Disposition": "attachment",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox",
        "Cache-Control": "no-store",
    }
    return web.Response(body=data, content_type=_plain_type(file.media_type), headers=headers)


def _plain_type(media_type: str) -> str:
    """The media type that an agent claims goes into a header only if it has the form of a media type."""
    return media_type if _MEDIA_TYPE.fullmatch(media_type) else "application/octet-stream"


async def post_ack(call: Call) -> Acknowledged:
    job = await call.service.job(call.part("job_id"))
    await call.service.acknowledge(job.job_id)
    return Acknowledged(job.job_id)


async def get_answers(call: Call) -> JobList:
    query: OfUser = call.query
    waiting = call.service.view.unfetched_jobs(call.caller(query.userId).conversation)
    return JobList(tuple([job_info(await call.service.job(job_id)) for job_id in waiting]))


# --- questions -----------------------------------------------------------------------------------------------------


async def get_questions(call: Call) -> QuestionList:
    query: OfAnyUser = call.query
    key = None if query.userId is None else str(call.caller(query.userId).session_key)
    return QuestionList(tuple(map(question_info, call.service.view.open_questions(session_key=key))))


async def post_response(call: Call) -> Answered:
    body: QuestionAnswer = call.body
    response = RespondToQuestion(
        question_id=QuestionId(call.part("question_id")),
        person=call.caller(body.userId).person,
        verdict=body.verdict,
        chosen=body.chosen,
        message=body.message,
        for_session=body.for_session,
        pre_authorised=True,
    )
    return Answered(await run_to_end(call.service.gate.respond(response)))


# --- the daemon ----------------------------------------------------------------------------------------------------


async def get_health(call: Call) -> Health:
    return Health("disk_full" if call.service.vitals.is_stalled else "ok", __version__)
