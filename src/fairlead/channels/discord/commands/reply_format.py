"""Replies to commands as Discord lays them out: plain text, code blocks, embeds and links. Words no sentence."""

from typing import Final

import discord
import msgspec

from fairlead.channels.discord.inbound.places import CHANNEL, link_to
from fairlead.core import replies as r
from fairlead.core.keys import parse_session_key
from fairlead.render.pieces import plan_pieces
from fairlead.render.replies import RenderedReply, render_reply
from fairlead.render.safe_text import code_block, quote_inline
from fairlead.render.words import say

_DESCRIPTION: Final = 4000
_PATH: Final = 1000
_IN_EMBEDS: Final = (r.AgentReport, r.UsageReport)


class FormattedReply(msgspec.Struct, frozen=True):
    """`file` is the whole text where content or embed hold only a part of it."""

    content: str = ""
    embed: discord.Embed | None = None
    file: bytes | None = None


def format_reply(reply: r.Reply, lang: str) -> FormattedReply:
    rendered = render_reply(reply, lang, _quote_path)
    if isinstance(reply, _IN_EMBEDS):
        return _embed("\n".join(rendered.rows), lang, rendered.title)
    if isinstance(reply, r.SessionCatalogue) and reply.sessions:
        return FormattedReply("\n".join(map(_session_row, reply.sessions)))
    return FormattedReply(_plain_content(rendered))


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
