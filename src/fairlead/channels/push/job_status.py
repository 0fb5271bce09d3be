"""What people see of a living job: one status, edited in place, and typing. Knows no service's API.

The status is never edited faster than the pace, the newest content always wins, and the last edit is never lost.
A channel draws through `StatusDisplay`.
"""

import asyncio
from collections.abc import Callable
from itertools import count
from random import random
from typing import Final, Protocol

import msgspec

from fairlead.channels.push.rate_limit import AGENT_FIRST_SEC
from fairlead.channels.push.retry import RETRY_BACKOFF
from fairlead.core import engine
from fairlead.core.job_states import JobState
from fairlead.core.live import RuleApplied
from fairlead.core.views import JobView
from fairlead.render.live_text import LiveText, LiveTextView
from fairlead.render.rules import rule_words
from fairlead.render.safe_text import quote_inline
from fairlead.render.tools import is_sub_agent_tool, is_todo_tool, tool_label
from fairlead.render.words import say

TYPING_EVERY_SEC: Final = 8.0
FIRST_AFTER_SEC: Final = 0.8
"""A job that is over sooner needs no status: typing, then the answer."""

TICK_SEC: Final = 15.0
"""The status is redrawn so often even without news: it says how long the job has been running."""

_EDITS_PER_SECOND: Final = 25.0
"""All statuses together: the rest of the rate limit is for answers."""

LIVE_STATES: Final = frozenset[JobState]({"queued", "running", "waiting", "steering"})


def edit_interval(statuses: int, least_sec: float) -> float:
    """Seconds between two edits of one status while so many statuses are shown."""
    return max(least_sec, statuses / _EDITS_PER_SECOND)


class StatusContent(msgspec.Struct, frozen=True):
    """All that a status shows, apart from how long the job has been running. Its times are seconds since the start of
    the job."""

    job_id: str
    state: JobState
    live_text: LiveTextView = LiveTextView()
    allowed_by: str = ""
    """The standing rule that allowed the agent's last request, in words."""
    machine: str = ""
    machine_away_since: str = ""
    """The other machine that the agent works on, and since when that is not connected."""


class TimedStatus(msgspec.Struct, frozen=True):
    """A status, and how many seconds its job has been running."""

    content: StatusContent
    seconds: float


class StatusDisplay(Protocol):
    """The place where a channel shows one job's status."""

    @property
    def last_edit_at(self) -> float:
        """The loop's time at which the last edit left; 0 before the first."""
        ...

    def is_showing(self) -> bool:
        """Whether people can see a status that says that the job runs."""
        ...

    async def draw(self, newest: Callable[[], TimedStatus]) -> StatusContent | None:
        """One attempt, with what is newest when the channel can make it; left out if the job has ended by then. The
        content that people see now (or never will, because no status can be shown again); None if the attempt
        failed."""
        ...

    async def draw_last(self, content: StatusContent, seconds: float) -> bool:
        """The job has ended, and its answer says how: one attempt to remove the status, or to show the end where a
        channel cannot remove it. True only if no older status is left."""
        ...

    async def show_typing(self, is_wanted: Callable[[], bool]) -> None:
        """One attempt, left out if typing is no longer wanted when the channel can make it."""
        ...


class JobStatus:
    """The status of one job. The caller tells it what happens (`set_state`, `add_event`) and runs `show` and `type`."""

    def __init__(
        self, job: JobView, display: StatusDisplay, *, lang: str, interval: Callable[[], float], tool_aware: bool
    ) -> None:
        self._job_id = job.job_id
        self._machine = job.machine
        self._machine_away_since = job.machine_away_since
        self._display = display
        self._lang = lang
        self._interval = interval
        self._live_text = LiveText(tool_aware=tool_aware, lang=lang)
        self._began = _now()
        self._state: JobState = "running"
        self._allowed_by = ""
        self._news = asyncio.Event()
        self._ended = asyncio.Event()

    # --- what happens to the job

    def set_state(self, state: JobState, machine_away_since: str = "") -> None:
        self._state = state
        self._machine_away_since = machine_away_since
        if state not in LIVE_STATES:
            self._ended.set()
        self._news.set()

    def add_event(self, event: engine.EngineEvent) -> None:
        now = self._seconds
        match event:
            case engine.TextDelta(text=text):
                self._live_text.add_text(text, now)
            case engine.ToolStarted():
                self._start_tool(event, now)
            case engine.ToolEnded(tool_id=tool_id, ok=ok):
                self._live_text.tool_ended(tool_id, now, ok=ok)
            case engine.TodosChanged(items=items):
                self._live_text.set_todos(items)
            case _:
                return
        self._news.set()

    def allow_by_rule(self, applied: RuleApplied) -> None:
        rule = quote_inline(rule_words(applied.offer), 100)
        self._allowed_by = say(self._lang, "status.allowed_by_rule", number=applied.number, rule=rule)
        self._news.set()

    def _start_tool(self, tool: engine.ToolStarted, now: float) -> None:
        label = tool_label(tool.name, tool.input, lang=self._lang)
        if tool.parent_id:
            self._live_text.sub_agent_used_tool(tool.tool_id, tool.parent_id)
        elif is_sub_agent_tool(tool.name):
            self._live_text.sub_agent_started(tool.tool_id, tool.name, label, now)
        elif not is_todo_tool(tool.name):  # the list itself says what such a tool changed
            self._live_text.tool_started(tool.tool_id, tool.name, label, now)

    # --- what people see of it

    async def show(self) -> None:
        """Returns when the job has ended and no status says any more that it runs."""
        if await self._ends_within(FIRST_AFTER_SEC):
            return
        drawn: StatusContent | None = None
        drawn_at = 0.0
        while not self._ended.is_set():
            self._news.clear()
            content = self._content()
            is_due = content != drawn or _now() - drawn_at >= TICK_SEC
            if is_due and (shown := await self._display.draw(self._look)) is not None:
                content = drawn = shown
                drawn_at = _now()
            if content == self._content():
                await self._wait_for_news(content.live_text.changes_at)
            await self._ends_within(self._seconds_to_next_edit())
        await self._draw_last()

    async def type(self) -> None:
        """Returns when the job has ended; while a person is asked, the agent does not type."""
        await self._ends_within(AGENT_FIRST_SEC)
        while not self._ended.is_set():
            if self._state == "running":
                await self._display.show_typing(lambda: not self._ended.is_set())
            await self._ends_within(TYPING_EVERY_SEC)

    async def _draw_last(self) -> None:
        """Retried however long the service is away: an ended job must not look as if it still ran."""
        if not self._display.is_showing():
            return
        content = StatusContent(self._job_id, self._state)
        seconds = self._seconds
        for attempt in count(1):
            await asyncio.sleep(max(0.0, self._seconds_to_next_edit()))
            if await self._display.draw_last(content, seconds):
                return
            await asyncio.sleep(RETRY_BACKOFF.delay(attempt, random))

    def _look(self) -> TimedStatus:
        return TimedStatus(self._content(), self._seconds)

    def _content(self) -> StatusContent:
        return StatusContent(
            job_id=self._job_id,
            state=self._state,
            live_text=self._live_text.view(self._seconds),
            allowed_by=self._allowed_by,
            machine=self._machine,
            machine_away_since=self._machine_away_since,
        )

    @property
    def _seconds(self) -> float:
        return _now() - self._began

    def _seconds_to_next_edit(self) -> float:
        return self._display.last_edit_at + self._interval() - _now()

    async def _ends_within(self, seconds: float) -> bool:
        if seconds <= 0:
            return self._ended.is_set()
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True

    async def _wait_for_news(self, changes_at: float | None) -> None:
        """At most until the tick, or until the live text changes by itself."""
        due = _now() + TICK_SEC
        if changes_at is not None:
            due = min(due, self._began + changes_at)
        try:
            async with asyncio.timeout_at(due):
                await self._news.wait()
        except TimeoutError:
            return


def _now() -> float:
    return asyncio.get_running_loop().time()
