"""Logins of the console, for holders of the token: make a link, list the logins, end one. Knows no cookie."""

from urllib.parse import urlencode

from fairlead.api.wire import ConsoleLink, ConsoleLoginEnded, ConsoleLoginInfo, ConsoleLoginList, NewConsoleLink
from fairlead.channels.http.call import Call
from fairlead.channels.http.logins import LINK_SEC
from fairlead.errors import Code, error

_LONGEST_NUMBER = 9


async def post_console_link(call: Call) -> ConsoleLink:
    """For the owner, or for a person of the allow-list, who then sees what that person may see."""
    body: NewConsoleLink = call.body
    owner = call.caller(None).person
    person = body.person or owner
    if person != owner and not call.service.gate.allows(person):
        raise error(
            Code.E_INVALID_USER,
            f"{person[:60]!r} is not on the allow-list.",
            next_step="Add the person to FAIRLEAD_ALLOWED_USER_IDS, or leave the name out for a link of your own.",
        )
    code = call.service.logins.make_link(person, is_owner=person == owner)
    return ConsoleLink(f"/console/enter?{urlencode({'code': code})}", person, int(LINK_SEC))


async def get_console_logins(call: Call) -> ConsoleLoginList:
    return ConsoleLoginList(
        tuple(
            ConsoleLoginInfo(
                number=login.number,
                person=login.person,
                is_owner=login.is_owner,
                made_at=login.made_at,
                used_at=login.used_at,
                browser=login.browser,
            )
            for login in call.service.logins.all()
        )
    )


async def post_end_console_login(call: Call) -> ConsoleLoginEnded:
    wanted = call.part("number")
    is_number = wanted.isascii() and wanted.isdecimal() and len(wanted) <= _LONGEST_NUMBER
    if not is_number or not await call.service.logins.end(int(wanted)):
        raise error(
            Code.E_INVALID_ARGS,
            f"There is no login {wanted[:20]!r}.",
            next_step="`fairlead console logins` lists them.",
        )
    return ConsoleLoginEnded(int(wanted))
