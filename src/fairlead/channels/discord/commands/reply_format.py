"""Replies to commands as Discord shows them, in the reader's language. Field names of reports are never translated."""

from collections.abc import Callable
from typing import Any, Final

import discord
import msgspec

from fairlead.channels.discord.inbound.places import CHANNEL, link_to
from fairlead.core import replies as r
from fairlead.core.keys import parse_session_key
from fairlead.errors import CODES, Code, FairleadError
from fairlead.render.pieces import plan_pieces
from fairlead.render.replies import reply_lines
from fairlead.render.safe_text import code_block, one_line, quoted
from fairlead.render.words import error_line, say

_DESCRIPTION: Final = 4000
_PATH: Final = 1000
_TYPED: Final = 200
_OWN_WORDS: Final = 600
_NAMED_IS_ALL: Final = frozenset({Code.E_PROJECT_NOT_FOUND, Code.E_SESSION_NOT_FOUND, Code.E_JOB_NOT_FOUND})
"""Where the error's own words only repeat what was typed."""


class FormattedReply(msgspec.Struct, frozen=True):
    """`file` is the whole text where content or embed hold only a part of it."""

    content: str = ""
    embed: discord.Embed | None = None
    file: bytes | None = None


def format_reply(reply: r.Reply, lang: str) -> FormattedReply:
    draw = _SENTENCES.get(type(reply))
    if draw is not None:
        return draw(reply, lang)
    return FormattedReply(code_block("\n".join(reply_lines(reply, lang))))


def refusal_line(problem: FairleadError, lang: str, **named: str) -> str:
    """`CODE: sentence`. What was typed fills the sentence's gaps; the error's own words stand behind it where they
    say more."""
    fields = {name: quoted(typed, _TYPED) for name, typed in named.items()}
    line = error_line(lang, problem.code, **fields)
    own_words = "" if problem.message == CODES[problem.code].what else one_line(problem.message, _OWN_WORDS)
    says_all = not own_words or own_words in line or (named and problem.code in _NAMED_IS_ALL)
    return line if says_all else error_line(lang, problem.code, **fields, detail=own_words)


def _numbered(catalogue: r.ProjectCatalogue, lang: str) -> FormattedReply:
    lines = [f"{p.number}: {quoted(p.path, _PATH)}" for p in catalogue.projects]
    return _embed("\n".join(lines), lang) if lines else FormattedReply(say(lang, "reply.project.none"))


def numbered_projects(reply: r.Reply, lang: str) -> FormattedReply:
    assert isinstance(reply, r.ProjectCatalogue)
    return _numbered(reply, lang)


def _projects(catalogue: r.ProjectCatalogue, lang: str) -> FormattedReply:
    if not catalogue.projects:
        return FormattedReply(say(lang, "reply.project.none"))
    return FormattedReply(code_block("\n".join(reply_lines(catalogue))))


def _project(project: r.ProjectInfo, lang: str) -> FormattedReply:
    return FormattedReply(
        say(lang, "reply.project.created", project=project.name, path=quoted(project.path, _PATH))
        + "\n"
        + code_block(f"default_tool: {project.default_tool}\nenabled_tools: {', '.join(project.enabled_tools)}")
    )


def added_project(reply: r.Reply, lang: str) -> FormattedReply:
    assert isinstance(reply, r.ProjectInfo)
    return FormattedReply(say(lang, "reply.project.added", id=reply.number, path=quoted(reply.path, _PATH)))


def _sessions(catalogue: r.SessionCatalogue, lang: str) -> FormattedReply:
    if not catalogue.sessions:
        return FormattedReply(say(lang, "reply.sessions.none"))
    return FormattedReply("\n".join(_session_row(row) for row in catalogue.sessions))


def _session_row(row: r.SessionRow) -> str:
    return f"`{row.session_id}` {row.project} · {row.state} · {row.last_activity_at} · {where(row)}"


def where(row: r.SessionRow) -> str:
    """A link to where the session is talked to; for another channel, its name."""
    if row.conversation.channel != CHANNEL:
        return row.conversation.channel
    key = parse_session_key(row.session_key)
    guild_id = int(key.space_id) if key is not None and key.space_id else None
    return link_to(guild_id, row.conversation.conversation_id)


def _embed(text: str, lang: str, title: str = "") -> FormattedReply:
    planned = plan_pieces(text, _DESCRIPTION, 1, lang=lang)
    return FormattedReply(embed=discord.Embed(title=title or None, description=planned.messages[0]), file=planned.file)


def _report(reply: r.Reply, lang: str) -> FormattedReply:
    title, *lines = reply_lines(reply)
    return _embed("\n".join(lines), lang, title)


def _reset(done: r.SessionWasReset, lang: str) -> FormattedReply:
    return FormattedReply("\n".join([say(lang, "reply.session.reset"), *_cancelled_lines(done.cancelled, lang)]))


def _cancelled_lines(jobs: tuple[str, ...], lang: str) -> list[str]:
    return [say(lang, "reply.job.cancelled", job=job) for job in jobs]


_SENTENCES: Final[dict[type[r.Reply], Callable[[Any, str], FormattedReply]]] = {
    r.ProjectCatalogue: _projects,
    r.ProjectInfo: _project,
    r.SessionCatalogue: _sessions,
    r.ProjectSelected: lambda d, lang: FormattedReply(say(lang, "reply.project.switched", project=d.name)),
    r.ToolSet: lambda d, lang: FormattedReply(say(lang, "reply.tool.changed", tool=d.tool)),
    r.JobQueued: lambda d, lang: FormattedReply(say(lang, "reply.job.retried", job=d.job_id, attempt=d.attempt)),
    r.SessionWasReset: _reset,
    r.JobsCancelled: lambda d, lang: FormattedReply("\n".join(_cancelled_lines((*d.stopping, *d.cancelled), lang))),
    r.AgentStopped: lambda d, lang: FormattedReply(
        say(lang, "reply.session.killed" if d.killed else "reply.session.stopped")
    ),
    r.ModelSet: lambda d, lang: FormattedReply(say(lang, "reply.model.changed", model_id=d.model)),
    r.ModeSet: lambda d, lang: FormattedReply(say(lang, "reply.mode.changed", mode=d.mode)),
    r.AgentReport: _report,
    r.UsageReport: _report,
}
