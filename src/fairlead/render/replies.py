"""Replies to commands, in the reader's language. Knows no channel: a channel lays out what is rendered here.

The titles of reports and the names of their fields are the same in every language: people search and script by them.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from fairlead.core import replies as r
from fairlead.render.words import say

NOTHING: Final = "n/a"
MAX_SESSIONS: Final = 20

Quote = Callable[[str], str]
"""How a channel shows a text of somebody else inside a sentence, so that the text formats and mentions nothing."""


class RenderedReply(msgspec.Struct, frozen=True, kw_only=True):
    """`sentences` are prose. `rows` are names and values, or columns, that a channel with proportional type sets as
    code; `title` is the heading of the rows."""

    sentences: tuple[str, ...] = ()
    title: str = ""
    rows: tuple[str, ...] = ()


def reply_text(reply: r.Reply, lang: str) -> str:
    return "\n".join(reply_lines(reply, lang))


def reply_lines(reply: r.Reply, lang: str) -> list[str]:
    rendered = render_reply(reply, lang)
    return [*rendered.sentences, *([rendered.title] if rendered.title else []), *rendered.rows]


def show_as_is(text: str) -> str:
    return text


def render_reply(reply: r.Reply, lang: str, quote: Quote = show_as_is) -> RenderedReply:
    """A reply without an entry below is one sentence: the one that its type names, with its fields in the gaps."""
    render = _RENDERERS.get(type(reply))
    if render is not None:
        return render(reply, lang, quote)
    return _sentence(say(lang, f"reply.{type(reply).__name__}", **msgspec.structs.asdict(reply)))


def _sentence(*sentences: str) -> RenderedReply:
    return RenderedReply(sentences=sentences)


# --- reports


def _status(report: r.StatusReport, lang: str, _quote: Quote) -> RenderedReply:
    retry = f"/retry {report.retry_job_id}" if report.retry_job_id else NOTHING
    rows = [
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
        rows.append(f"cost: ${report.cost_usd:.2f}")
    if not report.can_ask:
        rows.append(f"permissions: {say(lang, 'reply.cannot_ask', tool=report.tool)}")
    return RenderedReply(title="Session Status", rows=tuple(rows))


def _last_job(last: r.LastJob | None) -> str:
    return NOTHING if last is None else f"{last.state}, {duration(last.seconds)}, {last.finished_at}"


def duration(seconds: float) -> str:
    """`18s`, `2m05s`, `1h02m`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m{rest:02d}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02d}m"


def _project_report(report: r.ProjectReport, _lang: str, _quote: Quote) -> RenderedReply:
    rows = (
        f"session_total: {report.session_total}",
        f"running_sessions: {report.running_sessions}",
        f"queued_jobs: {report.queued_jobs}",
        f"failed_jobs_24h: {report.failed_jobs_24h}",
        f"last_error: {report.last_error or NOTHING}",
    )
    return RenderedReply(title=f"Project Status: {report.name}", rows=rows)


def _agent_report(report: r.AgentReport, lang: str, _quote: Quote) -> RenderedReply:
    mode = [f"mode: {report.mode}"] if report.mode else []
    since_activity = say(lang, "reply.ago", duration=duration(report.seconds_since_activity))
    rows = (
        f"session: {report.session_id}",
        f"project: #{report.project_number} {report.project}",
        f"tool: {report.tool}",
        f"model: {report.model or NOTHING}",
        *mode,
        f"state: {report.state}",
        f"last_activity: {since_activity}",
    )
    return RenderedReply(title="Agent Status", rows=rows)


def _usage(report: r.UsageReport, _lang: str, _quote: Quote) -> RenderedReply:
    rows = [
        f"session: {report.session_id}",
        f"input_tokens: {report.input_tokens}",
        f"output_tokens: {report.output_tokens}",
        f"cost: ${report.cost_usd:.2f}",
    ]
    if report.context_size:
        share = 100 * report.context_used / report.context_size
        rows.append(f"context: {report.context_used} of {report.context_size} ({share:.0f}%)")
    return RenderedReply(title="Usage", rows=tuple(rows))


def _story(story: r.Story, lang: str, _quote: Quote) -> RenderedReply:
    rows = tuple(f"{s.ts}  #{s.seq} {s.type}  {s.words}".rstrip() for s in story.steps)
    return RenderedReply(title=say(lang, "reply.story", subject=story.subject), rows=rows)


# --- projects and sessions


def _project(project: r.ProjectInfo, lang: str, quote: Quote) -> RenderedReply:
    key = "reply.project.created" if project.created else "reply.project.already_there"
    rows = [
        f"number: {project.number}",
        f"default_tool: {project.default_tool}",
        f"enabled_tools: {', '.join(project.enabled_tools)}",
    ]
    if project.disabled:
        rows.append(f"disabled: {project.disabled}")
    sentence = say(lang, key, project=project.name, path=quote(project.path))
    return RenderedReply(sentences=(sentence,), rows=tuple(rows))


def _projects(catalogue: r.ProjectCatalogue, lang: str, _quote: Quote) -> RenderedReply:
    if not catalogue.projects:
        return _sentence(say(lang, "reply.project.none"), say(lang, "reply.project.how_to_add"))
    return RenderedReply(rows=tuple(map(_project_row, catalogue.projects)))


def _project_row(project: r.ProjectInfo) -> str:
    mark = "*" if project.active else " "
    tools = ", ".join(project.enabled_tools)
    row = f"{mark} #{project.number} {project.name}  {project.default_tool} ({tools})  {project.path}"
    return f"{row}  disabled: {project.disabled}" if project.disabled else row


def _project_switch(done: r.ProjectSelected, lang: str, quote: Quote) -> RenderedReply:
    return _sentence(
        say(lang, "reply.project.switched", id=done.number, project=done.name, path=quote(done.path), tool=done.tool)
    )


def _sessions(catalogue: r.SessionCatalogue, lang: str, _quote: Quote) -> RenderedReply:
    if not catalogue.sessions:
        return _sentence(say(lang, "reply.sessions.none"))
    return RenderedReply(rows=tuple(map(_session_row, catalogue.sessions[:MAX_SESSIONS])))


def _session_row(session: r.SessionRow) -> str:
    where = f"{session.conversation.channel}:{session.conversation.conversation_id}"
    return f"{session.session_id}  {session.project}  {session.state}  {session.last_activity_at}  {where}"


def _session(found: r.SessionFound, _lang: str, _quote: Quote) -> RenderedReply:
    return RenderedReply(rows=(_session_row(found.session),))


def _session_start(done: r.SessionStarted, lang: str, _quote: Quote) -> RenderedReply:
    sentence = say(lang, "reply.session.started", thread=done.session_id)
    return RenderedReply(sentences=(sentence,), rows=(f"project: {done.project}", f"tool: {done.tool}"))


# --- what was done


def _tool_change(done: r.ToolSet, lang: str, _quote: Quote) -> RenderedReply:
    key = "reply.tool.changed_while_running" if done.from_next_job else "reply.tool.changed"
    return _sentence(say(lang, key, tool=done.tool))


def _retry(done: r.JobQueued, lang: str, _quote: Quote) -> RenderedReply:
    return _sentence(say(lang, "reply.job.retried", job=done.job_id, attempt=done.attempt))


def _session_reset(done: r.SessionWasReset, lang: str, _quote: Quote) -> RenderedReply:
    cancelled = (say(lang, "reply.job.cancelled", job=job) for job in done.cancelled)
    return _sentence(say(lang, "reply.session.reset"), *cancelled)


def _cancellation(done: r.JobsCancelled, lang: str, _quote: Quote) -> RenderedReply:
    stopping = (say(lang, "reply.job.stopping", job=job) for job in done.stopping)
    return _sentence(*stopping, *(say(lang, "reply.job.cancelled", job=job) for job in done.cancelled))


def _agent_stop(done: r.AgentStopped, lang: str, _quote: Quote) -> RenderedReply:
    return _sentence(say(lang, "reply.session.killed" if done.killed else "reply.session.stopped"))


def _model_change(done: r.ModelSet, lang: str, _quote: Quote) -> RenderedReply:
    return _sentence(say(lang, "reply.model.changed", model_id=done.model))


def _mode_change(done: r.ModeSet, lang: str, _quote: Quote) -> RenderedReply:
    return _sentence(say(lang, "reply.mode.changed", mode=done.mode))


_RENDERERS: Final[dict[type[msgspec.Struct], Callable[[Any, str, Quote], RenderedReply]]] = {
    r.StatusReport: _status,
    r.ProjectReport: _project_report,
    r.ProjectInfo: _project,
    r.ProjectCatalogue: _projects,
    r.SessionCatalogue: _sessions,
    r.SessionFound: _session,
    r.SessionStarted: _session_start,
    r.ToolSet: _tool_change,
    r.ProjectSelected: _project_switch,
    r.JobQueued: _retry,
    r.SessionWasReset: _session_reset,
    r.JobsCancelled: _cancellation,
    r.Story: _story,
    r.AgentReport: _agent_report,
    r.AgentStopped: _agent_stop,
    r.ModelSet: _model_change,
    r.ModeSet: _mode_change,
    r.UsageReport: _usage,
}
