"""Replies to commands as Discord lays them out: plain text, code blocks, embeds and links. Words no sentence."""

import re
from collections.abc import Callable, Iterable
from typing import Final

import discord
from discord.utils import escape_markdown

from fairlead.channels.discord.commands.formatted_reply import FormattedReply
from fairlead.channels.discord.inbound.conversations import CHANNEL, guild_of, link_to
from fairlead.channels.discord.outbound.messages import TEXT_LIMIT, show_clock, show_moment
from fairlead.core import replies as r
from fairlead.core import timestamps
from fairlead.core.job_names import short_name
from fairlead.core.keys import parse_session_key
from fairlead.render.changes import excerpt, file_line
from fairlead.render.pieces import plan_pieces
from fairlead.render.replies import RenderedReply, render_reply, show_as_is, tree_mark
from fairlead.render.safe_text import code_block, quote_inline
from fairlead.render.story import StorySentence, say_step
from fairlead.render.words import say

_DESCRIPTION: Final = 4000
_PATH: Final = 1000
_THREAD_KEY: Final = re.compile(r"agent:[^\s:]+:thread:\d+:(\d+)")
_IN_EMBEDS: Final = (r.AgentReport, r.UsageReport)
_FILES_SHOWN: Final = 12
_EXCERPT: Final = 900
_FENCES: Final = 60
"""Room for the fences of a code block, and for what makes the text inside of it harmless."""
_WITH_TIMES: Final = (r.UsageReport, r.BudgetReport)


def format_reply(reply: r.Reply, lang: str) -> FormattedReply:
    if isinstance(reply, r.JobCatalogue):
        rows = render_reply(reply, lang, when=relative_time).sentences
        return _lines(map(escape_markdown, rows), lang)
    if isinstance(reply, r.ScheduleCatalogue) and reply.schedules:
        return _lines(map(escape_markdown, render_reply(reply, lang).rows), lang)
    if isinstance(reply, r.SessionAdoption) and reply.offered is not None:
        listed = render_reply(reply, lang, when=relative_time).sentences
        return _lines(map(escape_markdown, listed), lang)
    if isinstance(reply, r.StatusReport):
        status = render_reply(reply, lang, when=relative_time)
        return _lines((*status.sentences, f"**{status.title}**", *map(_escape_value, status.rows)), lang)
    rendered = render_reply(reply, lang, _quote_path, relative_time if isinstance(reply, _WITH_TIMES) else show_as_is)
    if isinstance(reply, _IN_EMBEDS):
        return _embed("\n".join(rendered.rows), lang, rendered.title)
    if isinstance(reply, r.Story):
        steps = (_story_line(step, lang) for step in reply.steps)
        return FormattedReply("\n".join([f"**{escape_markdown(rendered.title)}**", *steps]))
    if isinstance(reply, r.MachineCatalogue):
        return _lines(map(escape_markdown, render_reply(reply, lang, when=show_moment).sentences), lang)
    if isinstance(reply, r.ChangesShown):
        return _changes(reply, rendered)
    if isinstance(reply, r.SessionCatalogue) and reply.sessions:
        return FormattedReply("\n".join(map(_session_row, reply.sessions)))
    return FormattedReply(_plain_content(rendered))


def _changes(shown: r.ChangesShown, rendered: RenderedReply) -> FormattedReply:
    """The list of files and the head of the diff; the whole diff as a file that people can open or apply."""
    listed = list(map(file_line, shown.files))
    more = [f"(+{len(listed) - _FILES_SHOWN})"] if len(listed) > _FILES_SHOWN else []
    parts = [*rendered.sentences, *([code_block("\n".join((*listed[:_FILES_SHOWN], *more)))] if listed else [])]
    room = TEXT_LIMIT - sum(len(part) + 1 for part in parts) - _FENCES
    head = excerpt(shown.diff, min(room, _EXCERPT))
    if head:
        parts.append(code_block(head, "diff"))
    name = f"changes-{short_name(shown.job_ids[-1]).removeprefix('#')}.diff"
    return FormattedReply("\n".join(parts), file=shown.diff.encode() or None, file_name=name)


def _lines(lines: Iterable[str], lang: str) -> FormattedReply:
    """Not as a code block, in which Discord shows no times."""
    planned = plan_pieces("\n".join(lines), TEXT_LIMIT, 1, lang=lang)
    return FormattedReply(planned.messages[0], file=planned.file)


def _escape_value(row: str) -> str:
    """Only what is somebody else's text: the other fields have our own words."""
    name, _, value = row.partition(": ")
    return f"{name}: {escape_markdown(value)}" if name in {"project", "session_key"} else row


def _plain_content(rendered: RenderedReply) -> str:
    """The sentences as they are; below them title and rows as a code block."""
    block = "\n".join([*([rendered.title] if rendered.title else []), *rendered.rows])
    return "\n".join([*rendered.sentences, *([code_block(block)] if block else [])])


def _quote_path(path: str) -> str:
    return quote_inline(path, _PATH)


def numbered_projects(reply: r.Reply, lang: str) -> FormattedReply:
    """`/projects`: numbers and paths alone."""
    assert isinstance(reply, r.ProjectCatalogue)
    lines = [f"{p.number}: {_quote_path(p.path)}" for p in reply.projects]
    return _embed("\n".join(lines), lang) if lines else FormattedReply(say(lang, "reply.project.none"))


def added_project(reply: r.Reply, lang: str) -> FormattedReply:
    """`/project add`: the number and the path alone."""
    assert isinstance(reply, r.ProjectInfo)
    return FormattedReply(say(lang, "reply.project.added", id=reply.number, path=_quote_path(reply.path)))


def _session_row(row: r.SessionRow) -> str:
    """A thread is named by its link; only another conversation needs its id, by which `/session open` finds it."""
    is_thread = row.conversation.channel == CHANNEL and row.conversation.parent_conversation_id is not None
    name = where(row) if is_thread else f"{where(row)} · `{row.session_id}`"
    return f"{tree_mark(row)}{name} · {row.project} · {row.state} · {relative_time(row.last_activity_at)}"


def _story_line(step: r.Step, lang: str) -> str:
    """When, and what happened; people and conversations as links."""

    def quote(gap: str, text: str) -> str:
        match gap:
            case "due":
                return relative_time(text)
            case "there" | "taken":
                return show_clock(text)
            case "person" if text.isdecimal():
                return f"<@{text}>"
            case "session" if thread := _THREAD_KEY.fullmatch(text):
                return f"<#{thread[1]}>"
            case "where" if text == CHANNEL:
                return f"<#{step.fields.get('conversation', '')}>"
            case _:
                return escape_markdown(text)

    words = say_step(StorySentence(step.key, step.fields), lang, quote) or escape_markdown(step.words or step.type)
    return f"{relative_time(step.ts)} {words}"


def relative_time(ts: str) -> str:
    """As Discord shows it on every screen, in the reader's own language and time zone: `3 minutes ago`."""
    return f"<t:{int(timestamps.to_epoch(ts))}:R>"


def where(row: r.SessionRow) -> str:
    """A link to where the session is talked to; for another channel, its name."""
    if row.conversation.channel != CHANNEL:
        return row.conversation.channel
    if row.conversation.parent_conversation_id is not None:
        return f"<#{row.conversation.conversation_id}>"
    guild_id = guild_of(parse_session_key(row.session_key))
    return link_to(guild_id, row.conversation.conversation_id)


def _embed(text: str, lang: str, title: str = "") -> FormattedReply:
    planned = plan_pieces(text, _DESCRIPTION, 1, lang=lang)
    return FormattedReply(embed=discord.Embed(title=title or None, description=planned.messages[0]), file=planned.file)


_DRAWN_BY_WORDS: Final[dict[str, Callable[[r.Reply, str], FormattedReply]]] = {
    "projects": numbered_projects,
    "project add": added_project,
}
"""Commands that show a reply in another way than other commands with the same reply."""


def draw_reply(words: str, reply: r.Reply, lang: str) -> FormattedReply:
    """As the command with these words shows it."""
    return _DRAWN_BY_WORDS.get(words, format_reply)(reply, lang)
