"""The page *Schedules*: when each runs next, what became of its last run, and buttons for what its commands do."""

import shlex
from typing import Final

from fairlead.core.replies import ScheduleRow
from fairlead.render.console.markup import Content, Html, el
from fairlead.render.console.parts import button, clock_time, go_form, isolate, job_link, moment, nothing
from fairlead.render.words import say

PATH: Final = "/console/schedules"
TICKS: Final = 3
_STATUS: Final = {
    "proposed": "pages.schedules.proposed",
    "active": "pages.schedules.active",
    "paused": "pages.schedules.paused",
    "done": "pages.schedules.done",
}
_BADGES: Final = {"active": "state-running", "proposed": "state-waiting"}
_OUTCOMES: Final = {
    "ran": "pages.schedules.ran",
    "overlap": "pages.schedules.overlap",
    "missed": "pages.schedules.missed",
    "check": "pages.schedules.check",
    "refused": "pages.schedules.refused",
}
_ACTIONS: Final = {
    "confirm": "pages.schedules.do.confirm",
    "run": "pages.schedules.do.run",
    "pause": "pages.schedules.do.pause",
    "resume": "pages.schedules.do.resume",
    "remove": "pages.schedules.do.remove",
}


def schedules_page(rows: tuple[ScheduleRow, ...], person: str, lang: str, now: str) -> Html:
    """`person` may change only their own; the owner, for whom it is empty, may change all."""
    items = [_schedule_item(row, lang, now, can_change=not person or row.person == person) for row in rows]
    return el(
        "div",
        el("h1", say(lang, "pages.nav.schedules"), " ", el("span", str(len(rows)), class_="count")),
        el("p", say(lang, "pages.schedules.what"), class_="lead"),
        el("ul", items, class_="rows") if items else nothing(say(lang, "pages.schedules.none")),
        el("pre", el("code", f'/schedule add "{say(lang, "pages.schedules.example")}" "…"'), tabindex="0"),
        id="page",
    )


def _schedule_item(row: ScheduleRow, lang: str, now: str, *, can_change: bool) -> Html:
    status = el("span", say(lang, _STATUS[row.status]), class_=f"badge {_BADGES.get(row.status, '')}".strip())
    return el(
        "li",
        el(
            "div",
            el("strong", f"{row.number}. "),
            el("code", row.cron or say(lang, "pages.schedules.once")),
            " ",
            status,
            el("p", isolate(row.text, 400), class_="prompt"),
            _next_ticks(row, lang),
            _last_run(row, lang, now),
            el("p", isolate(_facts(row, lang)), class_="about"),
            _buttons(row, lang) if can_change else None,
            class_="text",
        ),
        id=f"schedule-{row.number}",
        class_="row-item",
    )


def _next_ticks(row: ScheduleRow, lang: str) -> Content:
    """In the schedule's own zone, in which it was written."""
    if not row.next:
        return None
    ticks = [el("li", local) for local in row.next_local]
    return el(
        "div",
        el("span", say(lang, "pages.schedules.next", zone=row.zone), class_="label"),
        el("ul", ticks, class_="ticks"),
    )


def _last_run(row: ScheduleRow, lang: str, now: str) -> Content:
    if not row.last_tick:
        return None
    outcome = say(lang, _OUTCOMES[row.last_outcome]) if row.last_outcome in _OUTCOMES else row.last_outcome
    detail = isolate(row.last_detail, 160) if row.last_detail and not row.last_job_id else None
    return el(
        "p",
        say(lang, "pages.schedules.last"),
        " ",
        moment(row.last_tick, now, lang) if row.last_tick <= now else clock_time(row.last_tick),
        ": ",
        outcome,
        " ",
        job_link(row.last_job_id) if row.last_job_id else detail,
        class_="about",
    )


def _facts(row: ScheduleRow, lang: str) -> str:
    counted = say(lang, "pages.schedules.counted", runs=row.runs, skipped=row.skipped)
    check = f"$ {shlex.join(row.check)}" if row.check else ""
    return " · ".join(filter(None, (row.person, row.project, counted, check)))


def _buttons(row: ScheduleRow, lang: str) -> Html:
    actions = {
        "proposed": ("confirm", "remove"),
        "active": ("run", "pause", "remove"),
        "paused": ("run", "resume", "remove"),
        "done": ("remove",),
    }[row.status]
    forms = [
        go_form(
            f"{PATH}/{row.number}/{action}",
            button(
                say(lang, _ACTIONS[action]),
                kind="small danger" if action == "remove" else "small",
                label=f"{say(lang, _ACTIONS[action])}: {row.number}",
            ),
        )
        for action in actions
    ]
    return el("div", forms, class_="row")
