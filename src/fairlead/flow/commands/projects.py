"""Commands about projects: make, add, list, report, rename, remove, switch."""

from fairlead.core import requests as ask
from fairlead.core.decide.projects import (
    FROM_COMMAND,
    AddProject,
    CreateProject,
    RemoveProject,
    RenameProject,
    SwitchProject,
)
from fairlead.core.machines.machine import Presence
from fairlead.core.machines.places import machine_of
from fairlead.core.replies import (
    ProjectCatalogue,
    ProjectInfo,
    ProjectReport,
    ProjectSelected,
    RemovedProject,
    RenamedProject,
)
from fairlead.core.requests import Caller
from fairlead.core.state import Project
from fairlead.flow.commands.parts import CommandParts, HandlerTable
from fairlead.flow.queries import reports


def project_handlers(parts: CommandParts) -> HandlerTable:
    commands = ProjectCommands(parts)
    return {
        ask.ProjectCreate: commands.create,
        ask.ProjectAdd: commands.add,
        ask.ProjectList: commands.list,
        ask.ProjectStatus: commands.status,
        ask.ProjectRename: commands.rename,
        ask.ProjectRemove: commands.remove,
        ask.ProjectSwitch: commands.switch,
    }


class ProjectCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._parts = parts

    async def create(self, request: ask.ProjectCreate, caller: Caller) -> ProjectInfo:
        parts = self._parts
        tools = tuple(dict.fromkeys(name for tool in request.tools if (name := tool.strip())))
        decision = await parts.ledger.record_durably(
            CreateProject(
                name=request.name,
                directory=await parts.directories.look(request.path),
                runtimes=tools,
                default_runtime=request.default_tool.strip(),
                args=request.args,
            )
        )
        return self._info(parts.state.projects[decision.project], caller, created=True)

    async def add(self, request: ask.ProjectAdd, caller: Caller) -> ProjectInfo:
        parts = self._parts
        decision = await parts.ledger.record_durably(AddProject(await parts.directories.look(request.path)))
        return self._info(parts.state.projects[decision.project], caller, created=not decision.duplicate)

    async def list(self, _request: ask.ProjectList, caller: Caller) -> ProjectCatalogue:
        return ProjectCatalogue(tuple(self._info(p, caller) for p in self._parts.state.listed_projects()))

    async def status(self, request: ask.ProjectStatus, _caller: Caller) -> ProjectReport:
        parts = self._parts
        return reports.project_report(parts.state, parts.project(request.project), parts.ledger.now())

    async def rename(self, request: ask.ProjectRename, _caller: Caller) -> RenamedProject:
        before = self._parts.project(request.project).name
        decision = await self._parts.ledger.record_durably(RenameProject(before, request.new_name.strip()))
        return RenamedProject(before, decision.project)

    async def remove(self, request: ask.ProjectRemove, caller: Caller) -> RemovedProject:
        """An agent that sits idle in the project is ended: it has nothing more to do there."""
        parts = self._parts
        project = parts.project(request.project)
        await parts.ledger.record_durably(RemoveProject(project.name, caller.person))
        for session in [s for s in parts.state.sessions.values() if s.project == project.name]:
            runtime = parts.runtimes.get(session.runtime)
            if runtime is not None:
                await runtime.end_session(session.session_key, "stop")
        return RemovedProject(project.name, project.path, "" if project.source == FROM_COMMAND else project.source)

    async def switch(self, request: ask.ProjectSwitch, caller: Caller) -> ProjectSelected:
        parts = self._parts
        await parts.agent_runtimes.look_again()
        session = parts.session_here(caller)
        key = session.key if session is not None else caller.session_key
        await parts.ledger.record_durably(SwitchProject(request.project, key, caller.conversation, caller.person))
        project = parts.project(request.project)
        return ProjectSelected(project.name, project.number, project.path, parts.state.sessions[key.text].runtime)

    def _info(self, project: Project, caller: Caller, *, created: bool = False) -> ProjectInfo:
        session = self._parts.session_here(caller)
        person = self._parts.state.people.get(caller.person)
        current = session.project if session is not None else (person.project if person is not None else "")
        machine = machine_of(project.path)
        presence = self._parts.machines.presence(machine) if machine else Presence(is_there=True)
        return ProjectInfo(
            number=project.number,
            name=project.name,
            path=project.path,
            enabled_tools=project.enabled_runtimes,
            default_tool=project.default_runtime,
            active=project.name == current,
            disabled=project.disabled,
            created=created,
            worktree=project.worktrees,
            machine=machine,
            machine_is_there=presence.is_there,
            machine_since=presence.since,
        )
