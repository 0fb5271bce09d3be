"""Our discord.py client: hears events and hands them on, in order, before anything is awaited. Decides nothing."""

import asyncio
import logging
import sys
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

import discord
import discord.http
import yarl
from discord import app_commands
from discord.gateway import DiscordWebSocket

from fairlead.observe import log, log_failure

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
FREELY_A_DAY: Final = 500
SPARING_GAP_SEC: Final = 180.0
"""Past so many in a day only one in three minutes: together never the thousand at which Discord resets the token."""
MAX_RATE_LIMIT_WAIT_SEC: Final = 60.0


class GatewayListener(Protocol):
    """Who listens. Nothing here may wait: what takes time is put into an inbox."""

    def on_new_session(self, client: discord.Client) -> None:
        """A new gateway session: what was said before it is not sent again."""
        ...

    def on_message(self, message: discord.Message) -> None: ...

    def on_edit(self, message: discord.Message) -> None: ...

    def on_delete(self, channel_id: int, message_id: int) -> None: ...

    def on_reaction(self, reaction: discord.RawReactionActionEvent) -> None: ...

    async def on_click(self, interaction: discord.Interaction[Any]) -> None: ...


class IdentifyPace:
    """Discord takes one IDENTIFY in five seconds and a thousand a day: never loop fast. Shared by all clients."""

    def __init__(self) -> None:
        self._made: deque[float] = deque(maxlen=FREELY_A_DAY)

    async def turn(self) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self._due(loop.time()) - loop.time()))
        self._made.append(loop.time())

    def _due(self, now: float) -> float:
        made = self._made
        if not made:
            return now
        is_sparing = len(made) == FREELY_A_DAY and now - made[0] < 86400
        due = made[-1] + (SPARING_GAP_SEC if is_sparing else IDENTIFY_GAP_SEC)
        return max(due, made[-IDENTIFIES_A_MINUTE] + 60.0) if len(made) >= IDENTIFIES_A_MINUTE else due


class GatewayClient(discord.Client):
    def __init__(
        self,
        listener: GatewayListener,
        pace: IdentifyPace,
        application_id: str = "",
        *,
        heartbeat_timeout_sec: float = 60.0,
    ) -> None:
        known: dict[str, Any] = {"application_id": int(application_id)} if application_id.isdecimal() else {}
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
        self.has_gateway = asyncio.Event()
        self.has_none = asyncio.Event()
        self._listener = listener
        self._pace = pace
        self._at_once: Final[dict[str, Callable[..., None]]] = {
            "connect": self._connected,
            "resumed": self._found,
            "disconnect": self._lost,
            "message": listener.on_message,
            "raw_message_edit": self._edited,
            "raw_message_delete": self._deleted,
            "raw_bulk_message_delete": self._deleted_together,
            "raw_reaction_add": listener.on_reaction,
        }

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:  # noqa: ARG002 - theirs
        await self._pace.turn()

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        """What is only put into an inbox is put there before the next frame is read, and in the order of the frames;
        discord.py would start a task for each first."""
        at_once = self._at_once.get(event)
        if at_once is None:
            super().dispatch(event, *args, **kwargs)
            return
        try:
            at_once(*args)
        except Exception as fault:  # one event that cannot be handled must not end the gateway's reading
            log_failure("a Discord event was not handled", fault, event_name=event)

    def _connected(self) -> None:
        self._found()
        self._listener.on_new_session(self)

    def _lost(self) -> None:
        self.has_gateway.clear()
        self.has_none.set()

    def _found(self) -> None:
        self.has_none.clear()
        self.has_gateway.set()

    def _deleted(self, payload: discord.RawMessageDeleteEvent) -> None:
        self._listener.on_delete(payload.channel_id, payload.message_id)

    def _deleted_together(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        for message_id in sorted(payload.message_ids):
            self._listener.on_delete(payload.channel_id, message_id)

    def _edited(self, payload: discord.RawMessageUpdateEvent) -> None:
        self._listener.on_edit(payload.message)

    async def on_interaction(self, interaction: discord.Interaction[Any]) -> None:
        await self._listener.on_click(interaction)

    async def on_error(self, event_method: str, /, *_args: Any, **_kwargs: Any) -> None:
        fault = sys.exc_info()[1]
        if isinstance(fault, Exception):
            log_failure("a Discord event was not handled", fault, event_name=event_method)


class _IntoOurLog(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        log.warning("discord.py", message=record.getMessage(), logger=record.name)


def keep_their_log() -> None:
    """What discord.py has to say goes where everything goes, redacted, instead of to standard error; that it can do
    without voices nobody needs to know."""
    discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False
    theirs = logging.getLogger("discord")
    if not any(isinstance(handler, _IntoOurLog) for handler in theirs.handlers):
        theirs.addHandler(_IntoOurLog(logging.WARNING))
        theirs.propagate = False


def point_at(api_base: str, gateway_url: str) -> None:
    """Another Discord than the real one, for tests: discord.py knows no option for it."""
    if api_base:
        discord.http.Route.BASE = api_base
    if gateway_url:
        DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(gateway_url)
