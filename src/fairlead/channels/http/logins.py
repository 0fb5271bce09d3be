"""Who is logged in to the console: one-time links in memory, logins in a file of the state directory. Knows no page.

1. A link is valid for two minutes and once. It is in memory only: after a restart a new one is made.
2. A login is a random secret in a cookie. The file (0600) has its SHA-256 alone, so who reads the file cannot log in.
3. A login ends when somebody ends it, or when it was not used for thirty days.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from fairlead.core import timestamps
from fairlead.errors import Code, error
from fairlead.kit.files import PRIVATE_FILE, read_if_there, replace_durably
from fairlead.kit.tasks import run_to_end

FILE_NAME: Final = "console-logins.json"
LINK_SEC: Final = 120.0
UNUSED_SEC: Final = 30 * 24 * 3600
_MOST_LINKS: Final = 32
_MOST_LOGINS: Final = 100
_NOTE_USE_SEC: Final = 3600.0
"""A use is written down at most so often."""
_LONGEST_BROWSER: Final = 120


class ConsoleLogin(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """`digest` is that of the secret in the cookie; `browser` is what the browser says of itself."""

    number: int
    digest: str
    person: str
    is_owner: bool
    made_at: str
    used_at: str
    browser: str = ""


class LoginList(msgspec.Struct, frozen=True, omit_defaults=True):
    """The content of the file."""

    made: int = 0
    logins: tuple[ConsoleLogin, ...] = ()


class _Link(msgspec.Struct, frozen=True):
    person: str
    is_owner: bool
    until: float


class ConsoleLogins:
    """Without a directory, logins end with the process."""

    def __init__(
        self, directory: Path | None = None, *, now: Callable[[], str] = lambda: timestamps.moment(datetime.now(UTC))
    ) -> None:
        self._path = None if directory is None else directory / FILE_NAME
        self._now = now
        self._links: dict[str, _Link] = {}
        self._list: LoginList | None = None
        self._writing = asyncio.Lock()

    def make_link(self, person: str, *, is_owner: bool) -> str:
        """The code of a new link."""
        now = asyncio.get_running_loop().time()
        self._links = {code: link for code, link in self._links.items() if link.until > now}
        while len(self._links) >= _MOST_LINKS:
            del self._links[next(iter(self._links))]
        code = secrets.token_urlsafe(24)
        self._links[code] = _Link(person, is_owner, now + LINK_SEC)
        return code

    def is_link(self, code: str) -> bool:
        link = self._links.get(code)
        return link is not None and link.until > asyncio.get_running_loop().time()

    async def enter(self, code: str, browser: str) -> tuple[str, ConsoleLogin]:
        """Uses up a link. The secret for the cookie, and the login, which is durable. Raises E_UNAUTHORIZED."""
        link = self._links.pop(code, None)
        if link is None or link.until <= asyncio.get_running_loop().time():
            sentence = "This link was used already, or is older than two minutes."
            raise error(Code.E_UNAUTHORIZED, sentence, next_step="`fairlead console` makes a new one.")
        secret = secrets.token_urlsafe(32)
        known = self._load()
        login = ConsoleLogin(
            number=known.made + 1,
            digest=_digest(secret),
            person=link.person,
            is_owner=link.is_owner,
            made_at=self._now(),
            used_at=self._now(),
            browser="".join(c for c in browser if c.isprintable())[:_LONGEST_BROWSER],
        )
        await self._replace(LoginList(known.made + 1, (*known.logins, login)[-_MOST_LOGINS:]))
        return secret, login

    async def find(self, secret: str) -> ConsoleLogin | None:
        """The login of a cookie; None if there is none, or no longer."""
        digest = _digest(secret)
        login = next((one for one in self.all() if secrets.compare_digest(one.digest, digest)), None)
        if login is None:
            return None
        now = self._now()
        if timestamps.seconds_between(login.used_at, now) > _NOTE_USE_SEC:
            login = msgspec.structs.replace(login, used_at=now)
            known = self._load()
            logins = tuple(login if one.number == login.number else one for one in known.logins)
            await self._replace(LoginList(known.made, logins))
        return login

    def all(self) -> tuple[ConsoleLogin, ...]:
        """Those that have not ended."""
        oldest = timestamps.plus(self._now(), -UNUSED_SEC)
        return tuple(login for login in self._load().logins if login.used_at > oldest)

    async def end(self, number: int) -> bool:
        known = self._load()
        left = tuple(login for login in known.logins if login.number != number)
        if len(left) == len(known.logins):
            return False
        await self._replace(LoginList(known.made, left))
        return True

    def _load(self) -> LoginList:
        if self._list is None:
            data = None if self._path is None else read_if_there(self._path)
            self._list = LoginList() if data is None else _read_list(data)
            if self._path is not None and data is not None and self._path.stat().st_mode & 0o077:
                self._path.chmod(PRIVATE_FILE)
        return self._list

    async def _replace(self, changed: LoginList) -> None:
        """In memory at once, and on disk when this returns."""
        self._list = changed
        if self._path is not None:
            await run_to_end(self._write(self._path))

    async def _write(self, path: Path) -> None:
        async with self._writing:
            await asyncio.to_thread(replace_durably, path, msgspec.json.encode(self._load()))


def _read_list(data: bytes) -> LoginList:
    """A file that cannot be read lets nobody in: people make a new link."""
    try:
        return msgspec.json.decode(data, type=LoginList)
    except msgspec.DecodeError:
        return LoginList()


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "backslashreplace")).hexdigest()
