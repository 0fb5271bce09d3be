"""Which path of the API serves which command, and what it answers. Pure."""

from typing import Any
from urllib.parse import quote

import msgspec

from fairlead.api import wire as w
from fairlead.core import replies, requests
from fairlead.errors import Code, error


class Route(msgspec.Struct, frozen=True):
    method: str
    path: str
    reply: type[replies.Reply]
    body: msgspec.Struct | None = None
    query: dict[str, str] = {}


def route_of(request: requests.Request, user: str) -> Route:
    """Raises E_INVALID_ARGS for a command that HTTP does not serve."""
    who = {"userId": user}
    match request:
        case requests.Status():
            return Route("GET", "/v1/status", replies.StatusReport, query=who)
        case requests.Tool(tool):
            return Route("POST", "/v1/tool", replies.ToolSet, w.ToolChoice(user, tool))
        case requests.Reset():
            return Route("POST", "/v1/reset", replies.SessionWasReset, w.OfUser(user))
        case requests.Cancel(job_id):
            path = f"/v1/jobs/{_part(job_id)}/cancel" if job_id else "/v1/cancel"
            return Route("POST", path, replies.JobsCancelled, w.OfUser(user))
        case requests.Retry(job_id):
            return Route("POST", f"/v1/jobs/{_part(job_id)}/retry", replies.JobQueued, w.OfUser(user))
        case requests.Why(subject):
            return Route("GET", "/v1/why", replies.Story, query={"subject": subject})
        case requests.SessionList(project):
            return Route("GET", "/v1/sessions", replies.SessionCatalogue, query={"project": project})
        case _:
            return _agent_route(request, user) or _project_route(request, user)


def _agent_route(request: requests.Request, user: str) -> Route | None:
    match request:
        case requests.AgentStatus():
            return Route("GET", "/v1/agent", replies.AgentReport, query={"userId": user})
        case requests.AgentUsage():
            return Route("GET", "/v1/agent/usage", replies.UsageReport, query={"userId": user})
        case requests.AgentModel(model):
            return Route("POST", "/v1/agent/model", replies.ModelSet, w.ModelChoice(user, model))
        case requests.AgentMode(mode):
            return Route("POST", "/v1/agent/mode", replies.ModeSet, w.ModeChoice(user, mode))
        case requests.AgentStop(kill):
            path = "/v1/agent/kill" if kill else "/v1/agent/stop"
            return Route("POST", path, replies.AgentStopped, w.OfUser(user))
        case _:
            return None


def _project_route(request: requests.Request, user: str) -> Route:
    match request:
        case requests.ProjectList():
            return Route("GET", "/v1/projects", replies.ProjectCatalogue, query={"userId": user})
        case requests.ProjectStatus(project):
            return Route("GET", f"/v1/projects/{_part(project)}", replies.ProjectReport)
        case requests.ProjectSwitch(project):
            return Route("POST", "/v1/projects/switch", replies.ProjectSelected, w.ProjectChoice(user, project))
        case requests.ProjectAdd(path):
            return Route("POST", "/v1/projects/add", replies.ProjectInfo, w.NewDirectory(path))
        case requests.ProjectCreate():
            return Route("POST", "/v1/projects", replies.ProjectInfo, _new_project(request))
        case _:
            raise error(Code.E_INVALID_ARGS, f"{type(request).__name__} is not offered here.")


def _new_project(request: requests.ProjectCreate) -> w.NewProject:
    tools = tuple(tool.strip() for tool in request.tools_csv.split(",") if tool.strip())
    return w.NewProject(request.name, request.path, tools, request.default_tool, _args(request.args_json))


def _args(args_json: str) -> dict[str, tuple[str, ...]]:
    if not args_json:
        return {}
    try:
        return msgspec.json.decode(args_json, type=dict[str, tuple[str, ...]])
    except msgspec.DecodeError as fault:
        raise error(Code.E_INVALID_ARGS, f'The arguments are not JSON like {{"claude": ["--x"]}}: {fault}') from fault


def _part(name: str) -> str:
    return quote(name, safe="")


def query_of(route: Route) -> dict[str, Any]:
    return {name: value for name, value in route.query.items() if value}
