"""One-time links and logins."""

import asyncio
from pathlib import Path

import pytest

from fairlead.channels.http.logins import LINK_SEC, UNUSED_SEC, ConsoleLogins
from fairlead.core import timestamps
from fairlead.errors import Code, FairleadError

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.at = "2026-11-18T03:00:00.000Z"

    def __call__(self) -> str:
        return self.at


@pytest.mark.req("G4")
async def test_a_link_is_used_up_by_the_first_who_uses_it():
    logins = ConsoleLogins()
    code = logins.make_link("local", is_owner=True)
    assert logins.is_link(code)
    secret, login = await logins.enter(code, "Firefox\n" + "x" * 500)
    assert (login.person, login.is_owner, len(login.browser)) == ("local", True, 120)
    with pytest.raises(FairleadError) as refused:
        await logins.enter(code, "")
    assert refused.value.code is Code.E_UNAUTHORIZED
    assert await logins.find(secret) == login
    assert await logins.find(secret + "x") is None


@pytest.mark.req("G4")
async def test_a_link_is_valid_for_two_minutes(monkeypatch: pytest.MonkeyPatch):
    logins = ConsoleLogins()
    code = logins.make_link("local", is_owner=True)
    loop = asyncio.get_running_loop()
    later = loop.time() + LINK_SEC + 0.1
    monkeypatch.setattr(loop, "time", lambda: later)
    assert not logins.is_link(code)
    with pytest.raises(FairleadError):
        await logins.enter(code, "")


@pytest.mark.req("G4")
async def test_a_login_that_is_used_stays_and_one_that_is_not_ends(tmp_path: Path):
    clock = Clock()
    logins = ConsoleLogins(tmp_path, now=clock)
    used, _ = await logins.enter(logins.make_link("local", is_owner=True), "")
    unused, _ = await logins.enter(logins.make_link("4711", is_owner=False), "")
    for _ in range(3):
        clock.at = timestamps.plus(clock.at, UNUSED_SEC / 2)
        assert await logins.find(used) is not None
    assert await logins.find(unused) is None
    assert [login.number for login in ConsoleLogins(tmp_path, now=clock).all()] == [1]
    assert await logins.end(1)
    assert not await logins.end(1)
    assert ConsoleLogins(tmp_path, now=clock).all() == ()
