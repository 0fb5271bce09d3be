"""Remarks: a sentence under a person's message, such as a refusal. The outbox does not owe them: a remark is tried
while this process lives, and one that can never be sent is in the log."""

from collections.abc import Callable
from typing import Any

import discord

from fairlead.channels.discord.outbound.mentions import mention_text, ringing
from fairlead.channels.discord.outbound.message_marks import MessageAddress, MessageMarks
from fairlead.channels.discord.outbound.project_menu import build_project_menu
from fairlead.channels.discord.outbound.refusal_line import refusal_line
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.push.marks import FAILED
from fairlead.channels.push.rate_limit import Urgency
from fairlead.errors import Code, FairleadError
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log
from fairlead.ports import View
from fairlead.render.details import translate_detail
from fairlead.render.words import say


class Remarks:
    """`accounts_of` names the accounts of a person that a refusal mentions; everything else is said silently."""

    def __init__(
        self,
        rest: RestCalls,
        sent_nonces: SentNonces,
        view: View,
        marks: MessageMarks,
        *,
        owner: TaskOwner,
        accounts_of: Callable[[str], tuple[str, ...]] = lambda _person: (),
    ) -> None:
        self._rest = rest
        self._owner = owner
        self._sent_nonces = sent_nonces
        self._view = view
        self._marks = marks
        self._accounts_of = accounts_of

    def refuse(self, message: MessageAddress, person: str, refusal: FairleadError) -> None:
        """Mark the message as failed and say why, with the refusal's code. Where only a project is missing, the
        person can choose one, and the message is sent to it."""
        self._marks.want(message, FAILED)
        lang = self._view.language_of(person)
        accounts = self._accounts_of(person)
        projects = [p for p in self._view.projects() if not p.disabled]
        lines = [refusal_line(refusal, lang)]
        extra: dict[str, Any] = ringing(accounts)
        if refusal.code is Code.E_PROJECT_NOT_SELECTED and projects:
            lines.append(say(lang, "chat.choose_project"))
            extra["view"] = build_project_menu(projects, message.message_id, self._view.state_id)
        if accounts:
            lines.append(f"-# {' '.join(map(mention_text, accounts))}")
        self._post_beside(message, "\n".join(lines), **extra)

    def tell(self, message: MessageAddress, person: str, key: str, **gaps: str) -> None:
        """The sentence `key` in the person's language."""
        lang = self._view.language_of(person)
        translated = {gap: translate_detail(text, lang) for gap, text in gaps.items()}
        self._post_beside(message, say(lang, key, **translated))

    async def tell_surely(self, message: MessageAddress, person: str, key: str, **gaps: str) -> None:
        """As `tell`; returns when Discord has taken it."""
        await self._post(message, say(self._view.language_of(person), key, **gaps))

    def _post_beside(self, message: MessageAddress, text: str, **extra: Any) -> None:
        """The next message is not kept waiting while Discord takes none of ours."""
        self._owner.start(self._post(message, text, **extra), name=f"remark {message.message_id}")

    async def _post(self, message: MessageAddress, text: str, **extra: Any) -> None:
        nonce = self._sent_nonces.nonce(f"remark {message.message_id} {text}")
        reference = discord.MessageReference(
            message_id=message.message_id, channel_id=message.channel_id, fail_if_not_exists=False
        )
        try:
            await self._rest.until_done(
                Urgency.ANSWER,
                lambda client: client.get_partial_messageable(message.channel_id).send(
                    text, nonce=nonce, reference=reference, **(extra or {"silent": True})
                ),
            )
        except DELIVERY_ERRORS as failure:
            log.warning("a remark was not told", message_id=str(message.message_id), message=f"{text} ({failure!r})")
