"""The handlers besides those of messages, streams and commands: parse, ask Gate or View, return the struct."""

import re
from typing import Final

from aiohttp import web

from fairlead import __version__
from fairlead.api.wire import (
    Acknowledged,
    Answered,
    AnswerPage,
    AnswersQuery,
    ChoiceList,
    FilesQuery,
    Health,
    HealthStatus,
    HistoryQuery,
    JobInfo,
    JobList,
    OfAnyUser,
    OfUser,
    QuestionAnswer,
    QuestionList,
    SentList,
    SessionInfo,
    question_info,
)
from fairlead.channels.http.call import Call, job_info
from fairlead.channels.http.job_stream import sent_info
from fairlead.core import replies, requests
from fairlead.core.command_spec import Choice
from fairlead.core.events import FileRef
from fairlead.core.ids import QuestionId
from fairlead.core.pages import build_cursor_error, cut_page
from fairlead.core.questions import RespondToQuestion
from fairlead.core.views import SentView
from fairlead.errors import Code, error
from fairlead.kit.tasks import run_to_end
from fairlead.ports import Blobs, Durability
from fairlead.render.front_page import CONTENT_SECURITY_POLICY, build_front_page, pick_page_language

_PAGE_CHARS: Final = 2 * 1024 * 1024
"""A page of answers ends behind the one that makes it longer than this."""
_MOST_DIGITS: Final = 18
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
    query: HistoryQuery = call.query
    history = call.service.view.history((await _find_session(call)).session_key)
    history.sort(key=lambda job: _job_number(job.job_id), reverse=query.order == "newest_first")
    if query.after:
        behind = _job_number(query.after)
        history = [job for job in history if (_job_number(job.job_id) > behind) == (query.order == "oldest_first")]
        history = [job for job in history if _job_number(job.job_id) != behind]
    page, following = cut_page(history, query.limit, lambda job: job.job_id)
    return JobList(tuple(map(job_info, page)), following)


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
    return await send_file(call.service.blobs, file)


async def send_file(blobs: Blobs, file: FileRef) -> web.Response:
    data = await blobs.get(file.blob)
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


async def get_sent(call: Call) -> SentList:
    query: OfUser = call.query
    waiting = call.service.view.unfetched_messages(call.caller(query.userId).conversation)
    return SentList(tuple(map(sent_info, waiting)))


async def get_sent_file(call: Call) -> web.StreamResponse:
    """Only while the message waits to be acknowledged."""
    sent = _find_sent(call)
    named = {str(number): file for number, file in enumerate(sent.files)}
    file = named.get(call.part("number"))
    if file is None:
        raise error(Code.E_JOB_NOT_FOUND, f"{sent.sent_id} has {len(named)} files; {call.part('number')[:20]} is none.")
    return await send_file(call.service.blobs, file)


async def post_sent_ack(call: Call) -> Acknowledged:
    sent = _find_sent(call)
    await run_to_end(call.service.gate.acknowledge_message(sent.sent_id))
    return Acknowledged(sent.job_id)


def _find_sent(call: Call) -> SentView:
    sent = call.service.view.unfetched_message(call.part("sent_id"))
    if sent is None:
        sentence = f"{call.part('sent_id')[:60]} does not wait to be fetched: it was acknowledged, or never sent."
        raise error(Code.E_JOB_NOT_FOUND, sentence)
    return sent


async def get_answers(call: Call) -> AnswerPage:
    """One page: a client that was away for long gets what waits in pieces, each within its own time limit."""
    query: AnswersQuery = call.query
    after = _job_number(query.after) if query.after else 0
    waiting = sorted(call.service.view.unfetched_jobs(call.caller(query.userId).conversation), key=_job_number)
    ahead = [job_id for job_id in waiting if _job_number(job_id) > after]
    jobs: list[JobInfo] = []
    size = 0
    for job_id in ahead[: query.limit]:
        jobs.append(job_info(await call.service.job(job_id)))
        size += len(jobs[-1].answer)
        if size >= _PAGE_CHARS:
            break
    is_last = len(jobs) == len(ahead)
    return AnswerPage(tuple(jobs), "" if is_last else jobs[-1].job_id)


def _job_number(job_id: str) -> int:
    """Jobs are numbered in the order in which they came; the day in their ids is for people."""
    number = job_id.rpartition("_")[2]
    if not number.isdecimal() or len(number) > _MOST_DIGITS:
        raise build_cursor_error(job_id)
    return int(number)


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
        always=body.always,
        pre_authorised=True,
        via=call.way_in(body.userId),
    )
    return Answered(await run_to_end(call.service.gate.respond(response)))


# --- the daemon ----------------------------------------------------------------------------------------------------


async def get_files(call: Call) -> ChoiceList:
    query: FilesQuery = call.query
    return ChoiceList(tuple(map(Choice, await call.service.view.files_below(query.directory, query.typed))))


async def get_health(call: Call) -> Health:
    vitals = call.service.vitals
    return Health(_find_status(vitals), __version__, vitals.damage)


def _find_status(vitals: Durability) -> HealthStatus:
    return "disk_full" if vitals.is_stalled else "journal_damaged" if vitals.damage else "ok"


async def get_front_page(call: Call) -> web.Response:
    """For a browser. Everybody may see it, so it says whether Fairlead is well and not what is wrong."""
    headers = call.http.headers
    scheme = "https" if call.service.proxies.is_encrypted(call.http) else "http"
    text = build_front_page(
        _find_status(call.service.vitals),
        __version__,
        origin=f"{scheme}://{headers.get('Host', '')}",
        lang=pick_page_language(headers.get("Accept-Language", ""), call.service.view.language_of("")),
    )
    return web.Response(
        body=text.encode(),
        headers={
            "Content-Type": "text/html; charset=utf-8",
            "Content-Security-Policy": CONTENT_SECURITY_POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
            "Vary": "Accept-Language",
        },
    )
