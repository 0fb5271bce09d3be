"""Where a terminal works: the project asked for, else the one that contains the current directory.

A directory that is not a project yet is offered to the person; without a person it is registered, and that is said. One
that has a `caution` is never registered without a person's word.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from fairlead.api import Client
from fairlead.channels.terminal.options import ChatOptions
from fairlead.channels.terminal.working_directory import (
    CAUTION_WORDS,
    WorkingDirectory,
    caution_about,
    find_working_directory,
    is_inside,
)
from fairlead.core import replies, requests
from fairlead.errors import Code, error
from fairlead.render.words import say


class ChosenProject(NamedTuple):
    """`reference` names the project for as long as it is there, whatever it is called; `remark` is for the person."""

    name: str
    reference: str
    tool: str
    remark: str = ""
    path: str = ""


Confirm = Callable[[WorkingDirectory], Awaitable[bool]]
"""Asks the person whether agents may work in this directory."""


async def choose_project(client: Client, options: ChatOptions, confirm: Confirm) -> ChosenProject | None:
    """None where the terminal is in no directory and nothing was asked for: then each message goes where the session
    is. Raises E_PROJECT_NOT_SELECTED."""
    if options.project is not None:
        return await _switch(client, options, options.project)
    if options.directory is None:
        return None
    return await _Choice(client, options, find_working_directory(options.directory, options.home)).make(confirm)


async def _switch(client: Client, options: ChatOptions, project: str, remark: str = "") -> ChosenProject:
    selected = await client.command(requests.ProjectSwitch(project), options.user)
    assert isinstance(selected, replies.ProjectSelected)
    return ChosenProject(
        name=selected.name,
        reference=project_reference(selected.number),
        tool=options.tool or selected.tool,
        remark=remark,
        path=selected.path,
    )


def project_reference(number: int) -> str:
    return f"#{number}"


class _Choice:
    def __init__(self, client: Client, options: ChatOptions, here: WorkingDirectory) -> None:
        self._client = client
        self._options = options
        self._here = here

    async def make(self, confirm: Confirm) -> ChosenProject:
        catalogue = await self._client.command(requests.ProjectList(), self._options.user)
        assert isinstance(catalogue, replies.ProjectCatalogue)
        usable = [project for project in catalogue.projects if not project.disabled]
        around = self._project_around(usable)
        if around is not None:
            return await _switch(self._client, self._options, project_reference(around.number))
        if not self._options.example and await confirm(self._here):
            return await self._register(self._here.root)
        at_hand = self._project_at_hand(usable)
        if at_hand is not None:
            return await self._go_elsewhere(at_hand)
        if self._options.example:
            return await self._register(self._options.example)
        why = self._caution() or self._say("not_a_project", path=self._short(self._here.root))
        raise error(Code.E_PROJECT_NOT_SELECTED, why, next_step=self._say("nowhere_to_work"))

    def _project_around(self, usable: list[replies.ProjectInfo]) -> replies.ProjectInfo | None:
        """The innermost project that contains the current directory. Somebody who made the home directory a project
        did not mean everything below it."""
        around = [project for project in usable if self._is_around(project)]
        return max(around, key=lambda project: len(project.path), default=None)

    def _is_around(self, project: replies.ProjectInfo) -> bool:
        caution = caution_about(project.path, self._options.home)
        if caution == "own_code" and self._options.example:
            return False
        is_everything = caution in {"home", "above_home"}
        return project.path == self._here.path if is_everything else is_inside(self._here.path, project.path)

    def _project_at_hand(self, usable: list[replies.ProjectInfo]) -> replies.ProjectInfo | None:
        """The one that the person worked in last, or the only one."""
        safe = [project for project in usable if not caution_about(project.path, self._options.home)]
        chosen = [project for project in safe if project.active] or (safe if len(safe) == 1 else [])
        return chosen[0] if chosen else None

    async def _go_elsewhere(self, project: replies.ProjectInfo) -> ChosenProject:
        remark = self._say("works_elsewhere", path=self._short(self._here.path), project=project.name)
        is_expected = bool(self._options.example)
        reference = project_reference(project.number)
        return await _switch(self._client, self._options, reference, "" if is_expected else remark)

    async def _register(self, directory: str) -> ChosenProject:
        added = await self._client.command(requests.ProjectAdd(directory), self._options.user)
        assert isinstance(added, replies.ProjectInfo)
        remark = self._say("registered", path=self._short(added.path), project=added.name)
        return await _switch(self._client, self._options, project_reference(added.number), remark)

    def _caution(self) -> str:
        return say(self._options.lang, CAUTION_WORDS[self._here.caution]) if self._here.caution else ""

    def _say(self, key: str, **fields: str) -> str:
        return say(self._options.lang, f"terminal.{key}", **fields)

    def _short(self, path: str) -> str:
        return short_path(path, self._options.home)


def short_path(path: str, home: str) -> str:
    """With ~ for the home directory, as people write it."""
    if not home or not is_inside(path, home):
        return path
    return "~" if path == home else f"~/{Path(path).relative_to(home)}"
