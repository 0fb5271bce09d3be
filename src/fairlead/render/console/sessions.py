"""The list of sessions: one page of them, and a field to find others."""

from urllib.parse import urlencode

from fairlead.core.console_views import SessionLine, SessionPage
from fairlead.render.console.markup import Html, el
from fairlead.render.console.parts import isolate, moment, nothing, session_path, state_badge
from fairlead.render.words import say

PATH = "/console/sessions"


def sessions_page(found: SessionPage, words: str, lang: str, now: str) -> Html:
    rows = [session_row(line, lang, now) for line in found.sessions]
    more = f"{PATH}?{urlencode({'q': words, 'after': found.following})}"
    return el(
        "div",
        el("h1", say(lang, "console.nav.sessions"), " ", el("span", str(found.total), class_="count")),
        el(
            "div",
            el("a", say(lang, "console.sessions.own"), href=session_path("me"), class_="button main"),
            class_="row",
        ),
        _search(words, lang),
        el("ul", rows, class_="rows", id="sessions")
        if rows
        else nothing(say(lang, "console.sessions.none" if words else "console.sessions.empty")),
        el("p", el("a", say(lang, "console.sessions.more"), href=more, class_="button")) if found.following else None,
        id="page",
    )


def _search(words: str, lang: str) -> Html:
    return el(
        "form",
        el("label", say(lang, "console.sessions.find"), for_="find"),
        el(
            "div",
            el("input", type="search", name="q", id="find", value=words, autocomplete="off"),
            el("button", say(lang, "console.do.find"), type="submit", class_="button"),
            class_="row one-line",
        ),
        method="get",
        action=PATH,
        role="search",
        class_="search",
    )


def session_row(line: SessionLine, lang: str, now: str) -> Html:
    pending = say(lang, "console.sessions.pending", count=line.pending) if line.pending else ""
    cost = f"${line.cost_usd:.2f}" if line.cost_usd >= 0.005 else ""
    return el(
        "li",
        el(
            "div",
            el("a", isolate(line.title, 100), href=session_path(line.session_id), class_="title"),
            el(
                "p",
                el("span", isolate(" · ".join(filter(None, (line.project, line.tool, pending, cost))))),
                " ",
                moment(line.last_activity_at, now, lang),
                class_="about",
            ),
            class_="text",
        ),
        state_badge(line.state, lang),
        id=f"session-{line.session_id}",
        class_="row-item",
    )
