"""Every path of the API, in one table: routes and the OpenAPI document are both made of it, so neither can lie."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from aiohttp import web

from fairlead.api import wire as w
from fairlead.channels.http import handlers as h
from fairlead.channels.http.call import Call
from fairlead.channels.http.messages import post_message
from fairlead.channels.http.metrics import CONTENT_TYPE, metrics_text
from fairlead.channels.http.sse import get_events
from fairlead.core import replies as r

Handler = Callable[[Call], Awaitable[Any]]


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """`reply` is what a success answers: a struct, or, with `media_type`, something that is no JSON."""

    method: str
    path: str
    handler: Handler
    summary: str
    body: type[msgspec.Struct] | None = None
    query: type[msgspec.Struct] | None = None
    reply: type[msgspec.Struct] | None = None
    media_type: str = "application/json"
    public: bool = False
    streams: bool = False

    @property
    def body_is_optional(self) -> bool:
        return self.body is w.OfAnyUser


async def get_metrics(call: Call) -> web.Response:
    return web.Response(body=metrics_text(call.service).encode(), headers={"Content-Type": CONTENT_TYPE})


def _get(path: str, handler: Handler, summary: str, **more: Any) -> Endpoint:
    return Endpoint(method="GET", path=path, handler=handler, summary=summary, **more)


def _post(path: str, handler: Handler, summary: str, **more: Any) -> Endpoint:
    return Endpoint(method="POST", path=path, handler=handler, summary=summary, **more)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    _post(
        "/v1/messages",
        post_message,
        "Say something to the agent of this person's session.",
        body=w.NewMessage,
        query=w.MessageQuery,
        reply=w.JobInfo,
        streams=True,
    ),
    _get("/v1/answers", h.get_answers, "Answers that wait to be fetched.", query=w.OfUser, reply=w.JobList),
    _get("/v1/jobs/{job_id}", h.get_job, "A job, its answer included.", reply=w.JobInfo),
    _get("/v1/jobs/{job_id}/events", get_events, "What happens in a job.", media_type="text/event-stream"),
    _get(
        "/v1/jobs/{job_id}/files/{number}",
        h.get_file,
        "A file of an answer.",
        media_type="application/octet-stream",
    ),
    _post("/v1/jobs/{job_id}/retry", h.post_retry, "Try a failed job again.", body=w.OfAnyUser, reply=r.JobQueued),
    _post("/v1/jobs/{job_id}/cancel", h.post_cancel_job, "Cancel one job.", body=w.OfAnyUser, reply=r.JobsCancelled),
    _post("/v1/jobs/{job_id}/ack", h.post_ack, "Say that an answer has arrived.", reply=w.Acknowledged),
    _get("/v1/sessions", h.get_sessions, "The sessions.", query=w.SessionsQuery, reply=r.SessionCatalogue),
    _get("/v1/sessions/{session}", h.get_session, "One session, by key or id.", reply=w.SessionInfo),
    _get("/v1/sessions/{session}/history", h.get_history, "Its jobs, oldest first, no texts.", reply=w.JobList),
    _get("/v1/status", h.get_status, "What this person's session is doing.", query=w.OfUser, reply=r.StatusReport),
    _post("/v1/tool", h.post_tool, "Change the session's tool.", body=w.ToolChoice, reply=r.ToolSet),
    _post("/v1/reset", h.post_reset, "Forget the talk, cancel its jobs.", body=w.OfUser, reply=r.SessionWasReset),
    _post("/v1/cancel", h.post_cancel, "Cancel what runs and waits.", body=w.OfUser, reply=r.JobsCancelled),
    _get("/v1/agent", h.get_agent, "The agent of this session.", query=w.OfUser, reply=r.AgentReport),
    _get("/v1/agent/usage", h.get_usage, "What the session used.", query=w.OfUser, reply=r.UsageReport),
    _post("/v1/agent/model", h.post_model, "Change its model.", body=w.ModelChoice, reply=r.ModelSet),
    _post("/v1/agent/mode", h.post_mode, "Change what it may do unasked.", body=w.ModeChoice, reply=r.ModeSet),
    _post("/v1/agent/stop", h.post_stop, "End its process, in order.", body=w.OfUser, reply=r.AgentStopped),
    _post("/v1/agent/kill", h.post_kill, "End its process, by force.", body=w.OfUser, reply=r.AgentStopped),
    _get("/v1/why", h.get_why, "What became of a job or message.", query=w.WhyQuery, reply=r.Story),
    _get("/v1/projects", h.get_projects, "The projects.", query=w.OfAnyUser, reply=r.ProjectCatalogue),
    _post("/v1/projects", h.post_project, "Make a project.", body=w.NewProject, reply=r.ProjectInfo),
    _post("/v1/projects/add", h.post_directory, "Register a directory.", body=w.NewDirectory, reply=r.ProjectInfo),
    _post("/v1/projects/switch", h.post_switch, "Work elsewhere.", body=w.ProjectChoice, reply=r.ProjectSelected),
    _get("/v1/projects/{project}", h.get_project, "How a project is doing.", reply=r.ProjectReport),
    _get("/v1/questions", h.get_questions, "Open questions of agents.", query=w.OfAnyUser, reply=w.QuestionList),
    _post("/v1/questions/{question_id}", h.post_answer, "Answer one.", body=w.QuestionAnswer, reply=w.Answered),
    _get("/v1/health", h.get_health, "Is it there? Needs no token.", reply=w.Health, public=True),
    _get("/v1/metrics", get_metrics, "Numbers for Prometheus.", media_type="text/plain"),
)
