"""The page with the logins, and the two pages on the way in. Knows no cookie."""

import msgspec

from fairlead.render.console.layout import notify_button
from fairlead.render.console.markup import Content, Html, el
from fairlead.render.console.parts import button, hidden_field, moment, post_form
from fairlead.render.words import say


class LoginRow(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    person: str
    browser: str
    made_at: str
    used_at: str
    is_this: bool = False
    is_owner: bool = False


def logins_page(rows: tuple[LoginRow, ...], lang: str, now: str) -> Html:
    return el(
        "div",
        el("h1", say(lang, "console.nav.logins")),
        el("p", say(lang, "console.logins.what"), class_="lead"),
        el("ul", [_login_row(row, lang, now) for row in rows], class_="rows"),
        el("p", notify_button("on", lang), notify_button("off", lang)),
        el("p", say(lang, "console.logins.more")),
        el("pre", el("code", "fairlead console"), tabindex="0"),
        id="page",
    )


def _login_row(row: LoginRow, lang: str, now: str) -> Html:
    words = say(lang, "console.logins.leave") if row.is_this else say(lang, "console.logins.end")
    here = el("span", say(lang, "console.logins.this"), class_="badge state-running") if row.is_this else None
    return el(
        "li",
        el(
            "div",
            el("strong", f"{row.number}. ", el("bdi", row.person)),
            " ",
            here,
            el("p", el("bdi", row.browser), class_="prompt"),
            el(
                "p",
                say(lang, "console.logins.made"),
                " ",
                moment(row.made_at, now, lang),
                " · ",
                say(lang, "console.logins.used"),
                " ",
                moment(row.used_at, now, lang),
                class_="about",
            ),
            class_="text",
        ),
        post_form(f"/console/logins/{row.number}/end", button(words, kind="small"), class_="plain-post"),
        id=f"login-{row.number}",
        class_="row-item",
    )


def enter_page(code: str, lang: str) -> Content:
    """A link is used up by pressing the button, not by opening it: programs that look at links before people do press
    none. The script presses it at once."""
    return (
        el("h1", "Fairlead"),
        el("p", say(lang, "console.enter.what")),
        post_form(
            "/console/enter",
            hidden_field("code", code),
            button(say(lang, "console.enter.open"), kind="main"),
            id_="enter",
        ),
    )


def away_page(lang: str, *, had_link: bool = False) -> Content:
    """For somebody who is not logged in, or no longer. With `had_link` they came by a link that does not work."""
    return (
        el("h1", say(lang, "console.away.title")),
        el("p", say(lang, "console.enter.used"), class_="warning") if had_link else None,
        el("p", say(lang, "console.away.what")),
        el("pre", el("code", "fairlead console"), tabindex="0"),
        el("p", say(lang, "console.away.more")),
    )


def problem_page(sentences: tuple[str, ...], lang: str) -> Html:
    return el(
        "div",
        el("h1", say(lang, "console.problem.title")),
        [el("p", sentence) for sentence in sentences if sentence],
        el("p", el("a", say(lang, "console.problem.back"), href="/", class_="button")),
        id="page",
    )
