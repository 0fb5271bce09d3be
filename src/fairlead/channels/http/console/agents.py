"""The page *Agents*: what their programs say of themselves, and the processes that run for them now."""

import asyncio

from fairlead.channels.http.console.visit import PageContent, Visit
from fairlead.core import replies as r
from fairlead.core import requests
from fairlead.errors import Code, error
from fairlead.kit.marked_processes import MarkedProcess, list_marked
from fairlead.kit.process_usage import read_own_usage
from fairlead.render.console.agents import PATH, ProcessLine, agents_page
from fairlead.render.words import say


async def build_agents(visit: Visit) -> PageContent:
    found = await asyncio.to_thread(list_marked, f"{visit.view.state_id}:")
    processes = tuple(_describe(visit, process) for process in found)
    own = read_own_usage().resident_bytes
    page = agents_page(visit.view.agents(), processes, own, visit.lang, visit.now)
    return PageContent(say(visit.lang, "pages.nav.agents"), page)


def _describe(visit: Visit, process: MarkedProcess) -> ProcessLine:
    """A mark ends with the job for which the process was started."""
    job = visit.view.recent_job(process.mark.rpartition(":")[2])
    session = None if job is None else visit.view.session(job.session_key)
    return ProcessLine(
        pid=process.pid,
        command=process.command,
        resident_bytes=process.resident_bytes,
        agent="" if job is None else job.runtime,
        session_id="" if session is None else session.session_id,
        title="" if session is None else visit.view.session_line(session.session_key).title,
    )


async def change_agents(visit: Visit) -> str:
    match visit.parts["action"]:
        case "check":
            await visit.command(requests.AgentCheck(), r.AgentsChecked)
        case "stop" | "kill" as how:
            caller = visit.caller_in(visit.session(visit.text("session")))
            await visit.command(requests.AgentStop(how == "kill"), r.AgentStopped, caller)
        case other:
            raise error(Code.E_INVALID_ARGS, f"There is no action {other[:40]!r} for an agent.")
    return PATH
