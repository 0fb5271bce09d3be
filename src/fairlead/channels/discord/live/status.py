"""One status message per job, edited in place: never faster than the pace, the newest content always wins, and the
last edit is never lost. Typing shows while the agent works, and ends with the job."""

import asyncio
from collections.abc import Callable
from itertools import count
from random import random
from typing import Final

import discord

from fairlead.channels.discord.inbound.places import CHANNEL
from fairlead.channels.discord.live.status_text import Picture, status_text
from fairlead.channels.discord.outbound.rest import (
    DELIVERY_ERRORS,
    INSIST,
    THREAD_ARCHIVED,
    UNKNOWN_MESSAGE,
    RestCalls,
    discord_code,
)
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.discord.outbound.threads import unarchive
from fairlead.channels.push.rate_limit import AGENT_FIRST_SEC, Urgency
from fairlead.core import engine, timestamps
from fairlead.core.job_states import JobState
from fairlead.core.views import JobView
from fairlead.observe import log
from fairlead.ports import DeliveryImpossible, View
from fairlead.render.live_text import LiveText
from fairlead.render.tools import tool_label

TYPING_EVERY_SEC: Final = 8.0
FIRST_AFTER_SEC: Final = 0.8
"""A job that is over sooner needs no status message: typing, then the answer."""

ANEW_AFTER_SEC: Final = 50 * 60.0
"""Messages older than an hour accept few edits."""

HELD_BACK_SEC: Final = 0.25
"""A call that took longer was told to wait, and went out later than it began: the next edit keeps its distance."""

ENDED_LATELY_SEC: Final = 60.0
TICK_SEC: Final = 15.0
_LOOKED_AT: Final = 50
_STREAMS_A_SECOND: Final = 25.0


def edit_interval(streams: int, least_sec: float) -> float:
    return max(least_sec, streams / _STREAMS_A_SECOND)


class JobStatus:
    """The status message of one job."""

    def __init__(
        self,
        job: JobView,
        rest: RestCalls,
        sent_nonces: SentNonces,
        *,
        lang: str,
        interval: Callable[[], float],
        tool_aware: bool,
    ) -> None:
        self._job_id = job.job_id
        self._channel_id = int(job.conversation.conversation_id)
        self._rest = rest
        self._sent_nonces = sent_nonces
        self._lang = lang
        self._interval = interval
        self._live_text = LiveText(tool_aware=tool_aware, lang=lang)
        self._began = self._now()
        self._state: JobState = "running"
        self._news = asyncio.Event()
        self._ended = asyncio.Event()
        self._message_id: int | None = None
        self._posted_at = 0.0
        self._posts = 0
        self._edited_at = 0.0
        self._outdated: int | None = None
        self._is_gone = False
        self._text = ""

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    # --- what happens to the job

    def moved(self, state: JobState) -> None:
        self._state = state
        if state not in {"queued", "running", "waiting"}:
            self._ended.set()
        self._news.set()

    def acted(self, event: engine.EngineEvent) -> None:
        now = self._now()
        match event:
            case engine.TextDelta(text=text):
                self._live_text.add_text(text, now)
            case engine.ToolStarted(tool_id=tool_id, name=name, input=given):
                self._live_text.tool_started(tool_id, name, tool_label(name, given, lang=self._lang), now)
            case engine.ToolEnded(tool_id=tool_id):
                self._live_text.tool_ended(tool_id, now)
            case _:
                return
        self._news.set()

    # --- what people see of it

    async def show(self) -> None:
        """Until the job has ended and its last status stands."""
        if await self._ends_within(FIRST_AFTER_SEC):
            return
        drawn: Picture | None = None
        drawn_at = 0.0
        while not self._ended.is_set():
            self._news.clear()
            picture = self._picture()
            is_due = picture != drawn or self._now() - drawn_at >= TICK_SEC
            if is_due and await self._draw(picture, Urgency.STATUS):
                drawn, drawn_at = picture, self._now()
            await self._until_news(picture.shown.changes_at, changed=picture != self._picture())
            await self._ends_within(self._edited_at + self._interval() - self._now())
        await self._draw_last()

    async def type(self) -> None:
        """Until the job has ended; while a person is asked, nobody types."""
        await self._ends_within(AGENT_FIRST_SEC)
        while not self._ended.is_set():
            if self._state == "running":
                await self._type_once()
            await self._ends_within(TYPING_EVERY_SEC)

    async def _type_once(self) -> None:
        async def typed(client: discord.Client) -> None:
            if not self._ended.is_set():  # it may have ended while this waited for its turn
                await client.http.send_typing(self._channel_id)

        try:
            await self._rest.once(Urgency.TYPING, typed)
        except DELIVERY_ERRORS as condition:
            log.debug("no typing", job_id=self._job_id, message=repr(condition))

    def _picture(self) -> Picture:
        return Picture(self._job_id, self._state, self._live_text.view(self._now()))

    async def _ends_within(self, seconds: float) -> bool:
        if seconds <= 0:
            return self._ended.is_set()
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True

    async def _until_news(self, changes_at: float | None, *, changed: bool) -> None:
        if changed:
            return
        due = self._now() + TICK_SEC
        if changes_at is not None:
            due = min(due, changes_at)
        try:
            async with asyncio.timeout_at(due):
                await self._news.wait()
        except TimeoutError:
            return

    async def _draw_last(self) -> None:
        """However long Discord is away: a job must not look as if it still ran."""
        self._adopt()
        if self._message_id is None:
            return
        picture = Picture(self._job_id, self._state)
        seconds = self._now() - self._began
        for attempt in count(1):
            await asyncio.sleep(max(0.0, self._edited_at + self._interval() - self._now()))
            if await self._draw(picture, Urgency.FINAL_STATUS, seconds) and not self._outdated:
                return
            await asyncio.sleep(INSIST.delay(attempt, random))

    async def _draw(self, picture: Picture, urgency: Urgency, seconds: float | None = None) -> bool:
        """True if it stands now. One that was deleted under us stays deleted."""
        await self._take_away_outdated()
        if self._is_gone:
            return True
        text = status_text(picture, self._now() - self._began if seconds is None else seconds, self._lang)
        self._adopt()
        is_old = self._message_id is not None and self._now() - self._posted_at > ANEW_AFTER_SEC
        if text == self._text and not is_old:
            return True
        try:
            if self._message_id is None or is_old:
                await self._post(text, urgency)
            else:
                await self._edit(self._message_id, text, urgency)
        except DELIVERY_ERRORS as condition:
            return await self._cope(condition)
        self._text = text
        return True

    async def _post(self, text: str, urgency: Urgency) -> None:
        nonce = self._nonce()

        async def posted(client: discord.Client) -> discord.Message:
            self._edited_at = self._now()
            return await client.get_partial_messageable(self._channel_id).send(text, nonce=nonce)

        message = await self._rest.once(urgency, posted)
        self._stands(message.id, self._now())
        self._keep_distance()
        await self._take_away_outdated()

    def _stands(self, message_id: int, posted_at: float) -> None:
        self._posts += 1  # not before: whoever tries again says the same nonce, and Discord knows it
        self._outdated = self._message_id
        self._message_id, self._posted_at = message_id, posted_at

    async def _take_away_outdated(self) -> None:
        """The status that was posted anew stands once: what it replaces goes, if not at once then with the next."""
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

    def _nonce(self) -> str:
        return self._sent_nonces.nonce(f"status {self._job_id} {self._posts + 1}")

    def _adopt(self) -> None:
        """Posted, though the reply to that was lost: the gateway showed it."""
        echoed = self._sent_nonces.message_with(self._nonce())
        if echoed is not None:
            self._stands(int(echoed), self._edited_at)
            self._text = ""  # what it says is what was tried, not what was known to stand

    async def _edit(self, message_id: int, text: str, urgency: Urgency) -> None:
        async def edited(client: discord.Client) -> None:
            self._edited_at = self._now()
            place = client.get_partial_messageable(self._channel_id)
            await place.get_partial_message(message_id).edit(content=text)

        await self._rest.once(urgency, edited)
        self._keep_distance()

    def _keep_distance(self) -> None:
        if self._now() - self._edited_at > HELD_BACK_SEC:
            self._edited_at = self._now()

    async def _cope(self, condition: BaseException) -> bool:
        """True if there is nothing left to show it on."""
        code = discord_code(condition)
        if code == THREAD_ARCHIVED:
            await self._reopen()
            return False
        self._is_gone = code == UNKNOWN_MESSAGE or isinstance(condition, DeliveryImpossible)
        log.info("status not shown", job_id=self._job_id, message=repr(condition.__cause__ or condition))
        return self._is_gone

    async def _reopen(self) -> None:
        try:
            await unarchive(self._rest, self._channel_id, Urgency.STATUS)
        except DELIVERY_ERRORS as condition:
            log.info("thread not reopened", conversation=str(self._channel_id), message=repr(condition))
            self._is_gone = isinstance(condition, DeliveryImpossible)


def left_over(view: View) -> list[JobView]:
    """Jobs that ended with the process before this one: their status messages may still say that they run."""
    owed = [job for job in view.unsettled_jobs(CHANNEL) if job.answer_owed]
    ended = [job for job in view.jobs_ended_last(CHANNEL, within_sec=ENDED_LATELY_SEC) if _was_shown(job)]
    by_id = {job.job_id: job for job in (*owed, *ended) if job.conversation.conversation_id.isdecimal()}
    return list(by_id.values())


def _was_shown(job: JobView) -> bool:
    """It ran long enough for a status message: the answer may have been quicker than that message's last edit, and the
    end of the process quicker than both."""
    if not (job.started_at and job.finished_at):
        return False
    return timestamps.seconds_between(job.started_at, job.finished_at) >= FIRST_AFTER_SEC


async def close_left_over(rest: RestCalls, job: JobView, view: View) -> None:
    """Found by the job's id, which every status message bears; its last edit is made up for."""
    channel_id = int(job.conversation.conversation_id)
    seconds = timestamps.seconds_between(job.started_at, job.finished_at) if job.started_at and job.finished_at else 0.0
    text = status_text(Picture(job.job_id, job.state), seconds, view.language_of(job.person))

    async def closed(client: discord.Client) -> None:
        own = client.user.id if client.user is not None else 0
        async for message in client.get_partial_messageable(channel_id).history(limit=_LOOKED_AT):
            if message.author.id == own and f"-# {job.job_id}" in message.content.splitlines():
                if message.content[:1] != text[:1]:
                    await message.edit(content=text)
                return

    try:
        await rest.until_done(Urgency.FINAL_STATUS, closed)
    except DELIVERY_ERRORS as condition:
        log.info("an old status stayed", job_id=job.job_id, message=repr(condition))
