"""Tells people how many messages are before theirs: one silent note for each conversation, under its newest message
that waits. Changes no job.

One note and not one for each message: posts of a conversation share a rate limit with its answers.
"""

import asyncio
from typing import Any, Final

import discord
import msgspec

from fairlead.channels.discord.inbound.inbound_message import discord_message_id
from fairlead.channels.discord.outbound.messages import show_moment
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, UNKNOWN_MESSAGE, RestCalls, discord_code
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.discord.outbound.steer_button import build_steer_button
from fairlead.channels.push.marks import QUEUED
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core.views import JobView
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log
from fairlead.ports import DeliveryImpossible, View
from fairlead.render.words import say

FIRST_AFTER_SEC: Final = 0.8
"""A message that begins sooner needs no note."""

CHANGE_EVERY_SEC: Final = 3.0


class _Note(msgspec.Struct):
    """The note that stands: the message that it is, the job that it is about, and what it says."""

    message_id: int
    job_id: str
    text: str


class QueueNotes:
    def __init__(self, view: View, rest: RestCalls, sent_nonces: SentNonces, owner: TaskOwner) -> None:
        self._view = view
        self._rest = rest
        self._sent_nonces = sent_nonces
        self._owner = owner
        self._notes: dict[str, _Note] = {}
        self._changed: dict[str, asyncio.Event] = {}

    def look_at(self, job: JobView) -> None:
        """A job of this session moved, so that the queue may be another one."""
        changed = self._changed.get(job.session_key)
        if changed is not None:
            changed.set()
        elif job.state == "queued":
            self._changed[job.session_key] = asyncio.Event()
            self._owner.start(self._keep(job), name=f"queue of {job.session_key}")

    async def _keep(self, first: JobView) -> None:
        """Until nothing waits in this session and no note is left."""
        key, channel_id = first.session_key, int(first.conversation.conversation_id)
        changed = self._changed[key]
        try:
            await asyncio.sleep(FIRST_AFTER_SEC)
            while True:
                changed.clear()
                newest = self._find_newest(key, first)
                if newest is None and key not in self._notes:
                    return
                is_done = await self._show(key, channel_id, newest)
                await asyncio.sleep(CHANGE_EVERY_SEC)
                if is_done and not changed.is_set():
                    await changed.wait()
        finally:
            del self._changed[key]

    def _find_newest(self, key: str, first: JobView) -> JobView | None:
        waiting = self._view.queued_jobs(first.conversation)
        return next((job for job in reversed(waiting) if job.session_key == key), None)

    def _count_before(self, job: JobView) -> int:
        session = self._view.session(job.session_key)
        if session is None or job.job_id not in session.queue:
            return 0
        return session.queue.index(job.job_id) + (session.running_job_id is not None)

    def _why_held(self, key: str, lang: str) -> str:
        """In words; empty if nothing holds it but the messages before it."""
        session = self._view.session(key)
        if session is not None and session.handed_off:
            return say(lang, "chat.handed_off")
        if session is not None and session.awaited_machine:
            since = show_moment(session.awaited_since) if session.awaited_since else ""
            return say(lang, "chat.machine_away", machine=session.awaited_machine, since=since)
        return ""

    async def _show(self, key: str, channel_id: int, newest: JobView | None) -> bool:
        """One step towards what the note has to say; False if it has to be tried again."""
        note = self._notes.get(key)
        before = self._count_before(newest) if newest is not None else 0
        try:
            lang = self._view.language_of("" if newest is None else newest.person)
            held = self._why_held(key, lang)
            if newest is None or (before == 0 and not held):
                return await self._remove(key, channel_id, note)
            text = note_text(before, newest.job_id, lang, held=held)
            if note is not None and note.job_id == newest.job_id:
                await self._edit(channel_id, note, text)
            elif not self._view.open_questions(session_key=key):  # an open question is to be the newest message
                self._notes[key] = await self._post(channel_id, newest, text)
                if note is not None:
                    await self._delete(channel_id, note.message_id)
        except DELIVERY_ERRORS as failure:
            log.info("no note about the queue", conversation=str(channel_id), message=repr(failure))
            return self._is_hopeless(key, failure)
        return True

    def _is_hopeless(self, key: str, failure: Exception) -> bool:
        if discord_code(failure) == UNKNOWN_MESSAGE:
            self._notes.pop(key, None)
        return isinstance(failure, DeliveryImpossible)

    async def _post(self, channel_id: int, job: JobView, text: str) -> _Note:
        said = discord_message_id(job)
        given: dict[str, Any] = {"nonce": self._sent_nonces.nonce(f"queue {job.job_id}"), "silent": True}
        if self._view.takes_texts(job.session_key):
            lang = self._view.language_of(job.person)
            given["view"] = build_steer_button(job.job_id, self._view.state_id, lang)
        if said is not None:
            given["reference"] = discord.MessageReference(
                message_id=said, channel_id=channel_id, fail_if_not_exists=False
            )
        message = await self._rest.once(
            Urgency.STATUS, lambda client: client.get_partial_messageable(channel_id).send(text, **given)
        )
        return _Note(message.id, job.job_id, text)

    async def _edit(self, channel_id: int, note: _Note, text: str) -> None:
        if note.text == text:
            return
        await self._rest.once(
            Urgency.STATUS,
            lambda client: (
                client.get_partial_messageable(channel_id).get_partial_message(note.message_id).edit(content=text)
            ),
        )
        note.text = text

    async def _remove(self, key: str, channel_id: int, note: _Note | None) -> bool:
        if note is not None:
            await self._delete(channel_id, note.message_id)
            del self._notes[key]
        return True

    async def _delete(self, channel_id: int, message_id: int) -> None:
        await self._rest.once(
            Urgency.STATUS, lambda client: client.http.delete_message(channel_id, message_id, reason=None)
        )


def note_text(before: int, job_id: str, lang: str, *, held: str = "") -> str:
    """With the job's id, by which a later process finds a note that was left over. `held` says, in words, what holds
    the job besides the messages before it."""
    if held:
        return f"{QUEUED} {held}\n-# {job_id}"
    words = say(lang, "chat.one_before") if before == 1 else say(lang, "chat.some_before", count=before)
    return f"{QUEUED} {words}\n-# {job_id}"
