"""Daemons that share a token, in virtual time, on a Discord that only passes messages on."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.channels.discord.outbound.other_daemons import OtherDaemons
from fairlead.channels.discord.outbound.rest import CALLS_PER_SECOND, CurrentClient, RestCalls
from fairlead.channels.push.rate_limit import RateLimit
from fairlead.kit.tasks import TaskOwner
from fairlead.testing.clock import run_virtually

LATENCY_SEC = 0.1


class Server:
    """As much of Discord as daemons need to hear of each other: ids that rise, and an event for every session."""

    def __init__(self) -> None:
        self.standing: dict[int, str] = {}
        self.nonces: list[str] = []
        self.sessions: list[OtherDaemons] = []
        self.http = SimpleNamespace(start_private_message=self._open, delete_message=self._delete)

    async def _open(self, _user_id: int) -> dict[str, str]:
        await asyncio.sleep(LATENCY_SEC)
        return {"id": "7"}

    def get_partial_messageable(self, _channel_id: int) -> Any:
        return SimpleNamespace(send=self._send)

    async def _send(self, text: str, *, nonce: str, silent: bool) -> Any:
        assert silent
        assert len(nonce) <= 25
        assert nonce not in self.nonces, "Discord shows a repeated nonce to nobody"
        await asyncio.sleep(LATENCY_SEC / 2)
        self.nonces.append(nonce)
        message_id = (len(self.nonces) << 58) + 1 if len(self.nonces) < 16 else len(self.nonces)
        self.standing[message_id] = text
        for session in self.sessions:
            asyncio.get_running_loop().call_later(LATENCY_SEC, session.hear, nonce, message_id, 7)
        await asyncio.sleep(LATENCY_SEC / 2)
        return SimpleNamespace(id=message_id)

    async def _delete(self, _channel_id: int, message_id: int, *, reason: str | None) -> None:
        assert reason is None
        self.standing.pop(message_id, None)

    def daemon(self, owner: TaskOwner, state_id: str) -> OtherDaemons:
        rest = RestCalls(RateLimit(CALLS_PER_SECOND), CurrentClient(self))  # type: ignore[arg-type]
        view: Any = SimpleNamespace(state_id=state_id)
        made = OtherDaemons(rest, view, owner, owner_id="1", language="en")
        self.sessions.append(made)
        made.begin()
        return made


def test_alone_it_serves_and_leaves_no_message_behind() -> None:
    async def story() -> None:
        server = Server()
        async with TaskOwner("test") as owner:
            daemon = server.daemon(owner, "aaaa")
            assert await daemon.may_serve()
            await asyncio.sleep(1)
            assert server.standing == {}
            daemon.begin()  # a reconnect asks nobody
            assert await daemon.may_serve()
            assert len(server.nonces) == 1
            owner.cancel()

    run_virtually(story())


@pytest.mark.parametrize("state_id", ["bbbb", "aaaa"])
def test_the_later_one_leaves_also_with_a_copy_of_the_same_state_and_asks_again(state_id: str) -> None:
    async def story() -> None:
        server = Server()
        async with TaskOwner("test") as owner:
            first = server.daemon(owner, "aaaa")
            assert await first.may_serve()
            second = server.daemon(owner, state_id)
            assert not await second.may_serve()
            assert second.must_leave.is_set()
            second.leave()
            second.begin()
            assert not await second.may_serve(), "the first one is still there"
            assert not first.must_leave.is_set()
            await asyncio.sleep(1)
            assert [text[:4] for text in server.standing.values()] == ["⚠️ A"], "the owner is told once"
            server.sessions.remove(first)
            second.leave()
            second.begin()
            assert await second.may_serve(), "the first one is gone"
            owner.cancel()

    run_virtually(story())


@given(st.lists(st.floats(0, 2), min_size=2, max_size=4))
@settings(deadline=None)
def test_however_close_they_start_one_serves(pauses: list[float]) -> None:
    async def story() -> None:
        server = Server()
        async with TaskOwner("test") as owner:
            daemons = []
            for number, pause in enumerate(pauses):
                await asyncio.sleep(pause)
                daemons.append(server.daemon(owner, f"st{number:02}"))
            await asyncio.sleep(10)
            serving = [d for d in daemons if await d.may_serve() and not d.must_leave.is_set()]
            assert len(serving) == 1
            owner.cancel()

    run_virtually(story())


def test_one_that_missed_the_check_is_found_when_it_speaks() -> None:
    async def story() -> None:
        server = Server()
        async with TaskOwner("test") as owner:
            first = server.daemon(owner, "aaaa")
            assert await first.may_serve()
            server.sessions.remove(first)  # its gateway is away for a moment
            second = server.daemon(owner, "bbbb")
            assert await second.may_serve()
            server.sessions.append(first)
            first.hear("bbbb0123456789", 1 << 61, 7)
            await asyncio.sleep(2)
            assert [d.must_leave.is_set() for d in (first, second)] == [False, True]
            owner.cancel()

    run_virtually(story())
