"""What stands around every page of the console: the document, the menu, the way past it. Knows no page's content."""

from typing import Final

import msgspec

from fairlead.render.console.markup import Content, Html, el, join
from fairlead.render.words import say

NAV: Final = (
    ("now", "/", "console.nav.now"),
    ("sessions", "/console/sessions", "console.nav.sessions"),
    ("search", "/console/search", "console.nav.search"),
    ("why", "/console/why", "console.nav.why"),
    ("spend", "/console/spend", "pages.nav.spend"),
    ("schedules", "/console/schedules", "pages.nav.schedules"),
    ("projects", "/console/projects", "pages.nav.projects"),
    ("machines", "/console/machines", "pages.nav.machines"),
    ("agents", "/console/agents", "pages.nav.agents"),
    ("health", "/console/health", "pages.nav.health"),
    ("logins", "/console/logins", "console.nav.logins"),
)
"""The menu: the name of a page, its path, and the key of its name in the menu."""

FOR_OWNER: Final = frozenset({"machines", "agents", "health"})
"""Pages that tell of everybody: a guest's menu does not have them."""

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class Assets(msgspec.Struct, frozen=True, kw_only=True):
    """Where the style sheet, the script and the icons are served: each path names its content."""

    style: str
    script: str
    icon: str
    touch_icon: str
    manifest: str


class PageFrame(msgspec.Struct, frozen=True, kw_only=True):
    """What the document needs besides its content. `page` is the name in the menu; `stream` is where the changes of
    this page come from, empty for a page that does not change; `open_questions` are counted beside *Now*."""

    lang: str
    assets: Assets
    page: str = ""
    person: str = ""
    is_owner: bool = False
    stream: str = ""
    open_questions: int = 0
    version: str = ""


def build_document(frame: PageFrame, title: str, *main: Content) -> str:
    """A page for somebody who is logged in."""
    lang = frame.lang
    body = (
        el("a", say(lang, "console.skip"), href="#main", class_="skip"),
        el(
            "header",
            el("a", _mark(), el("span", "Fairlead"), href="/", class_="brand"),
            el("span", "", id="stream-state", role="status", class_="stream-state"),
            notify_button("on", lang),
            el("span", el("bdi", frame.person), class_="person"),
            class_="top",
        ),
        el(
            "nav",
            el("ul", [_nav_item(frame, *row) for row in _visible_rows(frame)]),
            aria_label=say(lang, "console.menu"),
            id="nav",
        ),
        el(
            "main",
            el("div", id="notice", class_="notice", role="alert"),
            *main,
            id="main",
            tabindex="-1",
            data_stream=frame.stream or None,
        ),
        el("footer", say(lang, "page.version", version=frame.version), class_="foot"),
        el("template", _script_words(lang), id="words"),
    )
    return _document(frame, title, body, script=True)


def build_plain_document(frame: PageFrame, title: str, *main: Content, refresh: str = "") -> str:
    """A page for somebody who is not logged in: no menu. With `refresh`, the browser goes there at once by itself."""
    body = el("main", *main, id="main", class_="plain", tabindex="-1")
    return _document(frame, title, (body,), script=not refresh, refresh=refresh)


def nav_badge(lang: str, open_questions: int) -> Html:
    """How many questions are open, beside *Now*; the live stream replaces it."""
    words = say(lang, "console.questions_open", count=open_questions)
    shown = el("span", str(open_questions), aria_hidden="true") if open_questions else None
    spoken = el("span", words, class_="spoken") if open_questions else None
    return el("span", shown, spoken, id="nav-badge", class_="nav-badge", data_count=open_questions)


def notify_button(wanted: str, lang: str) -> Html:
    """Turns notifications of this browser on or off. It needs the script, which shows the one that fits."""
    words = say(lang, "console.notify.turn_on" if wanted == "on" else "console.notify.turn_off")
    return el("button", words, type="button", class_="button small", data_notify=wanted, hidden=True)


def _visible_rows(frame: PageFrame) -> list[tuple[str, str, str]]:
    return [row for row in NAV if frame.is_owner or row[0] not in FOR_OWNER]


def _nav_item(frame: PageFrame, name: str, path: str, key: str) -> Html:
    badge = nav_badge(frame.lang, frame.open_questions) if name == "now" else None
    current = "page" if name == frame.page else None
    return el("li", el("a", say(frame.lang, key), badge, href=path, aria_current=current))


def _document(frame: PageFrame, title: str, body: Content, *, script: bool, refresh: str = "") -> str:
    assets = frame.assets
    head = (
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1, viewport-fit=cover"),
        el("meta", name="robots", content="noindex"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="theme-color", content="#ffffff", media="(prefers-color-scheme: light)"),
        el("meta", name="theme-color", content="#10151b", media="(prefers-color-scheme: dark)"),
        el("meta", http_equiv="refresh", content=f"0;url={refresh}") if refresh else None,
        el("title", title, " · Fairlead"),
        el("link", rel="stylesheet", href=assets.style),
        el("link", rel="icon", href=assets.icon, type="image/svg+xml"),
        el("link", rel="apple-touch-icon", href=assets.touch_icon),
        el("link", rel="manifest", href=assets.manifest, crossorigin="use-credentials"),
        el("script", src=assets.script, type="module") if script else None,
    )
    return "<!doctype html>\n" + el("html", el("head", *head), el("body", body), lang=frame.lang)


def _mark() -> Html:
    """The ring through which a line is led."""
    ring = el("circle", cx=12, cy=12, r=7)
    rope = el("path", d="M2 20 C8 18 9 14 12 12 S16 6 22 4")
    return el("svg", ring, rope, viewBox="0 0 24 24", width=22, height=22, aria_hidden="true", class_="mark")


def _script_words(lang: str) -> Html:
    """What the script says by itself, in the page's language."""
    words = {
        "away": say(lang, "console.stream.away"),
        "back": say(lang, "console.stream.back"),
        "failed": say(lang, "console.stream.failed"),
        "notify": say(lang, "console.notify.is_on"),
        "cannot": say(lang, "console.notify.cannot"),
    }
    return join([el("span", text, data_key=key) for key, text in words.items()])
