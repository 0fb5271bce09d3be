"""The button under a failed job's end that tries the job again. Needs no memory of ours: its custom id names the job
and the state directory, so that it works after a restart and only where the job is known."""

from typing import Any, Final

import discord
import msgspec

from fairlead.render.words import say

_PREFIX: Final = "fl-retry"
_SEPARATOR: Final = "|"


class RetryButtonId(msgspec.Struct, frozen=True):
    state_id: str
    job_id: str


def add_retry_button(view: discord.ui.View, job_id: str, state_id: str, lang: str) -> None:
    button: discord.ui.Button[Any] = discord.ui.Button(
        style=discord.ButtonStyle.primary,
        label=say(lang, "chat.retry_button"),
        custom_id=_SEPARATOR.join((_PREFIX, state_id[:8], job_id)),
    )
    view.add_item(button)


def parse_retry_button(custom_id: str) -> RetryButtonId | None:
    match custom_id.split(_SEPARATOR):
        case [first, state_id, job_id] if first == _PREFIX:
            return RetryButtonId(state_id, job_id)
        case _:
            return None
