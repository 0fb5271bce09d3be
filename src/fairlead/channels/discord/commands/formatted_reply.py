"""A reply to a command as it is sent to Discord. Knows no reply."""

import discord
import msgspec

from fairlead.render.pieces import ANSWER_FILE


class FormattedReply(msgspec.Struct, frozen=True):
    """`file` is the whole text where content or embed hold only a part of it."""

    content: str = ""
    embed: discord.Embed | None = None
    file: bytes | None = None
    file_name: str = ANSWER_FILE
