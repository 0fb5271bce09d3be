"""The steps of a start that change the state: found it, begin the service, mark interrupted jobs, register projects."""

from typing import Final

import msgspec

from fairlead.core.agents import ECHO
from fairlead.core.decide.job_ends import MarkInterrupted
from fairlead.core.decide.projects import AddProject, FollowAgents, UpdateProject
from fairlead.core.decide.sessions import BeginService, FoundState
from fairlead.core.events import JobMarkedUnknownAfterCrash
from fairlead.core.ids import JobId
from fairlead.core.state import Project
from fairlead.flow.ledger import Ledger
from fairlead.observe import log
from fairlead.ports import Directories

LISTED: Final = "PROJECTS"


class ProjectSources(msgspec.Struct, frozen=True):
    """`listed` are the directories of PROJECTS, in their order; each directory below `root` is a project too."""

    listed: tuple[str, ...] = ()
    root: str = ""


async def found_state(ledger: Ledger, state_id: str, version: str) -> None:
    await ledger.record_durably(FoundState(state_id, version))


async def found_state_and_begin(ledger: Ledger, *, state_id: str, version: str, pid: int, owner_id: str) -> None:
    await found_state(ledger, state_id, version)
    await ledger.record_durably(BeginService(version, pid, owner_id))


async def mark_interrupted(ledger: Ledger) -> list[JobId]:
    """Jobs that were running when Fairlead stopped. They are never run again by themselves."""
    decision = await ledger.record_durably(MarkInterrupted())
    jobs = [e.job_id for e in decision.events if isinstance(e, JobMarkedUnknownAfterCrash)]
    for job_id in jobs:
        log.warning("interrupted by the last shutdown", job_id=job_id, error_code="E_UNKNOWN_AFTER_CRASH")
    return jobs


def note_begun_undos(ledger: Ledger) -> list[str]:
    """Undos that were cut off; they are finished as soon as the workers run."""
    begun = [undo for undo in ledger.state.undos.values() if not undo.is_over]
    return [
        f"{'Redo' if undo.redo_of else 'Undo'} of {', '.join(undo.job_ids)} was cut off and is being finished."
        for undo in begun
    ]


async def register_projects(ledger: Ledger, sources: ProjectSources, directories: Directories) -> list[str]:
    """Register the projects of the settings, and see which paths came or went. Returns notes for a person."""
    notes: list[str] = []
    for path in sources.listed:
        notes += await _register(ledger, path, LISTED, directories)
    for path in _below(sources.root, directories, notes):
        notes += await _register(ledger, path, "FAIRLEAD_PROJECT_ROOT", directories)
    for project in ledger.state.listed_projects():
        notes += await _recheck(ledger, project, directories)
    return [*notes, *await _follow_agents(ledger)]


async def _follow_agents(ledger: Ledger) -> list[str]:
    """Projects get the agents that were installed since the last start. Says which project left echo for one."""
    before = {project.name: project.default_runtime for project in ledger.state.listed_projects()}
    await ledger.record_durably(FollowAgents())
    return [
        f"{project.default_runtime} is installed now: project {project.name} uses it instead of {ECHO}."
        for project in ledger.state.listed_projects()
        if project.default_runtime != before[project.name]
    ]


def _below(root: str, directories: Directories, notes: list[str]) -> list[str]:
    if not root:
        return []
    facts = directories.inspect(root)
    if facts.problem:
        notes.append(f"FAIRLEAD_PROJECT_ROOT: {facts.problem}")
        return []
    return directories.subdirectories(root)


async def _register(ledger: Ledger, path: str, source: str, directories: Directories) -> list[str]:
    facts = directories.inspect(path)
    if facts.problem:
        log.warning("project not registered", source=source, path=path, message=facts.problem)
        return [f"{source}: {facts.problem} It is ignored."]
    decision = await ledger.record_durably(AddProject(facts, source))
    if source == LISTED and ledger.state.projects[decision.project].removed:
        return [f"{source} names {path}, which was removed. /project add {path} registers it again."]
    return []


async def _recheck(ledger: Ledger, project: Project, directories: Directories) -> list[str]:
    """A path that is gone disables the project; one that is back enables it again."""
    facts = directories.inspect(project.path)
    still_gone = [f"Project {project.name} is disabled: {facts.problem}"] if facts.problem else []
    if bool(facts.problem) == bool(project.disabled):
        return still_gone
    # The registered path stays as it is: a link put in its place later must not lead elsewhere.
    kept = msgspec.structs.replace(facts, real_path=project.path)
    await ledger.record_durably(
        UpdateProject(
            name=project.name,
            directory=kept,
            runtimes=project.enabled_runtimes,
            default_runtime=project.default_runtime,
            args=project.default_args,
        )
    )
    return still_gone or [f"Project {project.name} is available again."]
