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


def build_retry_button(job_id: str, state_id: str, lang: str) -> discord.ui.View:
    view = discord.ui.View(timeout=None)
    button: discord.ui.Button[Any] = discord.ui.Button(
        style=discord.ButtonStyle.primary,
        label=say(lang, "chat.retry_button"),
        custom_id=_SEPARATOR.join((_PREFIX, state_id[:8], job_id)),
    )
    view.add_item(button)
    view.stop()  # clicks come by their custom ids, also to a later process: discord.py need not keep the view
    return view


def parse_retry_button(custom_id: str) -> RetryButtonId | None:
    match custom_id.split(_SEPARATOR):
        case [first, state_id, job_id] if first == _PREFIX:
            return RetryButtonId(state_id, job_id)
        case _:
            return None
