"""Keeps one client connected to Discord for as long as Fairlead runs. Knows no message and no command.

resting ──token──▶ logging in ──ok──▶ connected ⇄ resuming (discord.py's own)
   ▲                   │  refused: wait, longer each time           │
   │                   ▼                                            │
   └── token or intents refused: say so, look again, no IDENTIFY ◀──┴── lost for a minute: start again
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final

import aiohttp
import discord

from fairlead.channels.discord.gateway.attempt import GatewayAttempt
from fairlead.channels.discord.gateway.client import GatewayClient
from fairlead.channels.discord.gateway.client_maker import ClientMaker
from fairlead.channels.discord.outbound.api_ban import BannedByDiscord
from fairlead.channels.discord.outbound.other_daemons import OtherDaemons
from fairlead.channels.discord.outbound.rest import CurrentClient
from fairlead.kit.backoff import Backoff
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log

LOOK_AGAIN_SEC: Final = 2.0
"""How often a refused token is compared with the settings: a rotated one is picked up within seconds."""

INTENT_LOOK_SEC: Final = 30.0
LOST_AFTER_SEC: Final = 45.0
"""discord.py waits up to seventeen minutes between its own attempts; past this we start a new client."""


OTHER_SERVES_SEC: Final = 600.0
"""How long a daemon stays away while another one serves with the same token. After that it asks again."""


class _OtherDaemonServesError(Exception):
    pass


class Connection:
    """`current` gets the client as soon as it is logged in, whether its gateway is connected or not: REST works without
    one. `equip` makes a client ready to be listened to, and `came_back` is called whenever the gateway is connected.
    `first` is the attempt that the start began."""

    def __init__(
        self,
        *,
        token: Callable[[], str],
        current: CurrentClient,
        clients: ClientMaker,
        equip: Callable[[GatewayClient], None],
        came_back: Callable[[], None],
        first: GatewayAttempt | None = None,
        others: OtherDaemons | None = None,
        random: Random | None = None,
    ) -> None:
        self._token = token
        self._current = current
        self._clients = clients
        self._equip = equip
        self._first = first
        self._came_back = came_back
        self._others = others
        self._backoff = Backoff(first=1.0, ceiling=30.0)
        self._random = random or Random()
        self._tried_token = ""
        self.trouble = ""
        self._connected = asyncio.Event()

    async def until_connected(self) -> None:
        await self._connected.wait()

    async def run(self) -> None:
        """For ever. Nothing that Discord does ends it."""
        failures = 0
        while True:
            began = asyncio.get_running_loop().time()
            try:
                await self._run_client()
            except discord.LoginFailure:
                await self._until_token_changes()
                failures = 0
                continue
            except discord.PrivilegedIntentsRequired:
                await self._until_intent_is_granted()
                continue
            except discord.ConnectionClosed as closed:
                if closed.code == 4004:
                    await self._until_token_changes()
                    continue
                self._complain(f"Discord closed the gateway with {closed.code}")
            except _OtherDaemonServesError:
                self._complain("Another Fairlead uses this bot's token; stop one of them")
                await asyncio.sleep(OTHER_SERVES_SEC)
                continue
            except BannedByDiscord as ban:
                self._complain("Discord has temporarily banned this machine")
                await asyncio.sleep(ban.wait_sec)
                continue
            except Exception as fault:  # discord.py dies in many ways when the first connect fails; each is a retry
                self._complain(f"Discord cannot be reached: {type(fault).__name__}: {fault}")
            failures = 1 if asyncio.get_running_loop().time() - began > 300 else failures + 1
            await asyncio.sleep(self._backoff.delay(failures, self._random.random))

    async def _run_client(self) -> None:
        attempt = self._begin_attempt()
        try:
            self._tried_token = attempt.token
            await attempt.until_logged_in()
            self._current.client = attempt.client
            self._equip(attempt.client)
            async with TaskOwner("gateway") as owner:
                owner.start(self._watch_gateway(attempt.client), name="watch")
                if self._others is not None:
                    owner.start(self._watch_others(self._others), name="others")
                await attempt.until_ended()
                owner.cancel()
        finally:
            self._current.client = None
            self._connected.clear()
            await attempt.aclose()

    def _begin_attempt(self) -> GatewayAttempt:
        first, self._first = self._first, None
        return first or GatewayAttempt(self._clients.make(), self._token())

    async def _watch_gateway(self, client: GatewayClient) -> None:
        """Ends with TimeoutError, and so ends the client, when discord.py has had no gateway for too long."""
        while True:
            try:
                async with asyncio.timeout(LOST_AFTER_SEC):
                    await client.has_gateway.wait()
            except TimeoutError:
                raise TimeoutError(f"no gateway session for {LOST_AFTER_SEC:.0f} s") from None
            self.trouble = ""
            self._connected.set()
            self._came_back()
            await client.has_no_gateway.wait()
            self._connected.clear()

    async def _watch_others(self, others: OtherDaemons) -> None:
        """Ends the client when another daemon has the earlier right to serve."""
        await others.must_leave.wait()
        others.leave()
        raise _OtherDaemonServesError

    def _complain(self, trouble: str) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            log.error("discord", message=f"{trouble}. Fairlead tries again; everything else keeps working.")

    async def _until_token_changes(self) -> None:
        """Compares with the token that was tried, since the settings may have another one by now."""
        if self._token() != self._tried_token:
            return
        self._complain(
            "Discord refuses DISCORD_TOKEN (it was reset, or mistyped). Put the new one into the settings "
            "file: no restart is needed, unless the environment sets it"
        )
        while self._token() == self._tried_token:  # noqa: ASYNC110 - a file that somebody edits announces nothing
            await asyncio.sleep(LOOK_AGAIN_SEC)

    async def _until_intent_is_granted(self) -> None:
        self._complain(
            "Discord refuses the intent MESSAGE CONTENT. Turn it on at https://discord.com/developers/applications "
            "under Bot, Privileged Gateway Intents"
        )
        while not await self._has_message_content():  # noqa: ASYNC110 - Discord announces it to nobody
            await asyncio.sleep(INTENT_LOOK_SEC)

    async def _has_message_content(self) -> bool:
        """Whether Discord grants the intent now. REST tells, and Discord counts no IDENTIFY for it."""
        client = self._clients.make()
        try:
            await client.login(self._token())
        except (discord.DiscordException, aiohttp.ClientError, OSError):
            return False
        else:
            flags = client.application_flags
            return flags.gateway_message_content or flags.gateway_message_content_limited
        finally:
            await client.close()
