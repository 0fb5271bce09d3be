"""The page *Projects*, and what its forms do: each is the command of the same name."""

from fairlead.channels.http.console.visit import PageContent, Visit, is_about
from fairlead.core import replies as r
from fairlead.core import requests
from fairlead.core.live import JobMoved, LiveEvent
from fairlead.errors import Code, error
from fairlead.render.console.projects import PATH, ProjectLine, projects_page
from fairlead.render.words import say


async def build_projects(visit: Visit) -> PageContent:
    listed = await visit.command(requests.ProjectList(), r.ProjectCatalogue)
    lines = [
        ProjectLine(info, await visit.command(requests.ProjectStatus(info.name), r.ProjectReport))
        for info in listed.projects
    ]
    page = projects_page(tuple(lines), visit.lang, can_change=visit.is_owner)
    return PageContent(say(visit.lang, "pages.nav.projects"), page)


def is_project_touched(event: LiveEvent) -> bool:
    return isinstance(event, JobMoved) or is_about(event, "project") or is_about(event, "machine")


async def add_project(visit: Visit) -> str:
    await visit.command(requests.ProjectAdd(visit.text("path").strip()), r.ProjectInfo)
    return PATH


async def change_project(visit: Visit) -> str:
    """The gate knows which of these are the owner's alone."""
    project = visit.text("project")
    match visit.parts["action"]:
        case "use":
            await visit.command(requests.ProjectSwitch(project), r.ProjectSelected)
        case "rename":
            await visit.command(requests.ProjectRename(project, visit.text("name")), r.RenamedProject)
        case "remove":
            await visit.command(requests.ProjectRemove(project), r.RemovedProject)
        case "worktree":
            wanted = requests.ProjectWorktrees(project=project, worktree=visit.text("worktree") == "yes")
            await visit.command(wanted, r.ProjectWorktreesChosen)
        case other:
            raise error(Code.E_INVALID_ARGS, f"There is no action {other[:40]!r} for a project.")
    return PATH
