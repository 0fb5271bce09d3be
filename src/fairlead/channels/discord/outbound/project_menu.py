"""The menu under a message that was refused because no project is selected. Needs no memory of ours: its custom id
names the message and the state directory, so that it works after a restart."""

from collections.abc import Sequence
from typing import Any, Final

import discord
import msgspec

from fairlead.core.views import ProjectView

_PREFIX: Final = "fl-project"
_SEPARATOR: Final = "|"
_MOST_OPTIONS: Final = 25
_LABEL: Final = 100


class ProjectMenuId(msgspec.Struct, frozen=True):
    state_id: str
    message_id: int


def build_project_menu(projects: Sequence[ProjectView], message_id: int, state_id: str) -> discord.ui.View:
    view = discord.ui.View(timeout=None)
    menu: discord.ui.Select[Any] = discord.ui.Select(
        custom_id=_SEPARATOR.join((_PREFIX, state_id[:8], str(message_id))),
        options=[
            discord.SelectOption(label=f"{p.number}: {p.name}"[:_LABEL], value=str(p.number))
            for p in projects[:_MOST_OPTIONS]
        ],
    )
    view.add_item(menu)
    view.stop()  # choices come by their custom id, also to a later process: discord.py need not keep the view
    return view


def parse_project_menu(custom_id: str) -> ProjectMenuId | None:
    match custom_id.split(_SEPARATOR):
        case [first, state_id, message_id] if first == _PREFIX and message_id.isdecimal():
            return ProjectMenuId(state_id, int(message_id))
        case _:
            return None
