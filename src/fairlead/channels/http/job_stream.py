"""The event streams of live jobs, for clients that listen now or connect again: numbered frames, one stream per job.

1. One watcher gets every live event, and with its start what was told of the jobs that live by then. So a stream holds
   what happened in its job in the one order of `LiveEvents`, and nothing that is not durable: a listener that comes
   later reads the stream, never the state, which may be ahead of it.
2. A frame's id is `<stream>-<n>`. A listener that lost its connection names the last id it had and goes on behind it;
   one that names another stream (the server was restarted) gets the whole stream.
3. A stream forgets its oldest frames past a limit. That loses only live frames: `done` has the whole answer.
4. When its job ends, a stream ends. The end itself is not a frame: every listener reads the job, once it is durable.
   The last few ended streams are kept, for listeners whose connection broke just before the end.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Final

import msgspec

from fairlead.api.wire import (
    EVENT_NAMES,
    Delta,
    FileInfo,
    Image,
    Moved,
    NotSteered,
    RuleUse,
    SentInfo,
    StreamEvent,
    ToolUse,
    Usage,
    question_info,
)
from fairlead.core.engine import ImageProduced, TextDelta, ToolEnded, ToolStarted, UsageReported
from fairlead.core.job_states import LIVE, JobState
from fairlead.core.live import (
    AgentActed,
    AgentSent,
    AnswerSettled,
    JobMoved,
    LiveEvent,
    QuestionOpened,
    QuestionSettled,
    RecordChanged,
    RuleApplied,
    SteeringTold,
)
from fairlead.core.views import SentView
from fairlead.ports import View, Watching

MAX_STREAM_BYTES: Final = 1024 * 1024
KEPT_ENDED: Final = 16
HEARTBEAT_SEC: Final = 15.0
_ENCODER: Final = msgspec.json.Encoder()


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One event as it goes over the wire."""

    id: str
    name: str
    data: bytes
    state: JobState | None = None
    """The job's state from this frame on, if the frame changes it."""

    def as_bytes(self) -> bytes:
        return b"id: %s\nevent: %s\ndata: %s\n\n" % (self.id.encode(), self.name.encode(), self.data)


HEARTBEAT: Final = Frame("", "", b"")


def frame_of(event: StreamEvent, frame_id: str) -> Frame:
    state = event.state if isinstance(event, Moved) else None
    return Frame(frame_id, EVENT_NAMES[type(event)], _ENCODER.encode(event), state)


class JobStream:
    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        self.ended = False
        self._name = secrets.token_hex(4)
        self._frames: deque[Frame] = deque()
        self._first = 1
        self.first_state: JobState = "queued"
        """The job's state before the oldest frame that is kept: where a listener begins that hears all of them."""
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

    @property
    def is_over(self) -> bool:
        """Nothing is heard here but the end."""
        return self.ended and not self._frames

    def publish(self, event: StreamEvent) -> None:
        frame = frame_of(event, self.end_id)
        self._frames.append(frame)
        self._bytes += len(frame.data)
        while self._bytes > MAX_STREAM_BYTES and len(self._frames) > 1:
            forgotten = self._frames.popleft()
            self.first_state = forgotten.state or self.first_state
            self._bytes -= len(forgotten.data)
            self._first += 1
        self._wake()

    def end(self) -> None:
        self.ended = True
        self._wake()

    def number_after(self, last_id: str) -> int | None:
        """Where a listener that last had `last_id` goes on; None if that was another stream's."""
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
    """The streams of all jobs. `run` is the watcher; its owner is the server."""

    def __init__(self, view: View, *, tell_too: Callable[[LiveEvent], None] = lambda _event: None) -> None:
        """`tell_too` is given every live event, in the same order."""
        self._view = view
        self._tell_too = tell_too
        self._watch: Watching | None = None
        self._live: dict[str, JobStream] = {}
        self._ended: dict[str, JobStream] = {}
        self.closed = False

    async def run(self) -> None:
        async with aclosing(self._view.watch()) as self._watch:
            for event in self._view.told_so_far():
                self._publish(event)
            async for event in self._watch:
                self._publish(event)

    def follow(self, job_id: str) -> JobStream:
        """The stream of a job that lives; for a job that has ended, an ended stream without frames."""
        self._read_waiting()
        stream = self._live.get(job_id) or self._ended.get(job_id)
        if stream is None:
            stream = JobStream(job_id)
            job = self._view.recent_job(job_id)
            if self.closed or job is None or not job.is_live:
                stream.end()
            else:
                self._live[job_id] = stream  # watchers will be told that it was queued: nobody was told yet
        return stream

    def _read_waiting(self) -> None:
        """The watcher's task may not have come to read what it was told in this step of the event loop."""
        for event in () if self._watch is None else self._watch.take_waiting():
            self._publish(event)

    def close(self) -> None:
        self.closed = True
        for stream in self._live.values():
            stream.end()
        self._live.clear()

    def _publish(self, event: LiveEvent) -> None:
        self._tell_too(event)
        if isinstance(event, JobMoved) and event.state not in LIVE:
            self._end(event.job_id)
            return
        shown = stream_event_of(event)
        if shown is None:
            return
        if isinstance(event, JobMoved) and event.job_id not in self._live:
            self._live[event.job_id] = JobStream(event.job_id)
        stream = self._live.get(event.job_id)
        if stream is not None:  # a question may be settled after its job is over: a stream begun then would never end
            stream.publish(shown)

    def _end(self, job_id: str) -> None:
        stream = self._live.pop(job_id, None)
        if stream is None:
            return
        stream.end()
        self._ended[job_id] = stream
        while len(self._ended) > KEPT_ENDED:
            del self._ended[next(iter(self._ended))]


def stream_event_of(event: LiveEvent) -> StreamEvent | None:
    """The event that a client gets; None for an event that clients are not shown."""
    match event:
        case JobMoved():
            return Moved(
                job_id=event.job_id,
                state=event.state,
                position=event.position,
                tool=event.runtime,
                held=event.held,
                machine=event.machine,
                machine_away_since=event.machine_away_since,
                steered_into=event.steered_into,
            )
        case SteeringTold():
            return NotSteered(event.job_id, event.reason, event.detail)
        case QuestionOpened() | QuestionSettled():
            return question_info(event.question)
        case AgentActed():
            return _stream_event_of_agent(event)
        case RuleApplied():
            return RuleUse(event.number, event.offer)
        case AgentSent():
            return sent_info(event.sent)
        case AnswerSettled() | RecordChanged():
            return None  # a client that fetches knows by itself


def sent_info(sent: SentView) -> SentInfo:
    files = (
        FileInfo(f.name, f"/v1/sent/{sent.sent_id}/files/{number}", f.media_type) for number, f in enumerate(sent.files)
    )
    return SentInfo(sent_id=sent.sent_id, job_id=sent.job_id, sent_at=sent.sent_at, text=sent.text, files=tuple(files))


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
        case UsageReported() as used:
            return Usage(
                input_tokens=used.input_tokens,
                output_tokens=used.output_tokens,
                cached_tokens=used.cached_tokens,
                cost_usd=used.cost_usd,
                context_used=used.context_used,
                context_size=used.context_size,
            )
        case _:
            return None
