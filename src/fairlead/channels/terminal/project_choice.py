"""Where a terminal works: the project asked for, else the one at hand, else its own directory, registered for it."""

from typing import NamedTuple

from fairlead.api import Client
from fairlead.channels.terminal.options import ChatOptions
from fairlead.core import replies, requests


class ChosenProject(NamedTuple):
    """`tool` is empty where the person did not ask for a project."""

    name: str
    tool: str = ""


async def choose_project(client: Client, options: ChatOptions) -> ChosenProject | None:
    if options.project is not None:
        selected = await client.command(requests.ProjectSwitch(options.project), options.user)
        assert isinstance(selected, replies.ProjectSelected)
        return ChosenProject(selected.name, options.tool or selected.tool)
    at_hand = await _project_at_hand(client, options.user)
    if at_hand is None and options.directory is not None:
        at_hand = await _register(client, options.user, options.directory)
    return None if at_hand is None else ChosenProject(at_hand.name)


async def _project_at_hand(client: Client, user: str) -> replies.ProjectInfo | None:
    catalogue = await client.command(requests.ProjectList(), user)
    assert isinstance(catalogue, replies.ProjectCatalogue)
    usable = [project for project in catalogue.projects if not project.disabled]
    chosen = [project for project in usable if project.active] or (usable if len(usable) == 1 else [])
    return chosen[0] if chosen else None


async def _register(client: Client, user: str, directory: str) -> replies.ProjectInfo:
    added = await client.command(requests.ProjectAdd(directory), user)
    assert isinstance(added, replies.ProjectInfo)
    await client.command(requests.ProjectSwitch(added.name), user)
    return added
