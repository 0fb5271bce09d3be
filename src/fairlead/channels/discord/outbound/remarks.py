"""Remarks: a sentence under a person's message, such as a refusal. The outbox does not owe them: a remark that cannot
be sent is in the log."""

import discord

from fairlead.channels.discord.outbound.message_marks import MessageAddress, MessageMarks
from fairlead.channels.discord.outbound.refusal_line import refusal_line
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.push.marks import FAILED
from fairlead.channels.push.rate_limit import Urgency
from fairlead.errors import FairleadError
from fairlead.observe import log
from fairlead.ports import View
from fairlead.render.words import say


class Remarks:
    def __init__(self, rest: RestCalls, sent_nonces: SentNonces, view: View, marks: MessageMarks) -> None:
        self._rest = rest
        self._sent_nonces = sent_nonces
        self._view = view
        self._marks = marks

    async def refuse(self, message: MessageAddress, person: str, refusal: FairleadError) -> None:
        """Mark the message as failed and say why, with the refusal's code."""
        self._marks.want(message, FAILED)
        await self._post(message, refusal_line(refusal, self._view.language_of(person)))

    async def tell(self, message: MessageAddress, person: str, key: str, **gaps: str) -> None:
        """The sentence `key` in the person's language."""
        await self._post(message, say(self._view.language_of(person), key, **gaps))

    async def _post(self, message: MessageAddress, text: str) -> None:
        nonce = self._sent_nonces.nonce(f"remark {message.message_id} {text}")
        reference = discord.MessageReference(
            message_id=message.message_id, channel_id=message.channel_id, fail_if_not_exists=False
        )
        try:
            await self._rest.once(
                Urgency.ANSWER,
                lambda client: client.get_partial_messageable(message.channel_id).send(
                    text, nonce=nonce, reference=reference
                ),
            )
        except DELIVERY_ERRORS as failure:
            log.warning("a remark was not told", message_id=str(message.message_id), message=f"{text} ({failure!r})")
