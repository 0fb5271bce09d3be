"""Commands as calls of the API: every one that is served, and where its arguments go."""

import msgspec
import pytest

from fairlead.api.routes import ApiCall, call_for
from fairlead.core import replies, requests
from fairlead.core.commands import COMMANDS
from fairlead.errors import Code, FairleadError

pytestmark = pytest.mark.req("C5")

USER = {"userId": "alice"}


@pytest.mark.parametrize(
    ("request_", "line", "query", "body"),
    [
        (requests.Status(), "GET /v1/status", USER, None),
        (requests.Tool("echo"), "POST /v1/tool", {}, {**USER, "tool": "echo"}),
        (requests.Retry("job/1"), "POST /v1/jobs/job%2F1/retry", {}, USER),
        (requests.Cancel(), "POST /v1/cancel", {}, USER),
        (requests.Cancel("job_1"), "POST /v1/jobs/job_1/cancel", {}, USER),
        (requests.Why("job_1"), "GET /v1/why", {"userId": "alice", "subject": "job_1"}, None),
        (requests.Why(), "GET /v1/why", {"userId": "alice"}, None),
        (requests.Retry(), "POST /v1/retry", {}, {"userId": "alice"}),
        (requests.LatestJobs(), "GET /v1/jobs", {"userId": "alice"}, None),
        (requests.SessionList(), "GET /v1/sessions", {}, None),
        (requests.SessionList("api"), "GET /v1/sessions", {"project": "api"}, None),
        (requests.ProjectList(), "GET /v1/projects", USER, None),
        (requests.ProjectStatus("my app"), "GET /v1/projects/my%20app", {}, None),
        (requests.ProjectAdd("/srv"), "POST /v1/projects/add", {}, {"path": "/srv"}),
        (requests.AgentStop(), "POST /v1/agent/stop", {}, USER),
        (requests.AgentStop(kill=True), "POST /v1/agent/kill", {}, USER),
        (
            requests.ProjectCreate(
                name="api", path="/srv", tools=("echo",), default_tool="echo", args={"echo": ("-x",)}
            ),
            "POST /v1/projects",
            {},
            {"name": "api", "path": "/srv", "tools": ["echo"], "default_tool": "echo", "args": {"echo": ["-x"]}},
        ),
    ],
)
def test_a_request_goes_to_its_route(request_: requests.Request, line: str, query: dict, body: dict | None):
    call = call_for(COMMANDS, request_, "alice")
    sent = None if call.body is None else msgspec.json.decode(msgspec.json.encode(call.body))
    assert (f"{call.method} {call.path}", call.query, sent) == (line, query, body)


def test_a_call_knows_the_reply_that_comes_back():
    assert call_for(COMMANDS, requests.Status(), "alice") == ApiCall(
        method="GET", path="/v1/status", reply=replies.StatusReport, query=USER
    )


@pytest.mark.parametrize("request_", [requests.Start("1"), requests.SessionOpen("s"), requests.Request()])
def test_what_the_api_does_not_serve_is_refused(request_: requests.Request):
    with pytest.raises(FairleadError, match="is not offered here") as caught:
        call_for(COMMANDS, request_, "alice")
    assert caught.value.code is Code.E_INVALID_ARGS


def test_a_status_report_calls_each_key_by_its_name_on_the_wire():
    report = replies.StatusReport(
        session_id="1",
        session_key="agent:fairlead:user:alice",
        project="api",
        tool="echo",
        resume_key="resume-1",
        state="idle",
        pending=0,
        running_job_id=None,
        last_job=None,
        resume_ready=True,
        retry_job_id=None,
    )
    sent = msgspec.to_builtins(report)
    assert (sent["session_key"], sent["resume_key"]) == ("agent:fairlead:user:alice", "resume-1")
    assert msgspec.convert(sent, replies.StatusReport) == report
