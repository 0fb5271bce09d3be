"""Replies to commands, in the reader's language. Knows no channel: a channel lays out what is rendered here.

The titles of reports and the names of their fields are the same in every language: people search and script by them.
"""

import shlex
from collections.abc import Callable
from typing import Any, Final

import msgspec

from fairlead.core import replies as r
from fairlead.core.budgets import Budget, DaySpending
from fairlead.core.job_names import short_name, shorten_names
from fairlead.render import worktrees
from fairlead.render.agent_sessions import (
    count_words,
    exchange_rows,
    session_rows,
    unlisted_sentences,
)
from fairlead.render.budgets import budget_words
from fairlead.render.changes import change_head, change_remarks, file_line, undo_sentences
from fairlead.render.durations import duration
from fairlead.render.forks import describe_fork
from fairlead.render.graphemes import display_width
from fairlead.render.rules import rule_words
from fairlead.render.safe_text import one_line
from fairlead.render.steering import describe_steered
from fairlead.render.story import MOMENTS, StorySentence, say_step
from fairlead.render.words import say

NOTHING: Final = "n/a"
MAX_SESSIONS: Final = 20
MAX_SCHEDULES: Final = 50
_SCHEDULE_TEXT: Final = 80

Quote = Callable[[str], str]
"""How a channel shows a text of somebody else inside a sentence, so that the text formats and mentions nothing."""

When = Callable[[str], str]
"""How a channel shows a moment of the journal: in the reader's own time, where the channel knows it."""


class RenderedReply(msgspec.Struct, frozen=True, kw_only=True):
    """`sentences` are prose. `rows` are names and values, or columns, that a channel with proportional type sets as
    code; `title` is the heading of the rows."""

    sentences: tuple[str, ...] = ()
    title: str = ""
    rows: tuple[str, ...] = ()


def show_as_is(text: str) -> str:
    return text


def reply_text(reply: r.Reply, lang: str, when: When = show_as_is) -> str:
    return "\n".join(reply_lines(reply, lang, when))


def reply_lines(reply: r.Reply, lang: str, when: When = show_as_is) -> list[str]:
    rendered = render_reply(reply, lang, when=when)
    return [*rendered.sentences, *([rendered.title] if rendered.title else []), *rendered.rows]


_COMMANDS_SHOWN: Final = 20
_ABILITIES: Final[dict[r.Ability, str]] = {
    "ask": "reply.ability.ask",
    "steer": "reply.ability.steer",
    "fork": "reply.ability.fork",
}


def render_reply(reply: r.Reply, lang: str, quote: Quote = show_as_is, when: When = show_as_is) -> RenderedReply:
    """A reply without an entry below is one sentence: the one that its type names, with its fields in the gaps."""
    render_with_times = _RENDERERS_WITH_TIMES.get(type(reply))
    if render_with_times is not None:
        return render_with_times(reply, lang, when)
    render = _RENDERERS.get(type(reply))
    if render is not None:
        return render(reply, lang, quote)
    return _sentence(say(lang, f"reply.{type(reply).__name__}", **msgspec.structs.asdict(reply)))


def _sentence(*sentences: str) -> RenderedReply:
    return RenderedReply(sentences=sentences)


# --- reports


def _status(report: r.StatusReport, lang: str, when: When) -> RenderedReply:
    """First a sentence for people, then the fields, by which programs and other documents know them."""
    retry = f"/retry {short_name(report.retry_job_id).removeprefix('#')}" if report.retry_job_id else NOTHING
    rows = [
        f"project: {report.project}",
        *_machine_of_session(report, lang, when),
        f"tool: {report.tool}",
        f"session_key: {report.resume_key or NOTHING}",
        f"state: {report.state}",
        f"queue: pending={report.pending}, running={report.running_job_id or 'none'}",
        f"last_job: {_last_job(report.last_job, when)}",
        f"resume_ready: {'yes' if report.resume_ready else 'no'}",
        f"retry_hint: {retry}",
    ]
    if report.worktree is not None:
        rows += worktrees.row_lines(report.worktree)
    if report.most_running:
        rows.append(f"jobs: {report.all_running} running, at most {report.most_running} at once")
    if report.cost_usd:
        rows.append(f"cost: ${report.cost_usd:.2f}")
    if not report.can_ask:
        rows.append(f"permissions: {say(lang, 'reply.cannot_ask', tool=report.tool)}")
    return RenderedReply(sentences=(_what_goes_on(report, lang, when),), title="Session Status", rows=tuple(rows))


def _machine_of_session(report: r.StatusReport, lang: str, when: When) -> tuple[str, ...]:
    away = report.machine_away_since
    words = machine_words(report.machine, lang, is_there=not away, since=when(away) if away else "")
    return (f"machine: {words}",) if report.machine else ()


def _what_goes_on(report: r.StatusReport, lang: str, when: When) -> str:
    """The session's state in words, with the job that it is about."""
    last = report.last_job
    pending = report.pending or ""
    if report.running_job_id is not None:
        key = "reply.status.waiting" if report.state == "waiting" else "reply.status.running"
        since = when(report.running_since) if report.running_since else ""
        return say(lang, key, job=short_name(report.running_job_id), when=since, pending=pending)
    if report.handed_off_at:
        return say(lang, "reply.status.handed_off", when=when(report.handed_off_at), pending=pending)
    if pending:
        return say(lang, "reply.status.queued", pending=pending)
    if last is None:
        return say(lang, "reply.status.nothing")
    key = "reply.status.failed" if report.retry_job_id else "reply.status.idle"
    took = duration(last.seconds)
    return say(lang, key, job=short_name(last.job_id), when=when(last.finished_at), duration=took)


def _last_job(last: r.LastJob | None, when: When) -> str:
    if last is None:
        return NOTHING
    return f"{last.state}, {duration(last.seconds)}, {when(last.finished_at)}, {short_name(last.job_id)}"


def _jobs(catalogue: r.JobCatalogue, lang: str, when: When) -> RenderedReply:
    if not catalogue.jobs:
        return _sentence(say(lang, "reply.jobs.none"))
    states = [job_state_words(job.state, lang) for job in catalogue.jobs]
    widest = max(map(display_width, states))
    rows = (
        f"#{job.number:<4} {state}{' ' * (widest - display_width(state))}  {_when_and_what(job, when)}"
        for job, state in zip(catalogue.jobs, states, strict=True)
    )
    return _sentence(*(row.rstrip() for row in rows))


def _when_and_what(job: r.JobRow, when: When) -> str:
    ran = duration(job.seconds) if job.seconds else "-"
    return f"{ran:>6}  {when(job.enqueued_at)}  {job.prompt}"


def job_state_words(state: str, lang: str) -> str:
    return say(lang, f"status.{'done' if state == 'success' else state}")


def _project_report(report: r.ProjectReport, _lang: str, _quote: Quote) -> RenderedReply:
    rows = (
        f"session_total: {report.session_total}",
        f"running_sessions: {report.running_sessions}",
        f"queued_jobs: {report.queued_jobs}",
        f"failed_jobs_24h: {report.failed_jobs_24h}",
        f"last_error: {shorten_names(report.last_error or NOTHING)}",
    )
    return RenderedReply(title=f"Project Status: {report.name}", rows=rows)


def _agent_report(report: r.AgentReport, lang: str, _quote: Quote) -> RenderedReply:
    extra = [f"mode: {report.mode}"] if report.mode else []
    if report.options:
        extra.append("options: " + ", ".join(f"{name}={value}" for name, value in report.options.items()))
    if report.commands:
        extra.append("commands: " + " ".join(f"/{name}" for name in report.commands[:_COMMANDS_SHOWN]))
    if report.cannot:
        extra.append(f"cannot: {_cannot(report, lang)}")
    since_activity = say(lang, "reply.ago", duration=duration(report.seconds_since_activity))
    rows = (
        f"session: {report.session_id}",
        f"project: #{report.project_number} {report.project}",
        f"tool: {report.tool}",
        f"model: {report.model or NOTHING}",
        *extra,
        f"state: {report.state}",
        f"last_activity: {since_activity}",
    )
    return RenderedReply(title="Agent Status", rows=rows)


def _cannot(report: r.AgentReport, lang: str) -> str:
    """What the agent cannot do, each with the agents here that can."""
    words = (say(lang, _ABILITIES[one.ability], agents=", ".join(one.others)) for one in report.cannot)
    return "; ".join(words)


def _usage(report: r.UsageReport, _lang: str, when: When) -> RenderedReply:
    rows = [
        f"session: {report.session_id}",
        f"input_tokens: {report.input_tokens}",
        f"output_tokens: {report.output_tokens}",
        f"cost: ${report.cost_usd:.2f}",
    ]
    if report.context_size:
        share = 100 * report.context_used / report.context_size
        rows.append(f"context: {report.context_used} of {report.context_size} ({share:.0f}%)")
    for window in report.windows:
        used = "spent" if window.is_spent else "" if window.used is None else f"{100 * window.used:.0f}%"
        resets = f"resets {when(window.resets_at)}" if window.resets_at else ""
        rows.append(f"limit {window.name}: {', '.join(filter(None, (used, resets))) or NOTHING}")
    return RenderedReply(title="Usage", rows=tuple(rows))


def _story(story: r.Story, lang: str, when: When) -> RenderedReply:
    rows = tuple(f"{when(step.ts)}  {_step_words(step, lang, when)}" for step in story.steps)
    return RenderedReply(title=say(lang, "reply.story", subject=short_name(story.subject)), rows=rows)


def _step_words(step: r.Step, lang: str, when: When) -> str:
    sentence = StorySentence(step.key, step.fields)
    return say_step(sentence, lang, lambda gap, text: when(text) if gap in MOMENTS else text) or step.words or step.type


# --- projects and sessions


def _project(project: r.ProjectInfo, lang: str, quote: Quote) -> RenderedReply:
    key = "reply.project.created" if project.created else "reply.project.already_there"
    rows = [
        f"number: {project.number}",
        f"default_tool: {project.default_tool}",
        f"enabled_tools: {', '.join(project.enabled_tools)}",
    ]
    if project.machine:
        rows.append(f"machine: {machine_words(project.machine, lang, is_there=project.machine_is_there)}")
    if project.disabled:
        rows.append(f"disabled: {project.disabled}")
    sentence = say(lang, key, project=project.name, path=quote(project.path))
    return RenderedReply(sentences=(sentence,), rows=tuple(rows))


def _projects(catalogue: r.ProjectCatalogue, lang: str, _quote: Quote) -> RenderedReply:
    if not catalogue.projects:
        return _sentence(say(lang, "reply.project.none"), say(lang, "reply.project.how_to_add"))
    return RenderedReply(rows=tuple(_project_row(project, lang) for project in catalogue.projects))


def _project_row(project: r.ProjectInfo, lang: str) -> str:
    mark = "*" if project.active else " "
    tools = ", ".join(project.enabled_tools)
    row = f"{mark} #{project.number} {project.name}  {project.default_tool} ({tools})  {project.path}"
    row += "  worktree: yes" if project.worktree else ""
    if project.machine:
        row += f"  machine: {machine_words(project.machine, lang, is_there=project.machine_is_there)}"
    return f"{row}  disabled: {project.disabled}" if project.disabled else row


def machine_words(machine: str, lang: str, *, is_there: bool, since: str = "") -> str:
    """`gpu (not connected, since 12:31)`; `since` is a moment as the channel shows it."""
    key = "reply.machine.connected" if is_there else "reply.machine.not_connected"
    return f"{machine} ({say(lang, key, since=since)})"


def _project_switch(done: r.ProjectSelected, lang: str, quote: Quote) -> RenderedReply:
    return _sentence(
        say(lang, "reply.project.switched", id=done.number, project=done.name, path=quote(done.path), tool=done.tool)
    )


def _sessions(catalogue: r.SessionCatalogue, lang: str, when: When) -> RenderedReply:
    if not catalogue.sessions:
        return _sentence(say(lang, "reply.sessions.none"))
    return RenderedReply(rows=tuple(_session_row(session, when) for session in catalogue.sessions[:MAX_SESSIONS]))


def _session_row(session: r.SessionRow, when: When) -> str:
    where = f"{session.conversation.channel}:{session.conversation.conversation_id}"
    name = f"{tree_mark(session)}{session.session_id}"
    row = f"{name}  {session.project}  {session.state}  {when(session.last_activity_at)}  {where}"
    return f"{row}  {session.branch}  {session.path}" if session.branch else row


def tree_mark(session: r.SessionRow) -> str:
    """Before a session that was spawned, so that it stands under the one above it."""
    return "  " * (session.depth - 1) + "↳ " if session.depth else ""


def _stored_sessions(catalogue: r.StoredSessionCatalogue, lang: str, when: When) -> RenderedReply:
    unlisted = unlisted_sentences(catalogue, lang)
    if not catalogue.sessions:
        return _sentence(say(lang, "reply.stored.none", directory=catalogue.directory), *unlisted)
    how = say(lang, "reply.stored.how_to_adopt")
    return _sentence(*unlisted, how, *session_rows(catalogue, lang, when))


def _adoption(done: r.SessionAdoption, lang: str, when: When) -> RenderedReply:
    if done.offered is not None:
        return _stored_sessions(done.offered, lang, when)
    row = done.adopted
    assert row is not None, "a reply without a list is about one session"
    count = count_words(row.exchanges, lang, has_more=row.has_more)
    sentences = [say(lang, "reply.stored.adopted", tool=row.tool, key=row.key, count=count)]
    if done.before:
        sentences.append(say(lang, "reply.stored.before", key=done.before))
    return RenderedReply(sentences=tuple(sentences), rows=exchange_rows(done.latest))


def _hand_off(done: r.SessionHandOff, lang: str, _quote: Quote) -> RenderedReply:
    if done.handed_off:
        pending = (say(lang, "reply.handoff.pending", count=done.pending),) if done.pending else ()
        return RenderedReply(sentences=(say(lang, "reply.handoff.done"), *pending), rows=(done.command,))
    count = count_words(done.exchanges, lang, has_more=done.has_more)
    key = "reply.handoff.unread" if done.unread else "reply.handoff.back" if count else "reply.handoff.back_unchanged"
    pending = (say(lang, "reply.handoff.continues", count=done.pending),) if done.pending else ()
    return RenderedReply(sentences=(*pending, say(lang, key, count=count)), rows=exchange_rows(done.latest))


def _spawn(done: r.Spawned, lang: str, _quote: Quote) -> RenderedReply:
    key = {"thread": "reply.spawn.thread", "person": "reply.spawn.person", "session": "reply.spawn.session"}
    sentence = say(lang, key[done.returns], session=done.session_id, job=short_name(done.job_id))
    rows = (f"project: {done.project}", f"tool: {done.tool}") if done.project else ()
    return RenderedReply(sentences=(sentence,), rows=rows)


def _session(found: r.SessionFound, _lang: str, when: When) -> RenderedReply:
    return RenderedReply(rows=(_session_row(found.session, when),))


def _session_start(done: r.SessionStarted, lang: str, _quote: Quote) -> RenderedReply:
    sentence = say(lang, "reply.session.started", thread=done.session_id)
    branch = [f"branch: {done.branch}"] if done.branch else []
    return RenderedReply(sentences=(sentence,), rows=(f"project: {done.project}", f"tool: {done.tool}", *branch))


# --- what was done


def _tool_change(done: r.ToolSet, lang: str, _quote: Quote) -> RenderedReply:
    if done.choices:
        return _present_choice("reply.tool.present", done.tool, done.choices, lang)
    key = "reply.tool.changed_while_running" if done.from_next_job else "reply.tool.changed"
    return _sentence(say(lang, key, tool=done.tool))


def _retry(done: r.JobQueued, lang: str, _quote: Quote) -> RenderedReply:
    return _sentence(say(lang, "reply.job.retried", job=short_name(done.job_id), attempt=done.attempt))


def _session_reset(done: r.SessionWasReset, lang: str, _quote: Quote) -> RenderedReply:
    cancelled = (say(lang, "reply.job.cancelled", job=short_name(job)) for job in done.cancelled)
    return _sentence(say(lang, "reply.session.reset"), *cancelled, *worktrees.after_reset(done, lang))


def _cancellation(done: r.JobsCancelled, lang: str, _quote: Quote) -> RenderedReply:
    stopping = (say(lang, "reply.job.stopping", job=short_name(job)) for job in done.stopping)
    cancelled = (say(lang, "reply.job.cancelled", job=short_name(job)) for job in done.cancelled)
    return _sentence(*stopping, *cancelled)


def _agent_stop(done: r.AgentStopped, lang: str, _quote: Quote) -> RenderedReply:
    return _sentence(say(lang, "reply.session.killed" if done.killed else "reply.session.stopped"))


def _present_choice(key: str, present: str, choices: tuple[str, ...], lang: str) -> RenderedReply:
    others = ", ".join(choice for choice in choices if choice != present)
    return _sentence(say(lang, key, present=present or NOTHING, choices=others))


def _model_change(done: r.ModelSet, lang: str, _quote: Quote) -> RenderedReply:
    if done.choices:
        return _present_choice("reply.model.present", done.model, done.choices, lang)
    return _sentence(say(lang, "reply.model.changed", model_id=done.model))


def _mode_change(done: r.ModeSet, lang: str, _quote: Quote) -> RenderedReply:
    if done.choices:
        return _present_choice("reply.mode.present", done.mode, done.choices, lang)
    return _sentence(say(lang, "reply.mode.changed", mode=done.mode))


def _command_sent(done: r.CommandSent, lang: str, _quote: Quote) -> RenderedReply:
    return _sentence(say(lang, "reply.command.sent", command=done.command))


def _agents_checked(checked: r.AgentsChecked, _lang: str, _quote: Quote) -> RenderedReply:
    rows = [
        " ".join(filter(None, (f"{row.name}:", "ok" if row.ok else "FAIL", row.program, row.version, *row.notes)))
        for row in checked.agents
    ]
    return RenderedReply(title="Agents", rows=tuple(rows))


def _agents(catalogue: r.AgentCatalogue, lang: str, _quote: Quote) -> RenderedReply:
    if not catalogue.agents:
        return _sentence(say(lang, "reply.agents.none"))
    rows = (" ".join(filter(None, (agent.name, agent.version, agent.source))) for agent in catalogue.agents)
    return RenderedReply(rows=tuple(rows))


def _agent_added(done: r.AgentAdded, lang: str, _quote: Quote) -> RenderedReply:
    added = say(lang, "reply.agent.added", agent=done.name, projects=", ".join(done.projects))
    return _sentence(added, *_still_running(done.running, lang))


def _agent_removed(done: r.AgentWasRemoved, lang: str, _quote: Quote) -> RenderedReply:
    removed = say(lang, "reply.agent.removed", agent=done.name, users=", ".join(done.users))
    return _sentence(removed, *_still_running(done.running, lang))


def _still_running(jobs: tuple[str, ...], lang: str) -> tuple[str, ...]:
    return (say(lang, "reply.agent.still_running", jobs=", ".join(map(short_name, jobs))),) if jobs else ()


def _machines(catalogue: r.MachineCatalogue, lang: str, when: When) -> RenderedReply:
    """As sentences, because a code block of Discord shows no times."""
    if not catalogue.machines:
        return _sentence(say(lang, "reply.machines.none"))
    return _sentence(*(_machine_row(row, lang, when) for row in catalogue.machines))


def _machine_row(row: r.MachineRow, lang: str, when: When) -> str:
    if not row.has_joined and not row.is_there:
        return say(lang, "reply.machine.row.new", name=row.name)
    return say(
        lang,
        "reply.machine.row.here" if row.is_there else "reply.machine.row.away",
        name=row.name,
        since=when(row.since) if row.since else "",
        running=row.running,
        waiting=row.waiting or "",
        slots=row.slots,
        version=row.version,
        agents=", ".join(row.agents),
        projects=", ".join(row.projects),
        problem=row.problem,
    )


def _machine_may_join(done: r.MachineMayJoin, lang: str, _quote: Quote) -> RenderedReply:
    accounts = (say(lang, "reply.machine.accounts", path=done.accounts_file),) if done.accounts_file else ()
    return _sentence(*accounts, say(lang, "reply.machine.may_join", name=done.name, line=done.line))


def _machine_renamed(done: r.RenamedMachine, lang: str, _quote: Quote) -> RenderedReply:
    projects = ", ".join(done.projects)
    return _sentence(say(lang, "reply.machine.renamed", old_name=done.old_name, name=done.name, projects=projects))


def _machine_removed(done: r.MachineWasRemoved, lang: str, _quote: Quote) -> RenderedReply:
    return _sentence(say(lang, "reply.machine.removed", name=done.name))


def _rules(catalogue: r.RuleCatalogue, lang: str, _quote: Quote) -> RenderedReply:
    if not catalogue.rules:
        return _sentence(say(lang, "reply.rules.none"))
    rows = (
        f"{row.number}. {rule_words(row.rule)} (project: {row.project}, used: {row.uses}{_last_use(row)})"
        for row in catalogue.rules
    )
    return RenderedReply(sentences=(say(lang, "reply.rules.how_to_remove"),), rows=tuple(rows))


def _last_use(row: r.RuleRow) -> str:
    return f", last: {row.used_at[:10]}" if row.used_at else ""


def _rule_removed(done: r.RuleWasRemoved, lang: str, quote: Quote) -> RenderedReply:
    row = done.rule
    rule = quote(rule_words(row.rule))
    return _sentence(say(lang, "reply.rules.removed", number=row.number, rule=rule, project=row.project))


def _hook_made(done: r.HookMade, lang: str, _quote: Quote) -> RenderedReply:
    said = say(lang, "reply.hooks.made", name=done.hook.name, path=done.hook.path)
    return RenderedReply(sentences=(said,), rows=(done.secret,))


def _hooks(catalogue: r.HookCatalogue, lang: str, _quote: Quote) -> RenderedReply:
    if not catalogue.hooks:
        return _sentence(say(lang, "reply.hooks.none"))
    return RenderedReply(rows=tuple(map(_hook_row, catalogue.hooks)))


def _hook_row(hook: r.HookRow) -> str:
    told = f"{hook.told.channel}:{hook.told.conversation_id}"
    wanted = ", ".join((*hook.events, *hook.where)) or "every event"
    where = " ".join(filter(None, (hook.project, hook.tool))) or hook.session_key
    return f"{hook.name}  {hook.form}  {wanted}  {where}  {told}"


def _budgets(report: r.BudgetReport, lang: str, when: When) -> RenderedReply:
    if not report.rows:
        return _sentence(say(lang, "reply.budgets.none"))
    rows = tuple(_budget_row(row, lang) for row in report.rows)
    return RenderedReply(
        sentences=(say(lang, "reply.budgets.day", day=report.day, when=when(report.ends_at)),), rows=rows
    )


def _budget_row(row: r.BudgetRow, lang: str) -> str:
    words = budget_words(Budget(row.usd, row.tokens), DaySpending(row.spent_usd, row.spent_tokens))
    return f"{row.project}: {words}" + (f" ({say(lang, 'reply.budgets.held')})" if row.held else "")


_SCHEDULE_DONE: Final = {
    "added": "reply.schedule.added",
    "proposed": "reply.schedule.proposed",
    "confirmed": "reply.schedule.confirmed",
    "paused": "reply.schedule.paused",
    "resumed": "reply.schedule.resumed",
    "removed": "reply.schedule.removed",
}


def _schedules(catalogue: r.ScheduleCatalogue, lang: str, _quote: Quote) -> RenderedReply:
    if not catalogue.schedules:
        return _sentence(say(lang, "reply.schedules.none"))
    return RenderedReply(rows=tuple(_schedule_row(row, lang) for row in catalogue.schedules[:MAX_SCHEDULES]))


def _schedule_row(row: r.ScheduleRow, lang: str) -> str:
    last = " ".join(filter(None, (row.last_outcome, row.last_job_id or row.last_detail)))
    parts = (
        f"{row.number}. {_schedule_when(row, lang)} {row.zone}",
        row.status,
        f"next: {row.next_local[0]}" if row.next_local else "",
        f"last: {last}" if last else "",
        f"runs: {row.runs}, skipped: {row.skipped}" if row.runs or row.skipped else "",
        one_line(row.text, _SCHEDULE_TEXT),
    )
    return " · ".join(filter(None, parts))


def _schedule_when(row: r.ScheduleRow, lang: str) -> str:
    if row.cron:
        return row.cron
    return say(lang, "reply.schedule.once", when=row.next_local[0] if row.next_local else row.at)


def _schedule(shown: r.ScheduleShown, lang: str, quote: Quote) -> RenderedReply:
    """How the time was read comes first, with the next times: by these a person sees whether it is what they meant."""
    row = shown.schedule
    when = _schedule_when(row, lang)
    sentence = say(lang, _SCHEDULE_DONE[shown.done], number=row.number, when=quote(when), zone=row.zone)
    if shown.done in {"paused", "removed"}:
        return _sentence(sentence)
    rows = [
        *(f"next: {moment}" for moment in row.next_local),
        f"text: {one_line(row.text, _SCHEDULE_TEXT)}",
        f"session: {row.session}, missed: {row.missed}, overlap: {row.overlap}, ring: {row.ring}",
        f"tell: {', '.join(row.tell)}" if row.tell else "",
        f"check: {shlex.join(row.check)}" if row.check else "",
        f"project: {row.project}" if row.project else "",
    ]
    return RenderedReply(sentences=(sentence,), rows=tuple(filter(None, rows)))


def _changes(shown: r.ChangesShown, lang: str, quote: Quote) -> RenderedReply:
    sentences = (change_head(shown, lang), *change_remarks(shown, lang, quote))
    return RenderedReply(sentences=sentences, rows=tuple(map(file_line, shown.files)))


def _on_worktrees(render: worktrees.Render) -> Callable[[Any, str, Quote], RenderedReply]:
    def render_shown(reply: Any, lang: str, quote: Quote) -> RenderedReply:
        shown = render(reply, lang, quote)
        return RenderedReply(sentences=shown.sentences, rows=shown.rows)

    return render_shown


def _undo(done: r.TurnsUndone, lang: str, quote: Quote) -> RenderedReply:
    more = [f"(+{done.total - len(done.files)})"] if done.total > len(done.files) else []
    sentences = tuple(undo_sentences(done, lang, quote))
    return RenderedReply(sentences=sentences, rows=(*map(file_line, done.files), *more))


_RENDERERS_WITH_TIMES: Final[dict[type[msgspec.Struct], Callable[[Any, str, When], RenderedReply]]] = {
    r.StatusReport: _status,
    r.Story: _story,
    r.JobCatalogue: _jobs,
    r.SessionCatalogue: _sessions,
    r.SessionFound: _session,
    r.BudgetReport: _budgets,
    r.MachineCatalogue: _machines,
    r.UsageReport: _usage,
    r.StoredSessionCatalogue: _stored_sessions,
    r.SessionAdoption: _adoption,
}
_RENDERERS: Final[dict[type[msgspec.Struct], Callable[[Any, str, Quote], RenderedReply]]] = {
    r.ProjectReport: _project_report,
    r.ProjectInfo: _project,
    r.ProjectCatalogue: _projects,
    r.RuleCatalogue: _rules,
    r.RuleWasRemoved: _rule_removed,
    r.HookMade: _hook_made,
    r.HookCatalogue: _hooks,
    r.ScheduleCatalogue: _schedules,
    r.ScheduleShown: _schedule,
    r.SessionStarted: _session_start,
    r.Spawned: _spawn,
    r.SessionHandOff: _hand_off,
    r.SessionForkMade: lambda reply, lang, _quote: _sentence(describe_fork(reply, lang)),
    r.TurnSteered: lambda reply, lang, _quote: _sentence(describe_steered(reply, lang)),
    r.ToolSet: _tool_change,
    r.ProjectSelected: _project_switch,
    r.JobQueued: _retry,
    r.SessionWasReset: _session_reset,
    r.JobsCancelled: _cancellation,
    r.AgentReport: _agent_report,
    r.AgentStopped: _agent_stop,
    r.ModelSet: _model_change,
    r.ModeSet: _mode_change,
    r.CommandSent: _command_sent,
    r.AgentsChecked: _agents_checked,
    r.AgentCatalogue: _agents,
    r.AgentAdded: _agent_added,
    r.AgentWasRemoved: _agent_removed,
    r.MachineMayJoin: _machine_may_join,
    r.MachineWasRemoved: _machine_removed,
    r.RenamedMachine: _machine_renamed,
    r.ChangesShown: _changes,
    **{kind: _on_worktrees(render) for kind, render in worktrees.RENDERERS.items()},
    r.TurnsUndone: _undo,
}
