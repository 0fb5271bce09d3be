"""Answers under another name than the bot's: one webhook per channel, made when first needed. Off by default."""

import asyncio
import re
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import aiohttp
import discord

from fairlead.channels.discord.outbound.rest import RestCalls
from fairlead.channels.push.rate_limit import Urgency
from fairlead.ports import OutgoingMessage, View

WEBHOOK_NAME: Final = "Fairlead"
_UNKNOWN_WEBHOOK: Final = 10015
_LONGEST_NAME: Final = 80
_INSIDE_FORBIDDEN_WORDS: Final = re.compile(r"(?i)(?<=dis)(?=cord)|(?<=cly)(?=de)")


def allowed_name(name: str) -> str:
    """Discord refuses names with its own in them, and a project may well be called so."""
    return _INSIDE_FORBIDDEN_WORDS.sub("·", name)[:_LONGEST_NAME]


class _SingleAttemptSession:
    """Makes each request once: discord.py would post again after a 500, and webhooks know no nonce."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    @asynccontextmanager
    async def request(self, method: str, url: str, **given: Any) -> AsyncGenerator[aiohttp.ClientResponse]:
        try:
            async with self._session.request(method, url, **given) as response:
                if response.status >= 500:
                    raise discord.DiscordServerError(response, await response.text())
                yield response
        except aiohttp.ClientConnectorError:
            raise  # no connection was made: nothing was posted
        except aiohttp.ClientOSError as lost:
            raise aiohttp.ServerDisconnectedError(str(lost)) from lost


class Webhooks:
    def __init__(self, rest: RestCalls, view: View) -> None:
        self._rest = rest
        self._view = view
        self._known: dict[int, int] = {}
        self._tokens: dict[int, str] = {}
        self._lookup_locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def send(self, outgoing: OutgoingMessage, **content: Any) -> str:
        """Into the thread, never into its parent: a webhook belongs to the parent and must be told the thread."""
        parent = int(outgoing.destination.parent_conversation_id or 0)
        thread = discord.Object(int(outgoing.destination.conversation_id))
        given = {name: value for name, value in content.items() if value not in (None, [])}

        async def send_by_webhook(client: discord.Client) -> discord.WebhookMessage:
            name = allowed_name(self._sender_name(outgoing))
            webhook = await self._webhook(client, parent)
            try:
                return await webhook.send(**given, thread=thread, username=name, wait=True)
            except discord.NotFound as gone:
                if gone.code != _UNKNOWN_WEBHOOK:
                    raise
                # Somebody deleted the webhook: it is forgotten, unless another call has already made a new one.
                if self._known.get(parent) == webhook.id:
                    del self._known[parent]
                webhook = await self._webhook(client, parent)
                return await webhook.send(**given, thread=thread, username=name, wait=True)

        message = await self._rest.once(Urgency.ANSWER, send_by_webhook, route=f"send to {thread.id}")
        return str(message.id)

    def _sender_name(self, outgoing: OutgoingMessage) -> str:
        session = self._view.session(outgoing.session_key)
        return f"{session.project} · {session.runtime}" if session is not None else "Fairlead"

    async def _webhook(self, client: discord.Client, channel_id: int) -> discord.Webhook:
        async with self._lookup_locks[channel_id]:  # two threads of one channel at once need one webhook
            if channel_id not in self._known:
                await self._find_or_make(client, channel_id)
        webhook = discord.Webhook.partial(self._known[channel_id], self._tokens[channel_id], client=client)
        webhook.session = cast("aiohttp.ClientSession", _SingleAttemptSession(webhook.session))
        return webhook

    async def _find_or_make(self, client: discord.Client, channel_id: int) -> None:
        found = [w for w in await client.http.channel_webhooks(channel_id) if w.get("token")]
        ours = [w for w in found if str(w.get("application_id")) == str(client.application_id)]
        made = ours[0] if ours else await client.http.create_webhook(channel_id, name=WEBHOOK_NAME)
        self._known[channel_id] = int(made["id"])
        self._tokens[channel_id] = str(made.get("token"))
