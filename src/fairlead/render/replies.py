"""Replies to commands, as lines for people. Pure; the field names of status reports are never translated."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from fairlead.core import replies as r
from fairlead.render.words import say

NOTHING: Final = "n/a"
MAX_SESSIONS: Final = 20


def reply_lines(reply: r.Reply, lang: str = "en") -> list[str]:
    """A reply without an entry in the table is drawn by its own words, whose gaps are its fields."""
    draw = _DRAWN.get(type(reply))
    if draw is not None:
        return draw(reply)
    return say(lang, f"reply.{type(reply).__name__}", **msgspec.structs.asdict(reply)).splitlines()


def reply_text(reply: r.Reply, lang: str = "en") -> str:
    return "\n".join(reply_lines(reply, lang))


def _status(report: r.StatusReport) -> list[str]:
    retry = f"/retry {report.retry_job_id}" if report.retry_job_id else NOTHING
    lines = [
        "Session Status",
        f"project: {report.project}",
        f"tool: {report.tool}",
        f"session_key: {report.resume_key or NOTHING}",
        f"state: {report.state}",
        f"queue: pending={report.pending}, running={report.running_job_id or 'none'}",
        f"last_job: {_last_job(report.last_job)}",
        f"resume_ready: {'yes' if report.resume_ready else 'no'}",
        f"retry_hint: {retry}",
    ]
    if report.cost_usd:
        lines.append(f"cost: ${report.cost_usd:.2f}")
    if not report.can_ask:
        lines.append(f"permissions: {report.tool} cannot ask; the project's tier decides")
    return lines


def _last_job(last: r.LastJob | None) -> str:
    return NOTHING if last is None else f"{last.state}, {duration(last.seconds)}, {last.finished_at}"


def duration(seconds: float) -> str:
    """`18s`, `2m05s`, `1h02m`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m{rest:02d}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02d}m"


def _project_report(report: r.ProjectReport) -> list[str]:
    return [
        f"Project Status: {report.name}",
        f"session_total: {report.session_total}",
        f"running_sessions: {report.running_sessions}",
        f"queued_jobs: {report.queued_jobs}",
        f"failed_jobs_24h: {report.failed_jobs_24h}",
        f"last_error: {report.last_error or NOTHING}",
    ]


def _project(project: r.ProjectInfo) -> list[str]:
    verb = "is registered" if project.created else "was there already"
    return [f"Project #{project.number} {project.name} {verb}.", *_details(project)]


def _details(project: r.ProjectInfo) -> list[str]:
    lines = [
        f"path: {project.path}",
        f"default_tool: {project.default_tool}",
        f"enabled_tools: {', '.join(project.enabled_tools)}",
    ]
    return [*lines, f"disabled: {project.disabled}"] if project.disabled else lines


def _projects(catalogue: r.ProjectCatalogue) -> list[str]:
    if not catalogue.projects:
        return ["No project is registered yet. `/project add PATH` makes one."]
    return [_project_row(project) for project in catalogue.projects]


def _project_row(project: r.ProjectInfo) -> str:
    mark = "*" if project.active else " "
    tools = ", ".join(project.enabled_tools)
    row = f"{mark} #{project.number} {project.name}  {project.default_tool} ({tools})  {project.path}"
    return f"{row}  disabled: {project.disabled}" if project.disabled else row


def _sessions(catalogue: r.SessionCatalogue) -> list[str]:
    if not catalogue.sessions:
        return ["There is no session yet. Say something, and there is one."]
    return [_session_row(session) for session in catalogue.sessions[:MAX_SESSIONS]]


def _session_row(session: r.SessionRow) -> str:
    where = f"{session.conversation.channel}:{session.conversation.conversation_id}"
    return f"{session.session_id}  {session.project}  {session.state}  {session.last_activity_at}  {where}"


def _tool(done: r.ToolSet) -> list[str]:
    when = " from the next job on; the running one goes on with its own" if done.from_next_job else ""
    return [f"The tool is {done.tool}{when}."]


def _selected(done: r.ProjectSelected) -> list[str]:
    return [f"Working in project #{done.number} {done.name} ({done.path}) with {done.tool}."]


def _queued(done: r.JobQueued) -> list[str]:
    return [f"{done.retry_of} is tried again as {done.job_id} (attempt {done.attempt})."]


def _reset(done: r.SessionWasReset) -> list[str]:
    cancelled = f" Cancelled: {', '.join(done.cancelled)}." if done.cancelled else ""
    return [f"The session begins afresh; its history stays.{cancelled}"]


def _cancelled(done: r.JobsCancelled) -> list[str]:
    lines = [f"Stopping: {', '.join(done.stopping)}."] if done.stopping else []
    return [*lines, f"Cancelled: {', '.join(done.cancelled)}."] if done.cancelled else lines


def _story(story: r.Story) -> list[str]:
    return [f"What became of {story.subject}", *(f"{s.ts}  #{s.seq} {s.type}  {s.words}".rstrip() for s in story.steps)]


def _agent(report: r.AgentReport) -> list[str]:
    mode = [f"mode: {report.mode}"] if report.mode else []
    return [
        "Agent Status",
        f"session: {report.session_id}",
        f"project: #{report.project_number} {report.project}",
        f"tool: {report.tool}",
        f"model: {report.model or NOTHING}",
        *mode,
        f"state: {report.state}",
        f"last_activity: {duration(report.seconds_since_activity)} ago",
    ]


def _usage(report: r.UsageReport) -> list[str]:
    lines = [
        "Usage",
        f"session: {report.session_id}",
        f"input_tokens: {report.input_tokens}",
        f"output_tokens: {report.output_tokens}",
        f"cost: ${report.cost_usd:.2f}",
    ]
    if not report.context_size:
        return lines
    share = 100 * report.context_used / report.context_size
    return [*lines, f"context: {report.context_used} of {report.context_size} ({share:.0f}%)"]


_DRAWN: Final[dict[type[r.Reply], Callable[[Any], list[str]]]] = {
    r.StatusReport: _status,
    r.ProjectReport: _project_report,
    r.ProjectInfo: _project,
    r.ProjectCatalogue: _projects,
    r.SessionCatalogue: _sessions,
    r.SessionFound: lambda found: [_session_row(found.session)],
    r.SessionStarted: lambda s: [f"Session {s.session_id} works in {s.project} with {s.tool}."],
    r.ToolSet: _tool,
    r.ProjectSelected: _selected,
    r.JobQueued: _queued,
    r.SessionWasReset: _reset,
    r.JobsCancelled: _cancelled,
    r.Story: _story,
    r.AgentReport: _agent,
    r.AgentStopped: lambda s: [f"The agent of {s.session_id} was {'killed' if s.killed else 'stopped'}."],
    r.ModelSet: lambda s: [f"The model is {s.model}."],
    r.ModeSet: lambda s: [f"The mode is {s.mode}, until Fairlead is started anew."],
    r.UsageReport: _usage,
}
