"""The page *Agents*: each agent with its program, version and login, and the processes with their memory."""

from typing import Final

import msgspec

from fairlead.core.agent_views import AgentsView, AgentView
from fairlead.render.console.markup import Content, Html, el
from fairlead.render.console.parts import (
    button,
    go_form,
    hidden_field,
    isolate,
    moment,
    nothing,
    section,
    session_path,
)
from fairlead.render.words import say

PATH: Final = "/console/agents"
_CAN: Final = {
    "permissions": "pages.agents.can.permissions",
    "questions": "pages.agents.can.questions",
    "steering": "pages.agents.can.steering",
    "forks": "pages.agents.can.forks",
    "models": "pages.agents.can.models",
    "modes": "pages.agents.can.modes",
    "images": "pages.agents.can.images",
    "commands": "pages.agents.can.commands",
}


class ProcessLine(msgspec.Struct, frozen=True, kw_only=True):
    """A process that was started for an agent, with the session that it was started for, as far as that is known."""

    pid: int
    command: str
    resident_bytes: int | None = None
    agent: str = ""
    session_id: str = ""
    title: str = ""


def agents_page(
    known: AgentsView, processes: tuple[ProcessLine, ...], own_bytes: int | None, lang: str, now: str
) -> Html:
    return el(
        "div",
        el("h1", say(lang, "pages.nav.agents")),
        _check_form(known, lang, now),
        el("ul", [_agent_row(agent, lang) for agent in known.agents], class_="rows"),
        _processes(processes, own_bytes, lang),
        id="page",
    )


def _check_form(known: AgentsView, lang: str, now: str) -> Html:
    told = (
        (say(lang, "pages.agents.checked"), " ", moment(known.checked_at, now, lang))
        if known.checked_at
        else say(lang, "pages.agents.unchecked")
    )
    check = go_form(f"{PATH}/check", button(say(lang, "pages.agents.check"), kind="small"))
    return el("div", check, el("span", told, class_="about-inline"), class_="row part")


def _agent_row(agent: AgentView, lang: str) -> Html:
    check = agent.check
    program = f"{check.program} {check.version}" if check else f"{agent.source} {agent.version}"
    running = el("span", say(lang, "pages.agents.running", count=agent.running), class_="badge state-running")
    return el(
        "li",
        el(
            "div",
            el("strong", agent.name),
            " ",
            _health_badge(agent, lang),
            " ",
            running if agent.running else None,
            el("p", el("code", program.strip())) if program.strip() else None,
            [el("p", isolate(note, 300), class_="prompt") for note in (check.notes if check else ())],
            el("p", _projects(agent, lang), class_="about"),
            el("p", _abilities(agent, lang), class_="about"),
            class_="text",
        ),
        id=f"agent-{agent.name}",
        class_="row-item",
    )


def _health_badge(agent: AgentView, lang: str) -> Content:
    check = agent.check
    if check is None:
        return None
    if not check.ok:
        return el("span", say(lang, "pages.agents.broken"), class_="badge state-failed")
    if check.needs_login:
        return el("span", say(lang, "pages.agents.login"), class_="badge state-waiting")
    return el("span", say(lang, "pages.agents.ok"), class_="badge state-success")


def _projects(agent: AgentView, lang: str) -> str:
    if not agent.projects:
        return say(lang, "pages.agents.no_projects")
    return say(lang, "pages.agents.projects", projects=", ".join(agent.projects))


def _abilities(agent: AgentView, lang: str) -> str:
    return " · ".join(say(lang, _CAN[can]) for can in agent.can if can in _CAN) or say(lang, "pages.agents.can.none")


def _processes(processes: tuple[ProcessLine, ...], own_bytes: int | None, lang: str) -> Html:
    total = sum(process.resident_bytes or 0 for process in processes)
    sums = say(lang, "pages.agents.memory", agents=spell_bytes(total), own=spell_bytes(own_bytes))
    return section(
        say(lang, "pages.agents.processes"),
        el("p", sums, class_="lead"),
        el("ul", [_process_row(process, lang) for process in processes], class_="rows")
        if processes
        else nothing(say(lang, "pages.agents.no_processes")),
        id_="processes",
        count=len(processes),
    )


def _process_row(process: ProcessLine, lang: str) -> Html:
    session = (
        el("a", isolate(process.title, 80), href=session_path(process.session_id), class_="title")
        if process.session_id
        else None
    )
    stop = go_form(
        f"{PATH}/stop",
        hidden_field("session", process.session_id),
        button(say(lang, "pages.agents.stop"), kind="small", label=f"{say(lang, 'pages.agents.stop')}: {process.pid}"),
    )
    return el(
        "li",
        el(
            "div",
            el("strong", f"{process.agent or '?'} · {spell_bytes(process.resident_bytes)}"),
            " ",
            session,
            el("p", el("code", isolate(process.command, 160)), class_="about"),
            el("p", f"pid {process.pid}", class_="about"),
            class_="text",
        ),
        stop if process.session_id else None,
        id=f"process-{process.pid}",
        class_="row-item",
    )


def spell_bytes(size: int | None) -> str:
    return "?" if size is None else f"{size / 1024 / 1024:,.0f} MiB"
