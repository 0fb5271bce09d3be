"""The button that gives a message which waits to the running turn. Needs no memory of ours: its custom id names the job
and the state directory, so that it works after a restart and only where the job is known."""

from typing import Any, Final

import discord
import msgspec

from fairlead.render.words import say

_PREFIX: Final = "fl-steer"
_SEPARATOR: Final = "|"


class SteerButtonId(msgspec.Struct, frozen=True):
    state_id: str
    job_id: str


def build_steer_button(job_id: str, state_id: str, lang: str) -> discord.ui.View:
    view = discord.ui.View(timeout=None)
    button: discord.ui.Button[Any] = discord.ui.Button(
        style=discord.ButtonStyle.secondary,
        label=say(lang, "chat.steer_button"),
        emoji="↪️",
        custom_id=_SEPARATOR.join((_PREFIX, state_id[:8], job_id)),
    )
    view.add_item(button)
    view.stop()  # clicks come by their custom ids, also to a later process: discord.py need not keep the view
    return view


def parse_steer_button(custom_id: str) -> SteerButtonId | None:
    match custom_id.split(_SEPARATOR):
        case [first, state_id, job_id] if first == _PREFIX:
            return SteerButtonId(state_id, job_id)
        case _:
            return None
