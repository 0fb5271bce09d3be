"""The event streams of live jobs, for clients that listen now or connect again: numbered frames, one feed per job.

1. One watcher hears everything; a job's feed begins with its first event or its first listener.
2. A frame's id is `<feed>-<n>`. A listener that lost its connection names the last id it had and goes on behind it;
   one that names another feed (the server was restarted) gets the whole feed.
3. A feed forgets its oldest frames past a limit. That loses only live frames: `done` has the whole answer.
4. When its job ends, a feed ends. The end itself is not a frame: every listener reads the job, once it is durable.
   The last few ended feeds are kept, for listeners whose connection broke just before the end.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Final

import msgspec

from fairlead.api.wire import EVENT_NAMES, Delta, Image, Moved, StreamEvent, ToolUse, question_info
from fairlead.core.engine import ImageProduced, TextDelta, ToolEnded, ToolStarted
from fairlead.core.job_states import LIVE
from fairlead.core.live import AgentActed, JobMoved, LiveEvent, QuestionOpened, QuestionSettled
from fairlead.core.views import JobView, QuestionView
from fairlead.ports import View

MAX_FEED_BYTES: Final = 1024 * 1024
KEPT_ENDED: Final = 16
HEARTBEAT_SEC: Final = 15.0
_ENCODER: Final = msgspec.json.Encoder()


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One event as it goes over the wire."""

    id: str
    name: str
    data: bytes

    def as_bytes(self) -> bytes:
        return b"id: %s\nevent: %s\ndata: %s\n\n" % (self.id.encode(), self.name.encode(), self.data)


HEARTBEAT: Final = Frame("", "", b"")


def frame_of(event: StreamEvent, frame_id: str) -> Frame:
    return Frame(frame_id, EVENT_NAMES[type(event)], _ENCODER.encode(event))


class JobStream:
    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        self.ended = False
        self._name = secrets.token_hex(4)
        self._frames: deque[Frame] = deque()
        self._first = 1
        self._bytes = 0
        self._news = asyncio.Event()

    def id_of(self, number: int) -> str:
        return f"{self._name}-{number}"

    @property
    def first_id(self) -> str:
        """The id of the `accepted` that each listener is given before the frames."""
        return self.id_of(0)

    @property
    def end_id(self) -> str:
        return self.id_of(self._first + len(self._frames))

    def publish(self, event: StreamEvent) -> None:
        frame = frame_of(event, self.end_id)
        self._frames.append(frame)
        self._bytes += len(frame.data)
        while self._bytes > MAX_FEED_BYTES and len(self._frames) > 1:
            self._bytes -= len(self._frames.popleft().data)
            self._first += 1
        self._wake()

    def end(self) -> None:
        self.ended = True
        self._wake()

    def number_after(self, last_id: str) -> int | None:
        """Where a listener that last had `last_id` goes on; None if that was another feed's."""
        name, _, number = last_id.rpartition("-")
        return int(number) + 1 if name == self._name and number.isascii() and number.isdecimal() else None

    async def frames(self, number: int) -> AsyncIterator[Frame]:
        """The frames from `number` on, heartbeats in between, until the job ends or the server closes."""
        while True:
            number = max(number, self._first)
            while number - self._first < len(self._frames):
                yield self._frames[number - self._first]
                number = max(number + 1, self._first)
            if self.ended:
                return
            if not await self._wait_for_frame(HEARTBEAT_SEC):
                yield HEARTBEAT

    async def _wait_for_frame(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        return True

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class JobStreams:
    """All feeds. `run` is the watcher; its owner is the server."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._feeds: dict[str, JobStream] = {}
        self._ended: dict[str, JobStream] = {}
        self.closed = False

    async def run(self) -> None:
        async with aclosing(self._view.watch()) as happening:
            async for event in happening:
                self._hear(event)

    def follow(self, job_id: str) -> JobStream:
        """The feed of a job that lives; for a job that has ended, an ended feed without frames."""
        stream = self._feeds.get(job_id) or self._ended.get(job_id)
        if stream is None:
            stream = JobStream(job_id)
            job = self._view.recent_job(job_id)
            if self.closed or job is None or not job.is_live:
                stream.end()
            else:
                self._feeds[job_id] = stream
                _catch_up(stream, job, self._view.open_questions(job_id=job_id))
        return stream

    def close(self) -> None:
        self.closed = True
        for stream in self._feeds.values():
            stream.end()
        self._feeds.clear()

    def _hear(self, event: LiveEvent) -> None:
        if isinstance(event, JobMoved) and event.state not in LIVE:
            self._end(event.job_id)
            return
        shown = stream_event_of(event)
        if shown is None:
            return
        stream = self._feeds.get(event.job_id)
        if stream is None:
            job = self._view.recent_job(event.job_id)
            if job is None or not job.is_live:
                return  # a question may be settled after its job is over: a feed begun now would never end
            stream = self._feeds[event.job_id] = JobStream(event.job_id)
        stream.publish(shown)

    def _end(self, job_id: str) -> None:
        stream = self._feeds.pop(job_id, None)
        if stream is None:
            return
        stream.end()
        self._ended[job_id] = stream
        while len(self._ended) > KEPT_ENDED:
            del self._ended[next(iter(self._ended))]


def _catch_up(stream: JobStream, job: JobView, open_questions: list[QuestionView]) -> None:
    if job.state != "queued":
        stream.publish(Moved(job.job_id, job.state, tool=job.runtime))
    for question in open_questions:
        stream.publish(question_info(question))


def stream_event_of(event: LiveEvent) -> StreamEvent | None:
    """The event that a client gets; None for an event that clients are not shown."""
    match event:
        case JobMoved():
            return Moved(event.job_id, event.state, event.position, event.runtime)
        case QuestionOpened() | QuestionSettled():
            return question_info(event.question)
        case AgentActed():
            return _stream_event_of_agent(event)


def _stream_event_of_agent(event: AgentActed) -> StreamEvent | None:
    match event.event:
        case TextDelta(text=text):
            return Delta(text)
        case ToolStarted() as started:
            return ToolUse(started.tool_id, "started", started.name, started.input)
        case ToolEnded() as ended:
            return ToolUse(ended.tool_id, "ended", ok=ended.ok, summary=ended.summary)
        case ImageProduced() as image:
            return Image(image.media_type, len(image.data))
        case _:
            return None
