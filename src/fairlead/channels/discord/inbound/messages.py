"""What people say on Discord, on its way in: one inbox per conversation, one consumer for each, in order.

The gateway's callback only puts an event into its inbox, before anything is awaited. What was said while nobody
listened is put there first, so that live messages wait behind it.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import Final, TypeAlias

import discord
import msgspec

from fairlead.channels.discord.inbound.catch_up import Found
from fairlead.channels.discord.inbound.inbound_message import inbound_of, reacted_inbound, said_message_id
from fairlead.channels.discord.inbound.places import Place, Places, names_us
from fairlead.channels.discord.inbound.stranger_log import StrangerLog
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, UNKNOWN_MESSAGE, RestCalls, discord_code
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core.inbound import Inbound
from fairlead.core.keys import parse_session_key
from fairlead.core.message_outcomes import Enqueued
from fairlead.core.views import JobView
from fairlead.errors import FairleadError
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log, log_failure
from fairlead.ports import Gate, View

_PROMPTS: Final = frozenset({discord.MessageType.default, discord.MessageType.reply})


class Heard(msgspec.Struct, frozen=True):
    message: discord.Message


class Edited(msgspec.Struct, frozen=True):
    message: discord.Message


class Deleted(msgspec.Struct, frozen=True):
    message_id: int


class Reacted(msgspec.Struct, frozen=True):
    message_id: int
    user_id: int
    guild_id: int | None


class Missed(msgspec.Struct, frozen=True):
    """Ask for what was said after `since`; what is below `oldest` is too old to be answered."""

    since: int
    oldest: int


Item: TypeAlias = Heard | Edited | Deleted | Reacted | Missed
Refuse = Callable[[discord.Message, FairleadError], Awaitable[None]]
LookBack = Callable[[int, int], Awaitable[Found]]
_TOO_OLD: Final = "older than FAIRLEAD_CATCH_UP_HOURS"
_TOO_MANY: Final = "more than FAIRLEAD_CATCH_UP_MESSAGES were missed"


class Intake:
    def __init__(
        self,
        gate: Gate,
        view: View,
        places: Places,
        rest: RestCalls,
        stranger_log: StrangerLog,
        *,
        refuse: Refuse,
        look_back: LookBack,
    ) -> None:
        self._gate = gate
        self._view = view
        self._places = places
        self._rest = rest
        self._stranger_log = stranger_log
        self._refuse = refuse
        self._look_back = look_back
        self._inboxes: dict[int, deque[Item]] = {}
        self._owner: TaskOwner | None = None
        self.bot_id = 0
        self.our_applications: frozenset[int] = frozenset()
        self.halted = ""

    async def run(self) -> None:
        """For ever: own the consumers. Cancelling it leaves unread what was not yet taken; catch-up brings it back."""
        async with TaskOwner("intake", on_crash=lambda n, f: log_failure("an inbox crashed", f, inbox=n)) as owner:
            self._owner = owner
            for channel_id in self._inboxes:
                owner.start(self._consume(channel_id), name=str(channel_id))
            await asyncio.get_running_loop().create_future()

    def put(self, channel_id: int, item: Item) -> None:
        if self.halted:
            return
        inbox = self._inboxes.get(channel_id)
        if inbox is not None:
            if not _is_asked_already(item, inbox):
                inbox.append(item)
            return
        self._inboxes[channel_id] = deque((item,))
        if self._owner is not None:
            self._owner.start(self._consume(channel_id), name=str(channel_id))

    async def _consume(self, channel_id: int) -> None:
        inbox = self._inboxes[channel_id]
        try:
            while inbox:
                await self._take(channel_id, inbox[0])
                inbox.popleft()
        finally:
            del self._inboxes[channel_id]

    async def _take(self, channel_id: int, item: Item) -> None:
        try:
            match item:
                case Heard():
                    await self._hear(item.message)
                case Edited():
                    await self._amend(item.message)
                case Deleted():
                    await self._gate.withdraw(self._places.ref(channel_id), str(item.message_id))
                case Reacted():
                    await self._point(channel_id, item)
                case Missed():
                    await self._catch_up(channel_id, item)
        except FairleadError as refusal:
            log_failure("not taken", refusal, conversation=str(channel_id))
        except Exception as fault:  # one bad event must not silence its conversation
            log_failure("an event of Discord crashed", fault, conversation=str(channel_id))

    # --- messages

    async def _hear(self, message: discord.Message, known: Place | None = None) -> None:
        inbound = await self._inbound(message, known)
        if inbound is None or self._is_known(inbound):
            return
        try:
            await self._gate.submit(inbound)
        except FairleadError as refusal:
            await self._refuse(message, refusal)
        else:
            await self._guess_language(inbound.person, message.guild)

    async def _guess_language(self, person: str, guild: discord.Guild | None) -> None:
        """Messages carry no locale. Until an interaction does, the server's is taken; only a community chooses one."""
        if guild is not None and "COMMUNITY" in guild.features and not self._view.locale_of(person):
            await self._gate.see_person(person, guild.preferred_locale.value)

    def _is_known(self, inbound: Inbound) -> bool:
        return self._view.message_outcome(inbound.conversation, inbound.message_id) is not None

    async def _inbound(self, message: discord.Message, known: Place | None = None) -> Inbound | None:
        """None for everything that is not meant for the agent, or not by somebody who may talk to it."""
        if message.author.bot or message.webhook_id is not None or message.type not in _PROMPTS:
            return None
        guild_id = known.guild_id if known is not None else (message.guild.id if message.guild is not None else None)
        if not self._places.serves(guild_id):
            return None
        person = self._places.person(message.author.id)
        if not self._gate.allows(person):
            self._note_stranger(message, guild_id)
            return None
        place = known or await self._place(message.channel, guild_id, message.channel.id, message.author.id)
        if place is None or not self._is_addressed(message, place):
            return None
        return inbound_of(message, place, person=person, bot_id=self.bot_id, may_be_quoted=self._may_be_quoted)

    def _note_stranger(self, message: discord.Message, guild_id: int | None) -> None:
        if guild_id is None or names_us(message, self.bot_id) or self._is_bound(message.channel.id):
            self._stranger_log.note(message.author.id, "a message")

    def _is_bound(self, channel_id: int) -> bool:
        return self._view.conversation(self._places.ref(channel_id)) is not None

    def _bound_place(self, channel_id: int) -> Place | None:
        """What the journal knows of a place, where Discord tells no more than its id."""
        bound = self._view.conversation(self._places.ref(channel_id))
        key = parse_session_key(bound.session_key) if bound is not None else None
        if bound is None or key is None:
            return None
        parent = bound.conversation.parent_conversation_id
        kind = "thread" if parent is not None else ("dm" if key.kind == "user" else key.kind)
        return Place(kind, bound.conversation, key, int(key.space_id) if key.space_id else None)

    def _is_addressed(self, message: discord.Message, place: Place) -> bool:
        """Managed threads and direct messages need no mention; a channel needs it every time."""
        if place.kind == "dm" or (place.kind == "thread" and self._is_bound(message.channel.id)):
            return True
        return names_us(message, self.bot_id)

    def _may_be_quoted(self, quoted: discord.Message) -> bool:
        if quoted.author.id == self.bot_id or quoted.application_id in self.our_applications:
            return True
        return not quoted.author.bot and self._gate.allows(self._places.person(quoted.author.id))

    async def _place(self, channel: object, guild_id: int | None, channel_id: int, user_id: int) -> Place | None:
        place = self._places.of(channel, guild_id=guild_id, channel_id=channel_id, user_id=user_id)
        place = place or self._bound_place(channel_id)
        if place is not None:
            return place
        try:
            fetched = await self._rest.until_done(Urgency.ANSWER, lambda client: client.fetch_channel(channel_id))
        except DELIVERY_ERRORS as condition:
            log.warning("unknown place", conversation=str(channel_id), message=repr(condition))
            return None
        return self._places.of(fetched, guild_id=guild_id, channel_id=channel_id, user_id=user_id)

    async def _amend(self, message: discord.Message, known: Place | None = None) -> None:
        """Link previews are edits too: only other words of the person change the job, and only while it is queued."""
        outcome = self._view.message_outcome(self._places.ref(message.channel.id), str(message.id))
        job = self._view.recent_job(outcome.job_id) if isinstance(outcome, Enqueued) else None
        if job is None or job.state != "queued":
            return
        inbound = await self._inbound(message, known)
        if inbound is None:
            return
        try:
            await self._gate.amend(inbound.conversation, inbound.message_id, inbound.text)
        except FairleadError as refusal:
            await self._refuse(message, refusal)

    async def _point(self, channel_id: int, reacted: Reacted) -> None:
        person = self._places.person(reacted.user_id)
        found = await self._pointed_at(channel_id, reacted.message_id)
        if found is None:
            return
        channel, message = found
        place = await self._place(channel, reacted.guild_id, channel_id, reacted.user_id)
        if place is None:
            return
        inbound = reacted_inbound(message, place, person=person, is_own=message.author.id == reacted.user_id)
        if self._is_known(inbound):
            return
        try:
            await self._gate.submit(inbound)
        except FairleadError as refusal:
            await self._refuse(message, refusal)

    async def _pointed_at(self, channel_id: int, message_id: int) -> tuple[object, discord.Message] | None:
        """No catch-up brings a reaction back, so what it points at is insisted on."""

        async def read(client: discord.Client) -> tuple[object, discord.Message] | None:
            channel = await client.fetch_channel(channel_id)  # anew each time: it speaks by the client that fetched it
            if not isinstance(channel, discord.abc.Messageable):
                return None
            return channel, await channel.fetch_message(message_id)

        try:
            return await self._rest.until_done(Urgency.ANSWER, read)
        except DELIVERY_ERRORS as condition:
            log.warning("a message could not be read", message_id=str(message_id), message=repr(condition))
            return None

    # --- what was said while nobody listened

    async def _catch_up(self, channel_id: int, item: Missed) -> None:
        found = await self._look_back(channel_id, item.since)
        known = self._bound_place(channel_id)
        too_many = {m.id for m in found.too_many}
        for message in (*found.too_many, *found.wanted):  # read back, they do not say which server they are from
            place = known or self._places.dm(channel_id, message.author.id)
            if message.id < item.oldest:
                await self._leave(message, place, _TOO_OLD)
            elif message.id in too_many:
                await self._leave(message, place, _TOO_MANY)
            else:
                await self._hear(message, place)
            await self._amend(message, known)
        await self._withdraw_deleted(channel_id, too_many | {m.id for m in found.wanted}, item.since)

    async def _leave(self, message: discord.Message, place: Place, reason: str) -> None:
        """Not to be answered; but every message leaves its fact."""
        inbound = await self._inbound(message, place)
        if inbound is not None and not self._is_known(inbound):
            await self._gate.skip(inbound, reason)

    async def recheck(self, job: JobView) -> None:
        """What a queued job's message says now counts; a message that is gone takes its job with it."""
        message_id = said_message_id(job)
        if message_id is None or not job.conversation.conversation_id.isdecimal():
            return
        channel_id = int(job.conversation.conversation_id)
        try:
            message = await self._rest.until_done(
                Urgency.CATCH_UP, lambda c: c.get_partial_messageable(channel_id).fetch_message(message_id)
            )
        except DELIVERY_ERRORS as condition:
            if discord_code(condition) == UNKNOWN_MESSAGE:
                await self._gate.withdraw(job.conversation, job.message_id)
            else:
                log.warning("a queued message could not be read", job_id=job.job_id, message=repr(condition))
            return
        await self._amend(message, self._bound_place(channel_id))

    async def _withdraw_deleted(self, channel_id: int, there: set[int], since: int) -> None:
        """A queued message that is no longer there was deleted while nobody listened."""
        for job in self._view.queued_jobs(self._places.ref(channel_id)):
            message_id = said_message_id(job)
            if message_id is not None and _is_missing(message_id, there, since):
                await self._gate.withdraw(job.conversation, job.message_id)


def _is_asked_already(item: Item, inbox: deque[Item]) -> bool:
    """While Discord tells nothing, sessions come and go: one question that still waits its turn asks for all of them.
    The first of the inbox may have been answered already."""
    if not isinstance(item, Missed):
        return False
    return any(isinstance(each, Missed) and each.since <= item.since for each in islice(inbox, 1, None))


def _is_missing(message_id: int, there: set[int], since: int) -> bool:
    """Within what was looked at, and not found in it."""
    return bool(there) and max(since, min(there)) < message_id < max(there) and message_id not in there
