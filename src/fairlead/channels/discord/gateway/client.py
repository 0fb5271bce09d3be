"""Our discord.py client: hands the gateway's events on in order, before anything is awaited. Decides nothing."""

import asyncio
import sys
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

import aiohttp
import discord
import discord.http
import yarl
from discord import app_commands
from discord.gateway import DiscordWebSocket

from fairlead.channels.discord.gateway import rate_limit_bucket, socket
from fairlead.observe import log_failure

INTENTS: Final = discord.Intents(
    guilds=True,
    guild_messages=True,
    dm_messages=True,
    message_content=True,
    guild_reactions=True,
    dm_reactions=True,
)
IDENTIFY_GAP_SEC: Final = 5.0
IDENTIFIES_A_MINUTE: Final = 4
UNSPACED_A_DAY: Final = 500
SPARING_GAP_SEC: Final = 180.0
"""After 500 in a day only one in three minutes: a day never sees the thousand at which Discord resets the token."""
MAX_RATE_LIMIT_WAIT_SEC: Final = 60.0


class GatewayListener(Protocol):
    """Gets the events. Its plain methods may not wait: an event that takes time goes into an inbox."""

    def on_new_session(self, client: discord.Client) -> None:
        """A new gateway session: Discord does not send again what happened before it."""
        ...

    def on_message(self, message: discord.Message) -> None: ...

    def on_edit(self, message: discord.Message) -> None: ...

    def on_delete(self, channel_id: int, message_id: int) -> None: ...

    def on_reaction(self, reaction: discord.RawReactionActionEvent) -> None: ...

    def on_access_change(self) -> None:
        """What the bot may see or do somewhere may have changed."""
        ...

    async def on_click(self, interaction: discord.Interaction[Any]) -> None: ...


_ACCESS_CHANGES: Final = (
    "guild_join",
    "guild_available",
    "guild_role_update",
    "guild_channel_create",
    "guild_channel_update",
    "member_update",
    "thread_join",
    "raw_thread_update",
)


class IdentifyPace:
    """Discord takes one IDENTIFY in five seconds and a thousand a day. All clients share one pace."""

    def __init__(self) -> None:
        self._made: deque[float] = deque(maxlen=UNSPACED_A_DAY)

    async def wait_for_turn(self) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self._due(loop.time()) - loop.time()))
        self._made.append(loop.time())

    def _due(self, now: float) -> float:
        made = self._made
        if not made:
            return now
        is_sparing = len(made) == UNSPACED_A_DAY and now - made[0] < 86400
        due = made[-1] + (SPARING_GAP_SEC if is_sparing else IDENTIFY_GAP_SEC)
        return max(due, made[-IDENTIFIES_A_MINUTE] + 60.0) if len(made) >= IDENTIFIES_A_MINUTE else due


class GatewayClient(discord.Client):
    """May log in and connect before anybody listens; what Discord sends is read from `listen` on."""

    def __init__(
        self,
        pace: IdentifyPace,
        application_id: str = "",
        *,
        heartbeat_timeout_sec: float = 60.0,
        http_trace: aiohttp.TraceConfig | None = None,
    ) -> None:
        rate_limit_bucket.use_in_every_client()
        socket.use_in_every_client()
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # no voice: no warning that it is missing
        known: dict[str, Any] = {"application_id": int(application_id)} if application_id.isdecimal() else {}
        if http_trace is not None:
            known["http_trace"] = http_trace
        super().__init__(
            intents=INTENTS,
            max_messages=None,  # nothing is read from a cache that a restart would empty
            allowed_mentions=discord.AllowedMentions.none(),
            heartbeat_timeout=heartbeat_timeout_sec,
            max_ratelimit_timeout=MAX_RATE_LIMIT_WAIT_SEC,
            chunk_guilds_at_startup=False,
            **known,
        )
        self.tree: app_commands.CommandTree[Any] | None = None
        self.command_runner: object = None
        """discord.py hands a command the client it came by: the command finds its runner here."""
        self.has_gateway = asyncio.Event()
        self.has_no_gateway = asyncio.Event()
        self._listener: GatewayListener | None = None
        self._has_listener = asyncio.Event()
        self._pace = pace
        self._at_once: dict[str, Callable[..., None]] = {}

    def listen(self, listener: GatewayListener) -> None:
        self._listener = listener
        self._at_once = {
            "connect": self._begin_session,
            "resumed": self._note_gateway,
            "disconnect": self._note_no_gateway,
            "message": listener.on_message,
            "raw_message_edit": self._pass_on_edit,
            "raw_message_delete": self._pass_on_delete,
            "raw_bulk_message_delete": self._pass_on_bulk_delete,
            "raw_reaction_add": listener.on_reaction,
            **dict.fromkeys(_ACCESS_CHANGES, lambda *_: listener.on_access_change()),
        }
        self._has_listener.set()

    async def until_listened(self) -> None:
        await self._has_listener.wait()

    @property
    def _current_listener(self) -> GatewayListener:
        assert self._listener is not None, "nothing is read before somebody listens"
        return self._listener

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:  # noqa: ARG002 - theirs
        await self._pace.wait_for_turn()

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        """An event that only goes into an inbox gets there before discord.py reads the next frame, so that the
        order of frames is kept; discord.py itself would start a task for each event."""
        at_once = self._at_once.get(event)
        if at_once is None:
            super().dispatch(event, *args, **kwargs)
            return
        try:
            at_once(*args)
        except Exception as fault:  # one event that cannot be handled must not end the gateway's reading
            log_failure("a Discord event was not handled", fault, event_name=event)

    def _begin_session(self) -> None:
        self._note_gateway()
        self._current_listener.on_new_session(self)

    def _note_no_gateway(self) -> None:
        self.has_gateway.clear()
        self.has_no_gateway.set()

    def _note_gateway(self) -> None:
        self.has_no_gateway.clear()
        self.has_gateway.set()

    def _pass_on_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        self._current_listener.on_delete(payload.channel_id, payload.message_id)

    def _pass_on_bulk_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        for message_id in sorted(payload.message_ids):
            self._current_listener.on_delete(payload.channel_id, message_id)

    def _pass_on_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        self._current_listener.on_edit(payload.message)

    async def on_interaction(self, interaction: discord.Interaction[Any]) -> None:
        await self._current_listener.on_click(interaction)

    async def on_error(self, event_method: str, /, *_args: Any, **_kwargs: Any) -> None:
        fault = sys.exc_info()[1]
        if isinstance(fault, Exception):
            log_failure("a Discord event was not handled", fault, event_name=event_method)


def point_at(api_base: str, gateway_url: str) -> None:
    """Use another server than Discord's, for tests: discord.py has no option for it."""
    if api_base:
        discord.http.Route.BASE = api_base
    if gateway_url:
        DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway_url)
