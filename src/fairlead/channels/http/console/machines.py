"""The page *Machines*, and what its forms do: each is the command of the same name. A key is made on the command line
alone, because the reply holds it."""

from fairlead.channels.http.console.visit import PageContent, Visit, is_about
from fairlead.core import replies as r
from fairlead.core import requests
from fairlead.core.live import JobMoved, LiveEvent
from fairlead.errors import Code, error
from fairlead.render.console.machines import PATH, machines_page
from fairlead.render.words import say


async def build_machines(visit: Visit) -> PageContent:
    page = machines_page(visit.view.machines(), visit.lang, visit.now)
    return PageContent(say(visit.lang, "pages.nav.machines"), page)


def is_machine_touched(event: LiveEvent) -> bool:
    return isinstance(event, JobMoved) or is_about(event, "machine")


async def change_machine(visit: Visit) -> str:
    machine = visit.text("machine")
    match visit.parts["action"]:
        case "rename":
            await visit.command(requests.MachineRename(machine, visit.text("name")), r.RenamedMachine)
        case "remove":
            await visit.command(requests.MachineRemove(machine), r.MachineWasRemoved)
        case "forget":
            await visit.command(requests.MachineForget(machine), r.MachineWasRemoved)
        case other:
            raise error(Code.E_INVALID_ARGS, f"There is no action {other[:40]!r} for a machine.")
    return PATH
