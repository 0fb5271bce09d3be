"""The buttons under the card of a turn that changed files. They need no memory of ours: a custom id names the command,
the job and the state directory, so that they work after a restart and only where the job is known."""

from typing import Any, Final

import discord
import msgspec

from fairlead.render.words import say

_PREFIX: Final = "fl-card"
_SEPARATOR: Final = "|"
BUTTONS: Final = {"changes": "card.changes", "undo": "card.undo", "fork": "card.fork"}
"""Commands about a job, with the words of their buttons. The button that tries a job again is the same everywhere:
`retry_button`."""


class CardButtonId(msgspec.Struct, frozen=True):
    state_id: str
    command: str
    job_id: str


def add_card_button(view: discord.ui.View, named: CardButtonId, lang: str) -> None:
    button: discord.ui.Button[Any] = discord.ui.Button(
        style=discord.ButtonStyle.secondary,
        label=say(lang, BUTTONS[named.command]),
        custom_id=_SEPARATOR.join((_PREFIX, named.state_id[:8], named.command, named.job_id)),
    )
    view.add_item(button)


def parse_card_button(custom_id: str) -> CardButtonId | None:
    match custom_id.split(_SEPARATOR):
        case [first, state_id, command, job_id] if first == _PREFIX and command in BUTTONS:
            return CardButtonId(state_id, command, job_id)
        case _:
            return None
