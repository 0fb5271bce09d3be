"""The page *Search*: sessions by their names, and what was said in them, newest first, as far back as it looked."""

import re
from typing import Final
from urllib.parse import urlencode

from fairlead.core.console_views import FoundText, SessionPage, TextPage
from fairlead.render.console.markup import Content, Html, el
from fairlead.render.console.parts import isolate, job_link, moment, nothing, section, session_path, turn_anchor
from fairlead.render.console.sessions import session_row
from fairlead.render.safe_text import one_line
from fairlead.render.words import say

PATH: Final = "/console/search"
_LONGEST_EXCERPT: Final = 400


def search_page(words: str, sessions: SessionPage, texts: TextPage, lang: str, now: str) -> Html:
    return el(
        "div",
        el("h1", say(lang, "console.nav.search")),
        _form(words, lang),
        _results(words, sessions, texts, lang, now) if words.strip() else nothing(say(lang, "console.search.what")),
        id="page",
    )


def _form(words: str, lang: str) -> Html:
    return el(
        "form",
        el("label", say(lang, "console.search.find"), for_="find"),
        el(
            "div",
            el("input", type="search", name="q", id="find", value=words, autocomplete="off", maxlength=200),
            el("button", say(lang, "console.do.find"), type="submit", class_="button"),
            class_="row one-line",
        ),
        method="get",
        action=PATH,
        role="search",
        class_="search",
    )


def _results(words: str, sessions: SessionPage, texts: TextPage, lang: str, now: str) -> Content:
    rows = [session_row(line, lang, now) for line in sessions.sessions]
    all_of_them = el("a", say(lang, "console.sessions.more"), href=f"/console/sessions?{urlencode({'q': words})}")
    found = [_text_row(text, words, lang, now) for text in texts.texts]
    return (
        section(
            say(lang, "console.nav.sessions"),
            el("ul", rows, class_="rows"),
            el("p", all_of_them) if sessions.following else None,
            id_="found-sessions",
            count=sessions.total,
        )
        if rows
        else None,
        section(
            say(lang, "console.search.said"),
            el("ul", found, class_="rows") if found else nothing(say(lang, "console.search.none")),
            _how_far(words, texts, lang, now),
            id_="found-texts",
        ),
    )


def _how_far(words: str, texts: TextPage, lang: str, now: str) -> Html:
    """Nobody should take the end of a page for the end of the journal."""
    if texts.is_whole:
        return el("p", say(lang, "console.search.whole"), class_="hint")
    further = f"{PATH}?{urlencode({'q': words, 'before': texts.before})}"
    return el(
        "p",
        say(lang, "console.search.until"),
        " ",
        moment(texts.since, now, lang),
        " ",
        el("a", say(lang, "console.search.further"), href=further, class_="button small"),
        class_="hint",
    )


def _text_row(text: FoundText, words: str, lang: str, now: str) -> Html:
    kind = say(lang, "console.search.answer" if text.is_answer else "console.search.prompt")
    title = isolate(text.title, 80) if text.title else isolate(text.job_id)
    place = f"{session_path(text.session_id)}{turn_anchor(text.job_id)}" if text.session_id else None
    return el(
        "li",
        el(
            "div",
            el("a", title, href=place, class_="title") if place else el("strong", title),
            el("span", kind, " ", job_link(text.job_id), " ", moment(text.at, now, lang), class_="facts"),
            el("p", el("bdi", _mark(one_line(text.excerpt, _LONGEST_EXCERPT), words)), class_="prompt"),
            class_="text",
        ),
        class_="row-item",
    )


def _mark(text: str, words: str) -> Content:
    """The words that were looked for, marked where they stand."""
    wanted = "|".join(re.escape(word) for word in words.split())
    parts = re.split(f"({wanted})", text, flags=re.IGNORECASE) if wanted else [text]
    return [el("mark", part) if place % 2 else part for place, part in enumerate(parts)]
