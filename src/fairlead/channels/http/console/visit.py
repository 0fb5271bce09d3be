"""A request of somebody who is logged in: who it is, in which language, and what they may ask. Knows no page."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar, cast

import msgspec
from aiohttp import web

from fairlead.channels.http.call import Service
from fairlead.channels.http.console.feed import ConsoleFeed, Happening
from fairlead.channels.http.logins import ConsoleLogin
from fairlead.core import timestamps
from fairlead.core.conversation import ConversationRef
from fairlead.core.keys import SessionKey, user_key
from fairlead.core.live import LiveEvent, Record, RecordChanged
from fairlead.core.replies import Reply
from fairlead.core.requests import Caller, Request
from fairlead.core.views import SessionView
from fairlead.errors import Code, error
from fairlead.kit.tasks import run_to_end
from fairlead.ports import View
from fairlead.render.console.markup import Content, Html

CHANNEL = "console"
OWN = "me"
"""The name in addresses of the visitor's own session, which may not have begun."""

R = TypeVar("R", bound=Reply)


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """`parts` are the named parts of the page's path, `query` what stands behind it, `form` what was posted."""

    service: Service
    feed: ConsoleFeed
    http: web.Request
    login: ConsoleLogin
    lang: str
    parts: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    form: Mapping[str, Any] = {}

    @property
    def view(self) -> View:
        return self.service.view

    @property
    def is_owner(self) -> bool:
        return self.login.is_owner

    @property
    def now(self) -> str:
        return timestamps.moment(datetime.now(UTC))

    @property
    def caller(self) -> Caller:
        """The visitor, in their own session. A guest is authorised like everywhere: by the allow-list, each time."""
        person = self.login.person
        return self._caller_at(person, user_key(agent_id=self.service.agent_id, user_id=person))

    def caller_in(self, session: SessionView) -> Caller:
        """The visitor, in any session: a conversation of its own, which is never bound, so that what is asked there is
        about this session."""
        own = self.caller
        if session.session_key == own.session_key.text:
            return own
        return self._caller_at(f"{self.login.person} in {session.session_id}", session.key)

    def _caller_at(self, conversation_id: str, key: SessionKey) -> Caller:
        return Caller(
            person=self.login.person,
            conversation=ConversationRef(CHANNEL, self.service.agent_id, conversation_id),
            session_key=key,
            pre_authorised=self.login.is_owner,
        )

    @property
    def via(self) -> str:
        """By which way a response came, for the journal."""
        client = self.service.proxies.client_of(self.http)
        return f"{self.caller.conversation.address} in the browser (login {self.login.number}) from {client}"

    def sees(self, session_key: str) -> bool:
        return self.view.sees(self.caller, session_key)

    def session(self, name: str) -> SessionView:
        """Raises E_SESSION_NOT_FOUND, also for a session that the visitor may not see."""
        wanted = self.caller.session_key.text if name == OWN else name
        session = self.view.session_named(wanted)
        if session is None or not self.sees(session.session_key):
            raise error(Code.E_SESSION_NOT_FOUND, f"There is no session {name[:100]!r}.")
        return session

    async def command(self, request: Request, kind: type[R], caller: Caller | None = None) -> R:
        """Run to its end even if the browser hangs up."""
        reply = await run_to_end(self.service.gate.command(request, caller or self.caller))
        assert isinstance(reply, kind), f"{type(request).__name__} was answered with {type(reply).__name__}"
        return reply

    async def acknowledge(self, job_ids: Iterable[str]) -> None:
        """The person has these answers."""
        for job_id in job_ids:
            await run_to_end(self.service.gate.acknowledge(job_id))

    def values(self, name: str) -> list[Any]:
        """All that was posted under this name: texts and files."""
        return values_of(self.form.get(name, []))

    def text(self, name: str) -> str:
        """A field of the form; empty if it is missing or a file."""
        value = self.form.get(name, "")
        return value if isinstance(value, str) else ""


class PageContent(msgspec.Struct, frozen=True):
    """What a page shows. `main` has the id `page`, so that it can be replaced as a whole."""

    title: str
    main: Html
    fetched: tuple[str, ...] = ()
    """The jobs whose answers waited for this person, and are here."""


class TextGrowth(msgspec.Struct, frozen=True):
    """Further words of a part that the page shows: behind its first `at` characters; `n` characters."""

    id: str
    at: int
    n: int
    text: str


class Fetched(msgspec.Struct, frozen=True):
    """An answer that waited for this person is among the changes."""

    job_id: str


Fragment: TypeAlias = "Content | TextGrowth | Fetched"

Build = Callable[[Visit], Awaitable[PageContent]]
Changes = Callable[[Visit, Sequence[Happening]], Awaitable[Sequence[Fragment]]]
Act = Callable[[Visit], Awaitable[str]]
"""Does what a form asks for, and returns the path of the page that is shown next."""


def values_of(given: Any) -> list[Any]:
    """A field that was posted several times is a list."""
    return cast("list[Any]", given) if isinstance(given, list) else [given]


def is_about(event: LiveEvent, what: Record) -> bool:
    return isinstance(event, RecordChanged) and event.what == what


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is its entry in the menu. `is_touched` says which live events change it: it is then built again. With
    `changes`, only the elements that this returns are sent."""

    path: str
    name: str
    build: Build
    is_touched: Callable[[LiveEvent], bool] | None = None
    changes: Changes | None = None
    every_sec: float = 0.0
    """A page of measurements is built again so often, while somebody has it open."""
    for_owner: bool = False

    @property
    def is_live(self) -> bool:
        return self.is_touched is not None or self.changes is not None or self.every_sec > 0


class Action(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    act: Act
    for_owner: bool = False


class Download(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not a page: a file, a text."""

    path: str
    respond: Callable[[Visit], Awaitable[web.StreamResponse]]
