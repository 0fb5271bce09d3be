"""Pieces of a delivery, as Discord messages: sent once however often they are tried, and found again. Plans nothing."""

import io
import re
from typing import Any, Final

import discord
import discord.http

from fairlead.channels.discord.outbound.access_watch import AccessWatch
from fairlead.channels.discord.outbound.card_buttons import CardButtonId, add_card_button
from fairlead.channels.discord.outbound.json_body import JsonBody
from fairlead.channels.discord.outbound.mentions import ringing
from fairlead.channels.discord.outbound.question_buttons import build_buttons
from fairlead.channels.discord.outbound.rest import RestCalls
from fairlead.channels.discord.outbound.retry_button import add_retry_button
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.discord.outbound.threads import open_thread
from fairlead.channels.discord.outbound.webhooks import Webhooks
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core import timestamps
from fairlead.core.events import FileRef
from fairlead.errors import Code, FairleadError
from fairlead.ports import Blobs, DeliveryForbidden, DeliveryImpossible, OutcomeUnknown, OutgoingMessage
from fairlead.render.details import translate_detail
from fairlead.render.words import say

TEXT_LIMIT: Final = 2000
MAX_FILES: Final = 10
MAX_FILE_BYTES: Final = 10 * 1024 * 1024
_COUNTDOWN: Final = re.compile(r"\n-# ⏳ <t:\d+:R>")
_LOOKED_AT: Final = 1000
"""So many messages that people wrote after a piece do not hide it from `find`."""


class MessageSender:
    def __init__(
        self,
        rest: RestCalls,
        blobs: Blobs,
        sent_nonces: SentNonces,
        *,
        state_id: str,
        webhooks: Webhooks | None,
        access: AccessWatch,
    ) -> None:
        self._rest = rest
        self._blobs = blobs
        self._sent_nonces = sent_nonces
        self._state_id = state_id
        self._webhooks = webhooks
        self._access = access
        self._doubtful: set[str] = set()

    async def send(self, outgoing: OutgoingMessage) -> str:
        try:
            return await self._send(outgoing)
        except DeliveryForbidden:
            self._access.note_refusal()
            raise

    async def _send(self, outgoing: OutgoingMessage) -> str:
        channel_id = channel_id_of(outgoing)
        if outgoing.thread_name:
            return await open_thread(self._rest, channel_id, outgoing)
        echoed = self._sent_nonces.message_with(outgoing.nonce)
        if echoed is not None:
            return echoed
        content = await self._make_content(outgoing)
        try:
            if self._webhooks is not None and outgoing.destination.parent_conversation_id is not None:
                return await self._send_by(self._webhooks, outgoing, content)
            return await self._rest.once(
                Urgency.ANSWER, lambda client: _post(client, outgoing, content), route=sending_route(channel_id)
            )
        except OutcomeUnknown:
            echoed = self._sent_nonces.message_with(outgoing.nonce)
            if echoed is None:
                raise
            return echoed

    async def _send_by(self, webhooks: Webhooks, outgoing: OutgoingMessage, content: dict[str, Any]) -> str:
        """Webhooks know no nonce: a piece whose last attempt may have gone out is looked for before the next."""
        found = await self.find(outgoing) if outgoing.nonce in self._doubtful else None
        self._doubtful.add(outgoing.nonce)
        message_id = found or await webhooks.send(outgoing, **content)
        self._doubtful.discard(outgoing.nonce)
        return message_id

    async def find(self, outgoing: OutgoingMessage) -> str | None:
        """Our own message with this text, these files or this question, after the last one we know of. A thread need
        not be looked for: opening it a second time finds it."""
        if outgoing.thread_name:
            return None
        channel_id = channel_id_of(outgoing)
        after = discord.Object(int(outgoing.after_message_id)) if outgoing.after_message_id.isdecimal() else None

        async def look_through(client: discord.Client) -> str | None:
            own = {client.application_id, client.user.id if client.user is not None else 0}
            async for message in client.get_partial_messageable(channel_id).history(limit=_LOOKED_AT, after=after):
                if ({message.author.id, message.application_id} & own) and self._is_message_of(message, outgoing):
                    return str(message.id)
            return None

        return await self._rest.once(Urgency.ANSWER, look_through)

    def _is_message_of(self, message: discord.Message, outgoing: OutgoingMessage) -> bool:
        if outgoing.question is not None:
            return f"|{outgoing.question.question_id}|" in str([c.to_dict() for c in message.components])
        if self._sent_nonces.is_of_another(str(message.id), outgoing.nonce):
            return False
        replied = message.reference.message_id if message.reference is not None else None
        if replied is not None and str(replied) != outgoing.reply_to:
            return False  # the same words, in answer to somebody else
        names = sorted(a.filename for a in message.attachments)
        same_files = names == sorted(f.name for f in outgoing.files[:MAX_FILES]) or bool(outgoing.text.strip())
        return message.content.strip() == outgoing.text.strip() and same_files

    async def _make_content(self, outgoing: OutgoingMessage) -> dict[str, Any]:
        text = outgoing.text
        files, notes = await self._read_files(outgoing.files, outgoing.language)
        embeds = [discord.Embed(description="\n".join(notes))] if notes else []
        view: discord.ui.View | None = None
        if outgoing.question is not None:
            view = build_buttons(outgoing.question, self._state_id, outgoing.language)
            until = "" if outgoing.question.by_message else countdown_line(outgoing.question.deadline)
            text += until if len(text) + len(until) <= TEXT_LIMIT else ""
        elif outgoing.retries or outgoing.card:
            view = self._build_job_buttons(outgoing)
        if not text.strip() and not files and not embeds:
            text = "…"  # Discord takes no empty message, and the outbox owes this piece
        return {"content": text, "files": files, "embeds": embeds, "view": view, **ringing(outgoing.mentions)}

    def _build_job_buttons(self, outgoing: OutgoingMessage) -> discord.ui.View:
        view = discord.ui.View(timeout=None)
        for command in ("changes", "undo") if outgoing.card else ():
            add_card_button(view, CardButtonId(self._state_id, command, outgoing.card), outgoing.language)
        if outgoing.retries:
            add_retry_button(view, outgoing.retries, self._state_id, outgoing.language)
        if outgoing.card:
            add_card_button(view, CardButtonId(self._state_id, "fork", outgoing.card), outgoing.language)
        view.stop()  # clicks come by their custom ids, also to a later process: discord.py need not keep the view
        return view

    async def _read_files(self, refs: tuple[FileRef, ...], lang: str) -> tuple[list[discord.File], list[str]]:
        """The files to attach, and a line on each file that cannot be: the answer goes out without it."""
        files: list[discord.File] = []
        notes: list[str] = []
        for ref in refs[:MAX_FILES]:
            try:
                data = await self._blobs.get(ref.blob)
            except FairleadError as gone:
                notes.append(
                    say(lang, "reply.file.refused", name=ref.name, reason=translate_detail(gone.message, lang))
                )
                continue
            if len(data) > MAX_FILE_BYTES:
                size, limit = megabytes(len(data)), megabytes(MAX_FILE_BYTES)
                notes.append(say(lang, "reply.file.too_large", name=ref.name, size=size, limit=limit))
            else:
                files.append(discord.File(io.BytesIO(data), filename=ref.name))
        return files, notes


async def _post(client: discord.Client, outgoing: OutgoingMessage, content: dict[str, Any]) -> str:
    """The id of the message that was made. discord.py's own `send` makes a channel and a message as well, which nobody
    needs here, while people wait."""
    channel_id = channel_id_of(outgoing)
    given = {name: value for name, value in content.items() if value not in (None, []) and name != "silent"}
    flags = discord.MessageFlags(suppress_notifications=bool(content["silent"]))
    if reference := _reference(outgoing, channel_id):
        given["message_reference"] = reference.to_message_reference_dict()
    with discord.http.handle_message_parameters(**given, nonce=outgoing.nonce, flags=flags) as parameters:
        if parameters.files:
            made = await client.http.send_message(channel_id, params=parameters)
        else:
            made = await client.http.request(_route_of(channel_id), data=JsonBody(parameters.payload))
    return str(made["id"])


def _route_of(channel_id: int) -> discord.http.Route:
    return discord.http.Route("POST", "/channels/{channel_id}/messages", channel_id=channel_id)


def countdown_line(deadline: str) -> str:
    """How long a question takes responses, as Discord counts it down on every screen."""
    return f"\n-# ⏳ <t:{int(timestamps.to_epoch(deadline))}:R>"


def without_countdown(content: str) -> str:
    return _COUNTDOWN.sub("", content)


def sending_route(channel_id: int | str) -> str:
    """The name under which an outage of sending is counted: each conversation by itself, since a part of Discord may be
    down while another works."""
    return f"send to {channel_id}"


def channel_id_of(outgoing: OutgoingMessage) -> int:
    where = outgoing.destination.conversation_id
    if not where.isdecimal():
        raise DeliveryImpossible(Code.E_UNDELIVERABLE, f"{where!r} is no Discord conversation")
    return int(where)


def _reference(outgoing: OutgoingMessage, channel_id: int) -> discord.MessageReference | None:
    """The first piece replies to the person's message: people see what it answers, and `find` tells it from another
    piece with the same words."""
    if not outgoing.reply_to.isdecimal():
        return None
    return discord.MessageReference(message_id=int(outgoing.reply_to), channel_id=channel_id, fail_if_not_exists=False)


def megabytes(size: int) -> str:
    return f"{size / (1024 * 1024):.1f} MiB"


def show_moment(ts: str) -> str:
    """Date and time, as Discord shows them in the reader's own language and time zone: `18 November 2026 12:31`."""
    return f"<t:{int(timestamps.to_epoch(ts))}:f>"


def show_clock(ts: str) -> str:
    """The time with its seconds, without the date: `12:31:05`."""
    return f"<t:{int(timestamps.to_epoch(ts))}:T>"
