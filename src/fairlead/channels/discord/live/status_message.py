"""One job's status as a Discord message: posted without a notification, edited in place, posted again before it is too
old to be edited, deleted when the job has ended. Never posted below a question that is open."""

import asyncio
from collections.abc import Callable
from typing import Final

import discord

from fairlead.channels.discord.live.status_text import status_text
from fairlead.channels.discord.outbound.rest import (
    DELIVERY_ERRORS,
    THREAD_ARCHIVED,
    UNKNOWN_MESSAGE,
    RestCalls,
    discord_code,
)
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.discord.outbound.threads import unarchive
from fairlead.channels.push.job_status import LIVE_STATES, StatusContent, TimedStatus
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core.views import JobView
from fairlead.observe import log
from fairlead.ports import DeliveryImpossible

POST_AGAIN_AFTER_SEC: Final = 50 * 60.0
"""Discord accepts few edits of messages older than an hour."""

HELD_BACK_SEC: Final = 0.25
"""discord.py holds a call back when Discord asks it to wait. A call that took longer than this was held back, so it
left at its end and not at its beginning: the next edit is timed from there."""


class StatusMessage:
    """Implements `push.job_status.StatusDisplay`."""

    def __init__(
        self,
        job: JobView,
        rest: RestCalls,
        sent_nonces: SentNonces,
        *,
        lang: str,
        is_asking: Callable[[], bool] = lambda: False,
    ) -> None:
        self._job_id = job.job_id
        self._channel_id = int(job.conversation.conversation_id)
        self._rest = rest
        self._sent_nonces = sent_nonces
        self._lang = lang
        self._is_asking = is_asking
        self._posting = asyncio.Lock()
        self._last_edit_at = 0.0
        self._message_id: int | None = None
        self._posted_at = 0.0
        self._posts = 0
        self._outdated: int | None = None
        self._is_gone = False
        self._text = ""

    @property
    def last_edit_at(self) -> float:
        return self._last_edit_at

    def is_showing(self) -> bool:
        self._adopt_echo()
        return self._message_id is not None

    async def draw(self, newest: Callable[[], TimedStatus]) -> StatusContent | None:
        """A status that somebody deleted stays deleted."""
        await self._delete_outdated()
        look = _Look(newest, self._lang)
        if self._is_gone:
            return look.content
        self._adopt_echo()
        is_old = self._message_id is not None and _now() - self._posted_at > POST_AGAIN_AFTER_SEC
        if look.text == self._text and not is_old:
            return look.content
        try:
            if self._message_id is None or is_old:
                async with self._posting:
                    if self._is_asking():
                        return look.content  # the question is what the person has to see
                    await self._post(look)
            else:
                await self._edit(self._message_id, look)
        except DELIVERY_ERRORS as failure:
            return look.content if await self._handle_failure(failure) else None
        return look.content

    async def draw_last(self, content: StatusContent, seconds: float) -> bool:  # noqa: ARG002 - the answer says it
        """The answer says how the job ended: the status goes."""
        await self._delete_outdated()
        self._adopt_echo()
        message_id = self._message_id
        if message_id is None or self._is_gone:
            return self._outdated is None
        try:
            await self._rest.once(
                Urgency.FINAL_STATUS,
                lambda client: client.http.delete_message(self._channel_id, message_id, reason=None),
            )
        except DELIVERY_ERRORS as failure:
            return await self._handle_failure(failure)
        self._message_id = None
        return self._outdated is None

    async def until_posted(self) -> None:
        """Returns when no post is under way: a question that is sent now comes below the status."""
        async with self._posting:
            return

    async def show_typing(self, is_wanted: Callable[[], bool]) -> None:
        async def send_typing(client: discord.Client) -> None:
            if is_wanted():  # the job may have ended while this call waited for its turn
                await client.http.send_typing(self._channel_id)

        try:
            await self._rest.once(Urgency.TYPING, send_typing)
        except DELIVERY_ERRORS as failure:
            log.debug("no typing", job_id=self._job_id, message=repr(failure))

    async def _post(self, look: "_Look") -> None:
        nonce = self._next_nonce()

        async def post(client: discord.Client) -> discord.Message | None:
            if not self._is_still_wanted(look):
                return None
            return await client.get_partial_messageable(self._channel_id).send(look.text, nonce=nonce, silent=True)

        message = await self._rest.once(Urgency.STATUS, post)
        if message is not None:
            self._text = look.text
            self._replace_message(message.id, _now())
            self._note_held_back_call()
            await self._delete_outdated()

    async def _edit(self, message_id: int, look: "_Look") -> None:
        async def edit(client: discord.Client) -> None:
            if self._is_still_wanted(look):
                channel = client.get_partial_messageable(self._channel_id)
                await channel.get_partial_message(message_id).edit(content=look.text)
                self._text = look.text
                self._note_held_back_call()

        await self._rest.once(Urgency.STATUS, edit)

    def _is_still_wanted(self, look: "_Look") -> bool:
        """The call may leave now. A job that ended while it waited needs no status: the answer says it."""
        look.take()
        is_wanted = look.content.state in LIVE_STATES
        if is_wanted:
            self._last_edit_at = _now()
        return is_wanted

    def _note_held_back_call(self) -> None:
        if _now() - self._last_edit_at > HELD_BACK_SEC:
            self._last_edit_at = _now()

    def _replace_message(self, message_id: int, posted_at: float) -> None:
        self._posts += 1  # not before: a retry of the same post uses the same nonce, which Discord recognises
        self._outdated = self._message_id
        self._message_id, self._posted_at = message_id, posted_at

    def _next_nonce(self) -> str:
        return self._sent_nonces.nonce(f"status {self._job_id} {self._posts + 1}")

    def _adopt_echo(self) -> None:
        """The gateway may have shown a post whose REST reply was lost: that message is the status."""
        echoed = self._sent_nonces.message_with(self._next_nonce())
        if echoed is not None:
            self._replace_message(int(echoed), self._last_edit_at)
            self._text = ""  # the message has the text of the lost attempt, which may differ from the last known one

    async def _delete_outdated(self) -> None:
        """A status that was posted again stands once: the older message is deleted, now or before the next edit."""
        older = self._outdated
        if older is None:
            return
        try:
            await self._rest.once(
                Urgency.STATUS, lambda client: client.http.delete_message(self._channel_id, older, reason=None)
            )
        except DeliveryImpossible as refused:
            log.info("an outdated status stayed", job_id=self._job_id, message=repr(refused))
        except DELIVERY_ERRORS:
            return
        self._outdated = None

    async def _handle_failure(self, failure: BaseException) -> bool:
        """True if no status can be shown any more."""
        code = discord_code(failure)
        if code == THREAD_ARCHIVED:
            await self._reopen_thread()
            return False
        self._is_gone = code == UNKNOWN_MESSAGE or isinstance(failure, DeliveryImpossible)
        log.info("status not shown", job_id=self._job_id, message=repr(failure.__cause__ or failure))
        return self._is_gone

    async def _reopen_thread(self) -> None:
        try:
            await unarchive(self._rest, self._channel_id, Urgency.STATUS)
        except DELIVERY_ERRORS as failure:
            log.info("thread not reopened", conversation=str(self._channel_id), message=repr(failure))
            self._is_gone = isinstance(failure, DeliveryImpossible)


class _Look:
    """What is shown: taken again when a call may leave, because it may have waited for its turn."""

    def __init__(self, newest: Callable[[], TimedStatus], lang: str) -> None:
        self._newest = newest
        self._lang = lang
        self.take()

    def take(self) -> None:
        status = self._newest()
        self.content = status.content
        self.text = status_text(status.content, status.seconds, self._lang)


def _now() -> float:
    return asyncio.get_running_loop().time()
