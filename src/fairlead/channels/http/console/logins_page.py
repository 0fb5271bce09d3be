"""The page with the logins: everybody sees their own, the owner sees all."""

from fairlead.channels.http.console.visit import PageContent, Visit
from fairlead.channels.http.logins import ConsoleLogin
from fairlead.errors import Code, error
from fairlead.render.console.logins import LoginRow, logins_page
from fairlead.render.words import say


async def build_logins(visit: Visit) -> PageContent:
    rows = tuple(_row_of(login, visit) for login in _visible_logins(visit))
    return PageContent(say(visit.lang, "console.nav.logins"), logins_page(rows, visit.lang, visit.now))


def _visible_logins(visit: Visit) -> list[ConsoleLogin]:
    return [login for login in visit.service.logins.all() if visit.is_owner or login.person == visit.login.person]


def _row_of(login: ConsoleLogin, visit: Visit) -> LoginRow:
    return LoginRow(
        number=login.number,
        person=login.person,
        browser=login.browser,
        made_at=login.made_at,
        used_at=login.used_at,
        is_this=login.number == visit.login.number,
        is_owner=login.is_owner,
    )


async def end_login(visit: Visit) -> str:
    wanted = visit.parts["number"]
    known = next((login for login in _visible_logins(visit) if str(login.number) == wanted), None)
    if known is None:
        raise error(Code.E_INVALID_ARGS, f"There is no login {wanted[:20]!r}.", next_step="See /console/logins.")
    await visit.service.logins.end(known.number)
    visit.feed.wake_all()
    return "/" if known.number == visit.login.number else "/console/logins"
