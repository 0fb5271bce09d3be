"""The page *Projects*: where agents work, which of them may, and what new sessions begin with."""

from typing import Final

import msgspec

from fairlead.core.replies import ProjectInfo, ProjectReport
from fairlead.render.console.markup import Content, Html, el
from fairlead.render.console.parts import button, go_form, hidden_field, isolate, nothing
from fairlead.render.replies import machine_words
from fairlead.render.words import say

PATH: Final = "/console/projects"


class ProjectLine(msgspec.Struct, frozen=True):
    info: ProjectInfo
    report: ProjectReport


def projects_page(lines: tuple[ProjectLine, ...], lang: str, *, can_change: bool) -> Html:
    rows = [_project_row(line, lang, can_change=can_change) for line in lines]
    return el(
        "div",
        el("h1", say(lang, "pages.nav.projects"), " ", el("span", str(len(lines)), class_="count")),
        el("ul", rows, class_="rows") if rows else nothing(say(lang, "pages.projects.none")),
        _add_form(lang) if can_change else None,
        id="page",
    )


def _project_row(line: ProjectLine, lang: str, *, can_change: bool) -> Html:
    info, report = line.info, line.report
    here = el("span", say(lang, "pages.projects.yours"), class_="badge state-running") if info.active else None
    return el(
        "li",
        el(
            "div",
            el("strong", f"{info.number}. ", isolate(info.name, 80)),
            " ",
            here,
            el("p", el("code", isolate(info.path))),
            el("p", info.disabled, class_="warning") if info.disabled else None,
            _machine(info, lang),
            el("p", _agents(info, lang), class_="about"),
            el("p", _numbers(report, lang), class_="about"),
            _failure(report, lang),
            _changes(info, lang, can_change=can_change),
            class_="text",
        ),
        id=f"project-{info.number}",
        class_="row-item",
    )


def _machine(info: ProjectInfo, lang: str) -> Content:
    if not info.machine:
        return None
    words = machine_words(info.machine, lang, is_there=info.machine_is_there)
    return el("p", words, class_="about" if info.machine_is_there else "warning")


def _agents(info: ProjectInfo, lang: str) -> Content:
    named = [
        (el("strong", name), " ", say(lang, "pages.projects.default")) if name == info.default_tool else name
        for name in info.enabled_tools
    ]
    listed = [(", " if number else None, one) for number, one in enumerate(named)]
    trees = say(lang, "pages.projects.worktrees") if info.worktree else say(lang, "pages.projects.no_worktrees")
    return say(lang, "pages.projects.agents"), " ", listed, " · ", trees


def _numbers(report: ProjectReport, lang: str) -> str:
    return say(
        lang,
        "pages.projects.numbers",
        sessions=report.session_total,
        running=report.running_sessions,
        queued=report.queued_jobs,
    )


def _failure(report: ProjectReport, lang: str) -> Content:
    if not report.failed_jobs_24h:
        return None
    words = say(lang, "pages.projects.failed", count=report.failed_jobs_24h, error=report.last_error or "")
    return el("p", words, class_="problem")


def _changes(info: ProjectInfo, lang: str, *, can_change: bool) -> Html:
    use = None if info.active else _form(info, "use", button(say(lang, "pages.projects.use"), kind="small"))
    return el("div", el("div", use, class_="row") if use else None, _owner_forms(info, lang) if can_change else None)


def _owner_forms(info: ProjectInfo, lang: str) -> Html:
    on = "no" if info.worktree else "yes"
    words = say(lang, "pages.projects.trees_off") if info.worktree else say(lang, "pages.projects.trees_on")
    label = say(lang, "pages.projects.new_name")
    name = el("input", type="text", name="name", value=info.name, autocomplete="off", maxlength=80, aria_label=label)
    return el(
        "details",
        el("summary", say(lang, "pages.projects.change"), el("span", f": {info.name}", class_="spoken")),
        _form(info, "rename", name, button(say(lang, "pages.projects.rename"), kind="small"), class_="row one-line"),
        _form(info, "worktree", hidden_field("worktree", on), button(words, kind="small")),
        _form(info, "remove", button(say(lang, "pages.projects.remove"), kind="small danger")),
        el("p", say(lang, "pages.projects.remove.what"), class_="hint"),
        id=f"project-{info.number}-change",
        class_="project-forms",
    )


def _form(info: ProjectInfo, action: str, *content: Content, class_: str = "row") -> Html:
    return go_form(f"{PATH}/{action}", el("div", hidden_field("project", info.name), *content, class_=class_))


def _add_form(lang: str) -> Html:
    path = el("input", type="text", name="path", id="path", autocomplete="off", maxlength=1000)
    return el(
        "section",
        el("h2", say(lang, "pages.projects.add"), id="add-heading"),
        go_form(
            f"{PATH}/add",
            el("label", say(lang, "pages.projects.path"), for_="path"),
            el("div", path, button(say(lang, "pages.projects.add.do")), class_="row one-line"),
            label=say(lang, "pages.projects.add"),
        ),
        id="add",
        class_="part search",
        aria_labelledby="add-heading",
    )
