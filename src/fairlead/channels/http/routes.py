"""Every path of the API: a table of fixed ones, and those of the catalogue of commands. The server's routes and
the OpenAPI document are both made of them, so they cannot disagree."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from aiohttp import web

from fairlead.api import wire as w
from fairlead.api.routes import sent_struct_type
from fairlead.channels.http import handlers as h
from fairlead.channels.http.call import Call
from fairlead.channels.http.commands import choices_handler, command_handler
from fairlead.channels.http.hooks import post_event
from fairlead.channels.http.login_handlers import get_console_logins, post_console_link, post_end_console_login
from fairlead.channels.http.messages import post_message
from fairlead.channels.http.metrics import CONTENT_TYPE, metrics_text
from fairlead.channels.http.session_stream import get_session_events
from fairlead.channels.http.sse import get_events
from fairlead.core.command_spec import ApiRoute, CommandCatalogue, CommandSpec
from fairlead.render.words import say

Handler = Callable[[Call], Awaitable[Any]]


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """`reply` is the struct that a success returns, or, with `media_type`, a body that is not JSON."""

    method: str
    path: str
    handler: Handler
    summary: str
    body: type[msgspec.Struct] | None = None
    query: type[msgspec.Struct] | None = None
    reply: type[msgspec.Struct] | None = None
    media_type: str = "application/json"
    public: bool = False
    signed: bool = False
    streams: bool = False
    takes_files: bool = False
    operation: str = ""

    @property
    def body_is_optional(self) -> bool:
        return self.body is not None and not any(f.required for f in msgspec.structs.fields(self.body))

    @property
    def operation_id(self) -> str:
        return self.operation or self.handler.__name__


async def get_metrics(call: Call) -> web.Response:
    return web.Response(body=metrics_text(call.service).encode(), headers={"Content-Type": CONTENT_TYPE})


def _get(path: str, handler: Handler, summary: str, **more: Any) -> Endpoint:
    return Endpoint(method="GET", path=path, handler=handler, summary=summary, **more)


def _post(path: str, handler: Handler, summary: str, **more: Any) -> Endpoint:
    return Endpoint(method="POST", path=path, handler=handler, summary=summary, **more)


_FIXED: Final[tuple[Endpoint, ...]] = (
    _post(
        "/v1/messages",
        post_message,
        "Send a message to the agent of this person's session.",
        body=w.NewMessage,
        query=w.MessageQuery,
        reply=w.JobInfo,
        streams=True,
        takes_files=True,
    ),
    _get("/v1/answers", h.get_answers, "Answers that wait to be fetched.", query=w.AnswersQuery, reply=w.AnswerPage),
    _get("/v1/sent", h.get_sent, "What agents sent by themselves, to be fetched.", query=w.OfUser, reply=w.SentList),
    _get(
        "/v1/sent/{sent_id}/files/{number}",
        h.get_sent_file,
        "A file that an agent sent, until it is acknowledged.",
        media_type="application/octet-stream",
    ),
    _post("/v1/sent/{sent_id}/ack", h.post_sent_ack, "Acknowledge what an agent sent.", reply=w.Acknowledged),
    _get("/v1/jobs/{job_id}", h.get_job, "A job, its answer included.", reply=w.JobInfo),
    _get("/v1/jobs/{job_id}/events", get_events, "What happens in a job.", media_type="text/event-stream"),
    _get(
        "/v1/events",
        get_session_events,
        "What happens in a person's session from now on: jobs that move, and questions.",
        query=w.OfUser,
        media_type="text/event-stream",
    ),
    _get(
        "/v1/jobs/{job_id}/files/{number}",
        h.get_file,
        "A file of an answer.",
        media_type="application/octet-stream",
    ),
    _post("/v1/jobs/{job_id}/ack", h.post_ack, "Acknowledge that an answer has arrived.", reply=w.Acknowledged),
    _get("/v1/sessions/{session}", h.get_session, "One session, by key or id.", reply=w.SessionInfo),
    _get(
        "/v1/sessions/{session}/history",
        h.get_history,
        "Its recent jobs, without their texts.",
        query=w.HistoryQuery,
        reply=w.JobList,
    ),
    _get("/v1/questions", h.get_questions, "Open questions of agents.", query=w.OfAnyUser, reply=w.QuestionList),
    _post(
        "/v1/questions/{question_id}",
        h.post_response,
        "Answer one.",
        body=w.QuestionAnswer,
        reply=w.Answered,
        operation="post_answer",  # published under this name
    ),
    _post(
        "/v1/hooks/{name}",
        post_event,
        "Send an event to a webhook. Needs its signature and no token.",
        reply=w.EventTaken,
        signed=True,
    ),
    _post(
        "/v1/console/links",
        post_console_link,
        "Make a one-time link that logs a browser in to the console.",
        body=w.NewConsoleLink,
        reply=w.ConsoleLink,
    ),
    _get(
        "/v1/console/logins",
        get_console_logins,
        "Browsers that are logged in to the console.",
        reply=w.ConsoleLoginList,
    ),
    _post(
        "/v1/console/logins/{number}/end",
        post_end_console_login,
        "End one of these logins.",
        reply=w.ConsoleLoginEnded,
    ),
    _get("/", h.get_front_page, "A page for people who open this address.", media_type="text/html", public=True),
    _get("/v1/health", h.get_health, "Whether Fairlead is running. Needs no token.", reply=w.Health, public=True),
    _get("/v1/metrics", get_metrics, "Metrics for Prometheus.", media_type="text/plain"),
)


PUBLIC_PATHS: Final = frozenset(endpoint.path for endpoint in _FIXED if endpoint.public)


def endpoints(catalogue: CommandCatalogue) -> tuple[Endpoint, ...]:
    return (
        *_FIXED,
        *(_command_endpoint(spec, route) for spec in catalogue.specs for route in spec.routes),
        _get(
            "/v1/files",
            h.get_files,
            "Completions for a partly typed path below a project's directory; another machine is asked.",
            query=w.FilesQuery,
            reply=w.ChoiceList,
        ),
        _get(
            "/v1/choices",
            choices_handler(catalogue),
            "Completions for a partly typed argument of a command.",
            query=w.ChoicesQuery,
            reply=w.ChoiceList,
        ),
    )


def _command_endpoint(spec: CommandSpec, route: ApiRoute) -> Endpoint:
    sent = sent_struct_type(spec, route)
    return Endpoint(
        method=route.method,
        path=route.path,
        handler=command_handler(spec, route),
        summary=route.summary or f"{say('en', f'command.{spec.key}')}.",
        body=sent if route.method == "POST" else None,
        query=sent if route.method == "GET" else None,
        reply=spec.reply,
        operation=route.operation_id,
    )
