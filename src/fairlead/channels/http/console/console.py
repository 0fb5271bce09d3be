"""The console's requests: from a cookie to a visit, from a page's content to a document. Knows no page by name.

What protects it, beside `guard.py`:
1. Everything but the assets and the way in needs a login; the cookie is HttpOnly and SameSite=Strict, and its name has
   the id of this state directory.
2. A guest is asked for at the gate with every request: who was taken off the allow-list is out at once.
3. A form must come from a page of this server (`Sec-Fetch-Site` or `Origin`).
"""

import asyncio
import gzip
import re
from collections.abc import Awaitable, Callable, Iterable
from itertools import chain
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import msgspec
from aiohttp import web
from aiohttp.web_request import FileField

from fairlead import __version__
from fairlead.channels.http.call import Service
from fairlead.channels.http.console.assets import PATH, asset_paths, load_assets, manifest
from fairlead.channels.http.console.feed import ConsoleFeed
from fairlead.channels.http.console.routes import ACTIONS, DOWNLOADS, PAGES
from fairlead.channels.http.console.stream import send_changes
from fairlead.channels.http.console.visit import Action, Download, Page, PageContent, Visit, values_of
from fairlead.channels.http.errors import HttpRefusal, status_of
from fairlead.channels.http.logins import UNUSED_SEC, ConsoleLogin
from fairlead.errors import Code, FairleadError, error
from fairlead.observe import log_failure
from fairlead.render.console.layout import CONTENT_SECURITY_POLICY, PageFrame, build_document, build_plain_document
from fairlead.render.console.logins import away_page, enter_page, problem_page
from fairlead.render.console.markup import Content, el
from fairlead.render.errors import error_text
from fairlead.render.front_page import pick_page_language
from fairlead.render.words import say

CONSOLE_PATHS: Final = "/console/"
ENTER_PATH: Final = "/console/enter"
EVENTS_PATH: Final = "/console/events"
MANIFEST_PATH: Final = "/console/manifest.webmanifest"
FROM_SCRIPT: Final = "X-Fairlead-Script"
"""The script of the page sends a form with this header: it gets a refusal as an element of the page, and shows what
became of the form by itself."""

_FOR_EVER: Final = "public, max-age=31536000, immutable"
_WORTH_PACKING: Final = 1024
_PACK_LEVEL: Final = 5
_MOST_FORM_PARTS: Final = 200

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ConsoleParts(msgspec.Struct, frozen=True):
    """What the console has beside the service of the API. `is_closed` says that the server is closing."""

    feed: ConsoleFeed
    is_closed: Callable[[], bool]
    most_form_bytes: int


class Console:
    def __init__(self, service: Service, parts: ConsoleParts) -> None:
        self._service = service
        self._parts = parts

    # --- the table of routes

    def routes(self) -> Iterable[tuple[str, str, _Handler]]:
        """Method, path, handler. `/` is served by the channel, which has a page for everybody there too."""
        yield "GET", f"{PATH}{{name}}", self._get_asset
        yield "GET", MANIFEST_PATH, self._get_manifest
        yield "GET", ENTER_PATH, self._get_enter
        yield "POST", ENTER_PATH, self._post_enter
        yield "GET", EVENTS_PATH, self._get_events
        for page in PAGES:
            if page.path != "/":
                yield "GET", page.path, self._page_handler(page)
        for download in DOWNLOADS:
            yield "GET", download.path, self._download_handler(download)
        for action in ACTIONS:
            yield "POST", action.path, self._action_handler(action)

    # --- assets

    async def _get_asset(self, request: web.Request) -> web.StreamResponse:
        asset = load_assets().get(request.match_info["name"])
        if asset is None:
            raise web.HTTPNotFound
        headers = {"Content-Type": asset.media_type, "Cache-Control": _FOR_EVER, "X-Content-Type-Options": "nosniff"}
        if asset.packed and "gzip" in request.headers.get("Accept-Encoding", ""):
            return web.Response(body=asset.packed, headers={**headers, "Content-Encoding": "gzip"})
        return web.Response(body=asset.content, headers=headers)

    async def _get_manifest(self, _request: web.Request) -> web.StreamResponse:
        headers = {"Content-Type": "application/manifest+json", "Cache-Control": "public, max-age=3600"}
        return web.Response(body=manifest(), headers=headers)

    # --- the way in

    async def _get_enter(self, request: web.Request) -> web.StreamResponse:
        lang, code = self._language(request), request.query.get("code", "")
        if not self._service.logins.is_link(code):
            return self._plain(request, 401, say(lang, "console.away.title"), away_page(lang, had_link=bool(code)))
        return self._plain(request, 200, say(lang, "console.enter.open"), enter_page(code, lang))

    async def _post_enter(self, request: web.Request) -> web.StreamResponse:
        lang = self._language(request)
        form = await self._read_form(request)
        try:
            secret, login = await self._service.logins.enter(str(form.get("code", "")), _browser_of(request))
        except FairleadError as refused:
            log_failure("console login refused", refused)
            return self._plain(request, 401, say(lang, "console.away.title"), away_page(lang, had_link=True))
        if login.is_owner is False and not self._service.gate.allows(login.person):
            await self._service.logins.end(login.number)
            return self._plain(request, 403, say(lang, "console.away.title"), away_page(lang))
        response = _see_other("/")
        self._set_cookie(request, response, secret)
        return response

    def _set_cookie(self, request: web.Request, response: web.StreamResponse, secret: str) -> None:
        response.set_cookie(
            self._cookie_name,
            secret,
            max_age=UNUSED_SEC,
            httponly=True,
            samesite="Strict",
            secure=self._service.proxies.is_encrypted(request),
            path="/",
        )

    @property
    def _cookie_name(self) -> str:
        return f"fairlead-{self._service.view.state_id}"

    # --- who asks

    async def find_login(self, request: web.Request) -> ConsoleLogin | None:
        cookie = request.cookies.get(self._cookie_name)
        login = None if not cookie else await self._service.logins.find(cookie)
        if login is None:
            return None
        return login if self._service.gate.allows(login.person, pre_authorised=login.is_owner) else None

    def _language(self, request: web.Request) -> str:
        accepted = request.headers.get("Accept-Language", "")
        return pick_page_language(accepted, self._service.view.language_of(""))

    def _visit(self, request: web.Request, login: ConsoleLogin, **more: Any) -> Visit:
        return Visit(
            service=self._service,
            feed=self._parts.feed,
            http=request,
            login=login,
            lang=self._language(request),
            **more,
        )

    # --- pages

    async def get_now(self, request: web.Request, login: ConsoleLogin) -> web.StreamResponse:
        return await self._show(PAGES[0], self._visit(request, login, query=dict(request.query)))

    def _page_handler(self, page: Page) -> _Handler:
        async def respond(request: web.Request) -> web.StreamResponse:
            login = await self.find_login(request)
            if login is None:
                return self._send_away(request)
            visit = self._visit(request, login, parts=dict(request.match_info), query=dict(request.query))
            if page.for_owner and not login.is_owner:
                main = problem_page((Code.E_OWNER_ONLY, say(visit.lang, "console.problem.owner")), visit.lang)
                title = say(visit.lang, "console.problem.title")
                return self._document(visit, 403, "", "", PageContent(title, main))
            return await self._show(page, visit)

        return respond

    async def _show(self, page: Page, visit: Visit) -> web.StreamResponse:
        stream = self._stream_path(visit) if page.is_live else ""
        try:
            content = await page.build(visit)
        except FairleadError as problem:
            return self._show_problem(visit, problem)
        response = self._document(visit, 200, page.name, stream, content)
        # From now on thirty days: the browser must not forget a login that is used.
        self._set_cookie(visit.http, response, visit.http.cookies[self._cookie_name])
        if content.fetched and visit.http.method == "GET":
            await response.prepare(visit.http)
            await response.write_eof()
            await visit.acknowledge(content.fetched)
        return response

    def _download_handler(self, download: Download) -> _Handler:
        async def respond(request: web.Request) -> web.StreamResponse:
            login = await self.find_login(request)
            if login is None:
                return self._send_away(request)
            visit = self._visit(request, login, parts=dict(request.match_info), query=dict(request.query))
            try:
                return await download.respond(visit)
            except FairleadError as problem:
                return self._show_problem(visit, problem)

        return respond

    def _stream_path(self, visit: Visit) -> str:
        """The place is taken before the page is rendered: what happens meanwhile is sent again rather than missed."""
        of = visit.http.path_qs
        return f"{EVENTS_PATH}?{urlencode({'of': of, 'since': self._parts.feed.place()})}"

    def _document(self, visit: Visit, status: int, name: str, stream: str, content: PageContent) -> web.StreamResponse:
        frame = PageFrame(
            lang=visit.lang,
            assets=asset_paths(),
            page=name,
            person=visit.login.person,
            is_owner=visit.is_owner,
            stream=stream,
            open_questions=self._count_questions(visit),
            version=__version__,
        )
        return _html(visit.http, status, build_document(frame, content.title, content.main))

    def _count_questions(self, visit: Visit) -> int:
        return sum(visit.sees(question.session_key) for question in visit.view.open_questions())

    def _show_problem(self, visit: Visit, problem: FairleadError) -> web.StreamResponse:
        log_failure("console page refused", problem, request=visit.http.path[:200])
        text = error_text(problem, visit.lang)
        main = problem_page((str(text.code), text.what, text.detail, text.next_step), visit.lang)
        title = say(visit.lang, "console.problem.title")
        return self._document(visit, status_of(problem.code), "", "", PageContent(title, main))

    def _send_away(self, request: web.Request) -> web.StreamResponse:
        """A link on another site leads here without the cookie, because it is SameSite=Strict: the page asks for itself
        once more, and the cookie comes along."""
        lang = self._language(request)
        if request.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"} and request.method == "GET":
            path = request.path_qs
            main = el("p", el("a", say(lang, "console.enter.open"), href=path))
            return self._plain(request, 200, "Fairlead", main, refresh=path)
        return self._plain(request, 401, say(lang, "console.away.title"), away_page(lang))

    def _plain(
        self, request: web.Request, status: int, title: str, main: Content, *, refresh: str = ""
    ) -> web.StreamResponse:
        frame = PageFrame(lang=self._language(request), assets=asset_paths())
        return _html(request, status, build_plain_document(frame, title, main, refresh=refresh))

    # --- forms

    def _action_handler(self, action: Action) -> _Handler:
        async def respond(request: web.Request) -> web.StreamResponse:
            login = await self.find_login(request)
            if login is None:
                return self._send_away(request)
            form = await self._read_form(request)
            visit = self._visit(request, login, parts=dict(request.match_info), form=form)
            try:
                if action.for_owner and not login.is_owner:
                    raise error(Code.E_OWNER_ONLY)
                path = await action.act(visit)
            except FairleadError as problem:
                return self._refuse_form(visit, problem)
            finally:
                _close_files(form)
            if request.headers.get(FROM_SCRIPT):
                return web.Response(status=204, headers={"X-Fairlead-Next": path, **_NO_STORE})
            return _see_other(_own_path(visit.text("back")) or path)

        return respond

    def _refuse_form(self, visit: Visit, problem: FairleadError) -> web.StreamResponse:
        if not visit.http.headers.get(FROM_SCRIPT):
            return self._show_problem(visit, problem)
        log_failure("console form refused", problem, request=visit.http.path[:200])
        return self._notice(visit.http, status_of(problem.code), problem)

    def _notice(self, request: web.Request, status: int, problem: FairleadError) -> web.StreamResponse:
        text = error_text(problem, self._language(request))
        lines = [el("code", str(text.code)), " ", " ".join(filter(None, (text.what, text.detail, text.next_step)))]
        return _html(request, status, el("p", lines))

    def show_refusal(self, request: web.Request, status: int, problem: FairleadError) -> web.StreamResponse | None:
        """A refusal from before a page or a form was reached, for a browser; None for any other client."""
        if request.headers.get(FROM_SCRIPT):
            return self._notice(request, status, problem)
        if "text/html" not in request.headers.get("Accept", ""):
            return None
        lang = self._language(request)
        text = error_text(problem, lang)
        told = (str(text.code), text.what, text.detail, text.next_step)
        main = problem_page((say(lang, "console.problem.nowhere"),) if status == 404 else told, lang)
        return self._plain(request, status, say(lang, "console.problem.title"), main)

    async def _read_form(self, request: web.Request) -> dict[str, Any]:
        """Fields by name; those that occur several times as a list. The time and the size are limited."""
        try:
            async with asyncio.timeout(30):
                posted = await request.clone(client_max_size=self._parts.most_form_bytes).post()
        except TimeoutError:
            raise HttpRefusal(408, error(Code.E_INVALID_ARGS, "The form was not received in time.")) from None
        except ValueError as fault:
            raise HttpRefusal(400, error(Code.E_INVALID_ARGS, "The form cannot be read.")) from fault
        if len(posted) > _MOST_FORM_PARTS:
            raise error(Code.E_INVALID_ARGS, "The form has too many fields.")
        names = dict.fromkeys(posted)
        return {name: values[0] if len(values := posted.getall(name)) == 1 else values for name in names}

    # --- live changes

    async def _get_events(self, request: web.Request) -> web.StreamResponse:
        login = await self.find_login(request)
        if login is None:
            raise HttpRefusal(401, error(Code.E_UNAUTHORIZED, "The login has ended."))
        shown = urlsplit(request.query.get("of", "/"))
        for page in PAGES:
            parts = _match(page.path, shown.path)
            if parts is not None and page.is_live and (login.is_owner or not page.for_owner):
                visit = self._visit(request, login, parts=parts, query=dict(parse_qsl(shown.query)))
                return await send_changes(visit, page, self._is_served(login))
        raise HttpRefusal(404, error(Code.E_INVALID_ARGS, "This page has no stream."))

    def _is_served(self, login: ConsoleLogin) -> Callable[[], bool]:
        def look() -> bool:
            if self._parts.is_closed():
                return False
            known = any(one.number == login.number for one in self._service.logins.all())
            return known and self._service.gate.allows(login.person, pre_authorised=login.is_owner)

        return look


def _close_files(form: dict[str, Any]) -> None:
    """Also of a form whose files nobody read."""
    for one in chain.from_iterable(map(values_of, form.values())):
        if isinstance(one, FileField):
            one.file.close()


def _match(pattern: str, path: str) -> dict[str, str] | None:
    found = re.fullmatch(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(pattern)), path)
    return None if found is None else {name: unquote(value) for name, value in found.groupdict().items()}


def _own_path(path: str) -> str:
    """A path of this server; empty for anything that could lead elsewhere."""
    return path if re.fullmatch(r"/(?![/\\])[\x21-\x7e]{0,500}", path) else ""


def _see_other(path: str) -> web.Response:
    return web.Response(status=303, headers={"Location": path, **_NO_STORE})


def _browser_of(request: web.Request) -> str:
    return request.headers.get("User-Agent", "")


_NO_STORE: Final = {
    "Cache-Control": "no-store",
    # No other site is told of an address. To our own the browser says where a form comes from: with `no-referrer` it
    # would send `Origin: null`, and over plain HTTP in a private network nothing else.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_PAGE_HEADERS: Final = {
    **_NO_STORE,
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Vary": "Accept-Language, Cookie",
}


def _html(request: web.Request, status: int, text: str) -> web.Response:
    body, headers = text.encode("utf-8", "replace"), dict(_PAGE_HEADERS)
    if len(body) > _WORTH_PACKING and "gzip" in request.headers.get("Accept-Encoding", ""):
        body = gzip.compress(body, _PACK_LEVEL)
        headers["Content-Encoding"] = "gzip"
    return web.Response(status=status, body=body, headers=headers)
