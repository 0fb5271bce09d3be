"""Answers under another name than the bot's: one webhook per channel, made when first needed. Off by default."""

from collections.abc import Callable
from typing import Any, Final

import discord

from fairlead.channels.discord.calls import Calls
from fairlead.channels.discord.governor import Urgency
from fairlead.ports import Parcel

WEBHOOK_NAME: Final = "Fairlead"
_UNKNOWN_WEBHOOK: Final = 10015


class Webhooks:
    def __init__(self, calls: Calls, name_of: Callable[[Parcel], str]) -> None:
        self._calls = calls
        self._name_of = name_of
        self._known: dict[int, int] = {}
        self._tokens: dict[int, str] = {}

    async def send(self, parcel: Parcel, **said: Any) -> str:
        """Into the thread, never into its parent: a webhook lives in the parent and must be told the thread."""
        parent = int(parcel.destination.parent_conversation_id or 0)
        thread = discord.Object(int(parcel.destination.conversation_id))
        given = {name: value for name, value in said.items() if value not in (None, [])}

        async def sent(client: discord.Client) -> discord.WebhookMessage:
            name = self._name_of(parcel)
            webhook = await self._webhook(client, parent)
            try:
                return await webhook.send(**given, thread=thread, username=name, wait=True)
            except discord.NotFound as gone:
                if gone.code != _UNKNOWN_WEBHOOK:
                    raise
                del self._known[parent]  # somebody deleted it: make another
                webhook = await self._webhook(client, parent)
                return await webhook.send(**given, thread=thread, username=name, wait=True)

        message = await self._calls.make(Urgency.ANSWER, sent)
        return str(message.id)

    async def _webhook(self, client: discord.Client, channel_id: int) -> discord.Webhook:
        if channel_id not in self._known:
            found = [w for w in await client.http.channel_webhooks(channel_id) if w.get("token")]
            ours = [w for w in found if str(w.get("application_id")) == str(client.application_id)]
            made = ours[0] if ours else await client.http.create_webhook(channel_id, name=WEBHOOK_NAME)
            self._known[channel_id] = int(made["id"])
            self._tokens[channel_id] = str(made.get("token"))
        return discord.Webhook.partial(self._known[channel_id], self._tokens[channel_id], client=client)
