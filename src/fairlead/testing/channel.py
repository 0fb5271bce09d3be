"""A push channel that records what people would see, with the weather of a real one.

The history outlives the channel, as people's screens outlive a crash: each life of the daemon gets a channel of its own
on the same history. Like Discord it forgets nonces after three minutes, and shows none in its history.
"""

import asyncio
from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.errors import Code
from fairlead.ports import (
    ChannelAway,
    ChannelCapabilities,
    DeliveryImpossible,
    DeliveryLater,
    OutcomeUnknown,
    OutgoingMessage,
)

NONCE_MEMORY_SEC: Final = 180.0


class Weather(StrEnum):
    """What becomes of one call."""

    FAIR = "fair"
    LOST_ON_THE_WAY = "lost on the way"
    REPLY_LOST = "reply lost"
    HANGS = "hangs, and arrives"
    HANGS_AND_IS_LOST = "hangs, and is lost"
    REFUSED_FOR_NOW = "refused for now"
    BANNED = "banned until a time that the channel names"
    AWAY = "away"


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """A message that people see."""

    message_id: str
    address: str
    text: str
    at: float
    entry_id: str
    index: int
    job_id: str = ""
    question_id: str = ""
    nonce: str = ""


class SaidMessage(msgspec.Struct, frozen=True):
    """A message that somebody wrote, whether or not a daemon listened."""

    message_id: str
    address: str
    person: str
    text: str


class Marked(msgspec.Struct, frozen=True):
    """A mark that was set on somebody's message."""

    address: str
    message_id: str
    mark: str
    at: float


class NamedTime(msgspec.Struct, frozen=True):
    """The channel said at `named_at` that it takes nothing before `until`."""

    entry_id: str
    named_at: float
    until: float
    life: int


class ChannelHistory:
    """Everything that was ever posted. Message ids rise, those of people's own messages among them."""

    def __init__(self) -> None:
        self.posts: list[Post] = []
        self.closed: set[str] = set()
        self.threads: dict[str, str] = {}
        self.said: list[SaidMessage] = []
        self.marks: list[Marked] = []
        self.life = 0
        self.named_times: dict[str, NamedTime] = {}
        self.on_post: Callable[[Post], None] | None = None
        self.on_impatience: Callable[[OutgoingMessage], None] | None = None
        self.on_say: Callable[[SaidMessage], None] | None = None
        self._last_id = 1000

    def new_message_id(self) -> str:
        self._last_id += 1
        return str(self._last_id)

    def add(self, outgoing: OutgoingMessage, now: float) -> Post:
        remembered = self._find_by_nonce(outgoing, now)
        if remembered is not None:
            return remembered
        question_id = "" if outgoing.question is None else outgoing.question.question_id
        post = Post(
            message_id=self.new_message_id(),
            address=outgoing.destination.address,
            text=outgoing.text,
            at=now,
            entry_id=outgoing.entry_id,
            index=outgoing.index,
            job_id=outgoing.job_id,
            question_id=question_id,
            nonce=outgoing.nonce,
        )
        self.posts.append(post)
        if self.on_post is not None:
            self.on_post(post)
        return post

    def say(self, address: str, person: str, text: str) -> SaidMessage:
        self.said.append(SaidMessage(self.new_message_id(), address, person, text))
        if self.on_say is not None:
            self.on_say(self.said[-1])
        return self.said[-1]

    def next_said(self, address: str, since: int) -> SaidMessage | None:
        return next((s for s in self.said if s.address == address and int(s.message_id) > since), None)

    def last_said(self, address: str) -> int:
        return max((int(s.message_id) for s in self.said if s.address == address), default=0)

    def mark(self, address: str, message_id: str, mark: str, now: float) -> None:
        self.marks.append(Marked(address, message_id, mark, now))

    def name_time(self, outgoing: OutgoingMessage, now: float, until: float) -> None:
        """A caller that tries again before this time violates the wait, in this life or a later one."""
        self.named_times[outgoing.nonce] = NamedTime(outgoing.entry_id, now, until, self.life)

    def is_named_time_over(self, nonce: str, now: float) -> bool:
        return nonce not in self.named_times or now >= self.named_times[nonce].until

    def keep_times(self, is_known: Callable[[NamedTime], bool]) -> None:
        """Those that a process cannot know any more are forgotten."""
        self.named_times = {nonce: named for nonce, named in self.named_times.items() if is_known(named)}

    def grow(self, outgoing: OutgoingMessage) -> str:
        """A thread bears the id of the message it grew from; asked for again, it is there."""
        assert any(p.message_id == outgoing.thread_from for p in self.posts), f"{outgoing.entry_id} grows from nothing"
        self.threads[outgoing.thread_from] = outgoing.thread_name
        return outgoing.thread_from

    def _find_by_nonce(self, outgoing: OutgoingMessage, now: float) -> Post | None:
        recent = (p for p in self.posts if now - p.at <= NONCE_MEMORY_SEC and p.address == outgoing.destination.address)
        return next((p for p in recent if p.nonce == outgoing.nonce), None)

    def find_by_text(self, outgoing: OutgoingMessage) -> Post | None:
        """By what a reader can see: after the last known message, the same text or the same buttons."""
        after = int(outgoing.after_message_id) if outgoing.after_message_id.isdecimal() else 0
        later = (p for p in self.posts if p.address == outgoing.destination.address and int(p.message_id) > after)
        question_id = "" if outgoing.question is None else outgoing.question.question_id
        return next((p for p in later if p.text == outgoing.text and p.question_id == question_id), None)

    def posts_at(self, conversation: ConversationRef) -> list[Post]:
        return [p for p in self.posts if p.address == conversation.address]


class RecordingChannel:
    """ports.Channel. `weather` is asked before every call; without it every day is fair."""

    def __init__(
        self,
        history: ChannelHistory,
        *,
        name: str = "chat",
        text_limit: int = 200,
        weather: Callable[[], Weather] | None = None,
        latency: Callable[[], float] | None = None,
        ban_left: Callable[[], float] | None = None,
    ) -> None:
        self.history = history
        self._name = name
        self._text_limit = text_limit
        self._weather = weather or (lambda: Weather.FAIR)
        self._latency = latency or (lambda: 0.05)
        self._ban_left = ban_left or (lambda: 3600.0)
        self._is_unplugged = False

    @property
    def name(self) -> str:
        return self._name

    @property
    def capabilities(self) -> ChannelCapabilities:
        return ChannelCapabilities(
            text_limit=self._text_limit,
            edits=True,
            files=True,
            threads=True,
            push=True,
            busy_code=Code.E_DISCORD_RATE_LIMIT,
        )

    def unplug(self) -> None:
        """The power is lost: what is still under way here reaches nobody."""
        self._is_unplugged = True

    async def send(self, outgoing: OutgoingMessage) -> str:
        assert len(outgoing.text) <= self._text_limit, f"{outgoing.entry_id} is {len(outgoing.text)} characters long"
        weather = self._weather()
        if weather is Weather.AWAY:
            raise ChannelAway(self.name)
        await asyncio.sleep(self._latency())
        self._check_named_time(outgoing)
        self._refuse(outgoing, weather)
        made = "" if weather in {Weather.LOST_ON_THE_WAY, Weather.HANGS_AND_IS_LOST} else self._make_post(outgoing)
        if weather in {Weather.HANGS, Weather.HANGS_AND_IS_LOST}:
            await asyncio.sleep(300)
        else:
            await asyncio.sleep(self._latency())
        if not made or weather is not Weather.FAIR:
            raise OutcomeUnknown(f"{self.name}: {weather}")
        return made

    def _refuse(self, outgoing: OutgoingMessage, weather: Weather) -> None:
        if outgoing.destination.address in self.history.closed:
            raise DeliveryImpossible(Code.E_THREAD_ACCESS_FAILED, "the conversation is gone")
        if weather is Weather.REFUSED_FOR_NOW:
            raise DeliveryLater(Code.E_DISCORD_RATE_LIMIT, 2.0, must_wait=True)
        if weather is Weather.BANNED:
            self._ban(outgoing)

    def _ban(self, outgoing: OutgoingMessage) -> None:
        """Names the time until which nothing is taken."""
        left = self._ban_left()
        now = asyncio.get_running_loop().time()
        self.history.name_time(outgoing, now, now + left)
        raise DeliveryLater(Code.E_DISCORD_RATE_LIMIT, left, must_wait=True)

    def _check_named_time(self, outgoing: OutgoingMessage) -> None:
        """Reports an attempt that does not wait for the time which was named to it."""
        is_over = self.history.is_named_time_over(outgoing.nonce, asyncio.get_running_loop().time())
        if not is_over and not self._is_unplugged and self.history.on_impatience is not None:
            self.history.on_impatience(outgoing)

    def _make_post(self, outgoing: OutgoingMessage) -> str:
        if self._is_unplugged:
            raise ChannelAway("unplugged")
        if outgoing.thread_name:
            return self.history.grow(outgoing)
        return self.history.add(outgoing, asyncio.get_running_loop().time()).message_id

    async def find(self, outgoing: OutgoingMessage) -> str | None:
        weather = self._weather()
        await asyncio.sleep(self._latency())
        if self._is_unplugged or weather is Weather.AWAY:
            raise ChannelAway(self.name)
        self._check_named_time(outgoing)
        if weather is Weather.BANNED:
            self._ban(outgoing)
        if weather is not Weather.FAIR:
            raise DeliveryLater(Code.E_DISCORD_RATE_LIMIT, 2.0, must_wait=True)
        if outgoing.thread_name:
            return outgoing.thread_from if outgoing.thread_from in self.history.threads else None
        post = self.history.find_by_text(outgoing)
        return None if post is None else post.message_id
