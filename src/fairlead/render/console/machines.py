"""The page *Machines*: which other machines there are, whether they are connected, and what runs and waits there."""

from typing import Final

from fairlead.core.replies import MachineRow
from fairlead.render.console.markup import Content, Html, el
from fairlead.render.console.parts import button, go_form, hidden_field, isolate, moment, nothing
from fairlead.render.words import say

PATH: Final = "/console/machines"


def machines_page(rows: tuple[MachineRow, ...], lang: str, now: str) -> Html:
    listed = [_machine_row(row, lang, now) for row in rows]
    return el(
        "div",
        el("h1", say(lang, "pages.nav.machines"), " ", el("span", str(len(rows)), class_="count")),
        el("ul", listed, class_="rows") if listed else nothing(say(lang, "pages.machines.none")),
        el("p", say(lang, "pages.machines.how"), class_="hint"),
        id="page",
    )


def _machine_row(row: MachineRow, lang: str, now: str) -> Html:
    return el(
        "li",
        el(
            "div",
            el("strong", row.name),
            " ",
            _presence_badge(row, lang),
            " ",
            (say(lang, "pages.machines.since"), " ", moment(row.since, now, lang)) if row.since else None,
            el("p", row.problem, class_="warning") if row.problem else None,
            el("p", _numbers(row, lang), class_="about") if row.has_joined else None,
            el("p", isolate(_what_is_there(row, lang), 1000), class_="about") if row.has_joined else None,
            _forms(row, lang),
            class_="text",
        ),
        id=f"machine-{row.name}",
        class_="row-item",
    )


def _presence_badge(row: MachineRow, lang: str) -> Html:
    if row.is_there:
        return el("span", say(lang, "pages.machines.connected"), class_="badge state-success")
    key = "pages.machines.away" if row.has_joined else "pages.machines.new"
    return el("span", say(lang, key), class_="badge state-waiting")


def _numbers(row: MachineRow, lang: str) -> str:
    return say(lang, "pages.machines.numbers", running=row.running, slots=row.slots, waiting=row.waiting)


def _what_is_there(row: MachineRow, lang: str) -> str:
    return say(
        lang,
        "pages.machines.what",
        agents=", ".join(row.agents),
        projects=", ".join(row.projects),
        version=row.version,
    )


def _forms(row: MachineRow, lang: str) -> Html:
    label = say(lang, "pages.machines.new_name")
    name = el("input", type="text", name="name", value=row.name, autocomplete="off", maxlength=32, aria_label=label)
    return el(
        "details",
        el("summary", say(lang, "pages.projects.change"), el("span", f": {row.name}", class_="spoken")),
        _form(row, "rename", name, button(say(lang, "pages.projects.rename"), kind="small"), class_="row one-line"),
        _form(row, "remove", button(say(lang, "pages.machines.remove"), kind="small danger")),
        el("p", say(lang, "pages.machines.remove.what"), class_="hint"),
        _form(row, "forget", button(say(lang, "pages.machines.forget"), kind="small danger")),
        el("p", say(lang, "pages.machines.forget.what"), class_="hint"),
        id=f"machine-{row.name}-change",
        class_="project-forms",
    )


def _form(row: MachineRow, action: str, *content: Content, class_: str = "row") -> Html:
    return go_form(f"{PATH}/{action}", el("div", hidden_field("machine", row.name), *content, class_=class_))
