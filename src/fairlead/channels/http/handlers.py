"""Everything that is asked over HTTP besides messages and streams: parse, ask Gate or View, give the struct back."""

import re
from typing import Final

import msgspec
from aiohttp import web

from fairlead import __version__
from fairlead.api.wire import (
    Acknowledged,
    Answered,
    Health,
    JobInfo,
    JobList,
    ModeChoice,
    ModelChoice,
    NewDirectory,
    NewProject,
    OfAnyUser,
    OfUser,
    ProjectChoice,
    QuestionAnswer,
    QuestionList,
    SessionInfo,
    SessionsQuery,
    ToolChoice,
    WhyQuery,
    question_info,
)
from fairlead.channels.http.call import Call, job_info
from fairlead.core import replies, requests
from fairlead.core.ids import JobId, SessionKeyText
from fairlead.errors import Code, error
from fairlead.kit.tasks import shielded
from fairlead.ports import Click

_MEDIA_TYPE: Final = re.compile(r"[a-z]+/[a-z0-9][a-z0-9.+-]{0,60}")

# --- sessions and jobs -------------------------------------------------------------------------------------------


async def get_sessions(call: Call) -> replies.SessionCatalogue:
    query: SessionsQuery = call.query
    return await call.service.command(requests.SessionList(query.project), call.caller(None), replies.SessionCatalogue)


async def _found(call: Call) -> replies.SessionRow:
    request = requests.SessionOpen(call.part("session"))
    return (await call.service.command(request, call.caller(None), replies.SessionFound)).session


async def get_session(call: Call) -> SessionInfo:
    row = await _found(call)
    session = call.service.view.state.sessions[SessionKeyText(row.session_key)]
    return SessionInfo(row, session.tool, tuple(session.queue), session.running_job_id)


async def get_history(call: Call) -> JobList:
    history = call.service.view.history((await _found(call)).session_key)
    return JobList(tuple(map(job_info, history)))


async def get_job(call: Call) -> JobInfo:
    return job_info(await call.service.job(call.part("job_id")))


async def get_file(call: Call) -> web.StreamResponse:
    """Only what an answer names can be fetched: the number counts its files."""
    job = await call.service.job(call.part("job_id"))
    named = {str(number): file for number, file in enumerate(job.files)}
    file = named.get(call.part("number"))
    if file is None:
        sentence = f"The answer of {job.job_id} has {len(named)} files; {call.part('number')[:20]} is none."
        raise error(Code.E_JOB_NOT_FOUND, sentence)
    data = await call.service.blobs.get(file.blob)
    headers = {
        # Made by an agent, so never to be run as a page of this origin.
        "Content-Disposition": "attachment",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox",
        "Cache-Control": "no-store",
    }
    return web.Response(body=data, content_type=_plain_type(file.media_type), headers=headers)


def _plain_type(media_type: str) -> str:
    """An agent's word for what it made goes into a header only if it is nothing but a media type."""
    return media_type if _MEDIA_TYPE.fullmatch(media_type) else "application/octet-stream"


async def post_retry(call: Call) -> replies.JobQueued:
    body: OfAnyUser = call.body
    job_id = call.part("job_id")
    return await call.service.command(requests.Retry(job_id), call.caller(body.userId), replies.JobQueued)


async def post_cancel_job(call: Call) -> replies.JobsCancelled:
    body: OfAnyUser = call.body
    caller = call.caller(body.userId)
    job_id = (await call.service.job(call.part("job_id"))).job_id
    live = call.service.view.state.jobs.get(JobId(job_id))
    session = None if live is None else call.service.view.state.sessions.get(live.session_key)
    if live is None or session is None:
        raise error(Code.E_NOTHING_TO_CANCEL, f"{job_id} is over.")
    # A job is cancelled where it lives, whoever holds the token.
    there = msgspec.structs.replace(caller, conversation=live.conversation, session_key=session.key)
    return await call.service.command(requests.Cancel(job_id), there, replies.JobsCancelled)


async def post_ack(call: Call) -> Acknowledged:
    job = await call.service.job(call.part("job_id"))
    await call.service.acknowledge(job.job_id)
    return Acknowledged(job.job_id)


async def get_answers(call: Call) -> JobList:
    query: OfUser = call.query
    waiting = call.service.view.unfetched(call.caller(query.userId).conversation)
    return JobList(tuple([job_info(await call.service.job(job_id)) for job_id in waiting]))


# --- commands ------------------------------------------------------------------------------------------------------


async def get_status(call: Call) -> replies.StatusReport:
    query: OfUser = call.query
    return await call.service.command(requests.Status(), call.caller(query.userId), replies.StatusReport)


async def post_tool(call: Call) -> replies.ToolSet:
    body: ToolChoice = call.body
    return await call.service.command(requests.Tool(body.tool), call.caller(body.userId), replies.ToolSet)


async def post_reset(call: Call) -> replies.SessionWasReset:
    body: OfUser = call.body
    return await call.service.command(requests.Reset(), call.caller(body.userId), replies.SessionWasReset)


async def post_cancel(call: Call) -> replies.JobsCancelled:
    body: OfUser = call.body
    return await call.service.command(requests.Cancel(), call.caller(body.userId), replies.JobsCancelled)


async def get_why(call: Call) -> replies.Story:
    query: WhyQuery = call.query
    return await call.service.command(requests.Why(query.subject), call.caller(None), replies.Story)


# --- the agent of a session ------------------------------------------------------------------------------------------


async def get_agent(call: Call) -> replies.AgentReport:
    query: OfUser = call.query
    return await call.service.command(requests.AgentStatus(), call.caller(query.userId), replies.AgentReport)


async def get_usage(call: Call) -> replies.UsageReport:
    query: OfUser = call.query
    return await call.service.command(requests.AgentUsage(), call.caller(query.userId), replies.UsageReport)


async def post_model(call: Call) -> replies.ModelSet:
    body: ModelChoice = call.body
    return await call.service.command(requests.AgentModel(body.model), call.caller(body.userId), replies.ModelSet)


async def post_mode(call: Call) -> replies.ModeSet:
    body: ModeChoice = call.body
    return await call.service.command(requests.AgentMode(body.mode), call.caller(body.userId), replies.ModeSet)


async def post_stop(call: Call) -> replies.AgentStopped:
    body: OfUser = call.body
    return await call.service.command(requests.AgentStop(), call.caller(body.userId), replies.AgentStopped)


async def post_kill(call: Call) -> replies.AgentStopped:
    body: OfUser = call.body
    return await call.service.command(requests.AgentStop(kill=True), call.caller(body.userId), replies.AgentStopped)


# --- projects ------------------------------------------------------------------------------------------------------


async def get_projects(call: Call) -> replies.ProjectCatalogue:
    query: OfAnyUser = call.query
    return await call.service.command(requests.ProjectList(), call.caller(query.userId), replies.ProjectCatalogue)


async def get_project(call: Call) -> replies.ProjectReport:
    request = requests.ProjectStatus(call.part("project"))
    return await call.service.command(request, call.caller(None), replies.ProjectReport)


async def post_project(call: Call) -> replies.ProjectInfo:
    body: NewProject = call.body
    args = msgspec.json.encode(body.args).decode() if body.args else ""
    request = requests.ProjectCreate(body.name, body.path, ",".join(body.tools), body.default_tool, args)
    return await call.service.command(request, call.caller(None), replies.ProjectInfo)


async def post_directory(call: Call) -> replies.ProjectInfo:
    body: NewDirectory = call.body
    return await call.service.command(requests.ProjectAdd(body.path), call.caller(None), replies.ProjectInfo)


async def post_switch(call: Call) -> replies.ProjectSelected:
    body: ProjectChoice = call.body
    request = requests.ProjectSwitch(body.project)
    return await call.service.command(request, call.caller(body.userId), replies.ProjectSelected)


# --- questions -----------------------------------------------------------------------------------------------------


async def get_questions(call: Call) -> QuestionList:
    query: OfAnyUser = call.query
    key = "" if query.userId is None else str(call.caller(query.userId).session_key)
    wanted = (q for q in call.service.view.state.open_questions() if not key or q.session_key == key)
    return QuestionList(tuple(map(question_info, wanted)))


async def post_answer(call: Call) -> Answered:
    body: QuestionAnswer = call.body
    click = Click(
        question_id=call.part("question_id"),
        person=call.caller(body.userId).person,
        verdict=body.verdict,
        chosen=body.chosen,
        message=body.message,
        for_session=body.for_session,
        pre_authorised=True,
    )
    return Answered(await shielded(call.service.gate.click(click)))


# --- the daemon ----------------------------------------------------------------------------------------------------


async def get_health(call: Call) -> Health:
    return Health("disk_full" if call.service.vitals.is_stalled else "ok", __version__)
