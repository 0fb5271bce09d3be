"""Live events for watchers: facts when they become durable, and the words of agents while they are written.

A slow watcher holds up nobody: deltas that wait for it are joined, so that its backlog stays short and no word is lost.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from fairlead.core import events as e
from fairlead.core.engine import EngineEvent, TextDelta, ThinkingDelta
from fairlead.core.ids import JobId, QuestionId
from fairlead.core.job_states import JobState
from fairlead.core.live import AgentActed, JobMoved, LiveEvent, QuestionOpened, QuestionSettled
from fairlead.core.read_models import question_view
from fairlead.core.state import State


class Watch:
    """One watcher's backlog. Subscribed from the moment it is made; `aclose` ends it."""

    def __init__(self, live_events: "LiveEvents", session_key: str | None, job_id: str | None) -> None:
        self._live_events = live_events
        self._session_key = session_key
        self._job_id = job_id
        self._backlog: deque[LiveEvent] = deque()
        self._sleeper: asyncio.Future[None] | None = None

    def wants(self, event: LiveEvent) -> bool:
        session_fits = self._session_key is None or event.session_key == self._session_key
        return session_fits and (self._job_id is None or event.job_id == self._job_id)

    def give(self, event: LiveEvent) -> None:
        joined = _join_deltas(self._backlog[-1], event) if self._backlog else None
        if joined is not None:
            self._backlog[-1] = joined
        else:
            self._backlog.append(event)
        if self._sleeper is not None and not self._sleeper.done():
            self._sleeper.set_result(None)

    def __aiter__(self) -> AsyncIterator[LiveEvent]:
        return self

    async def __anext__(self) -> LiveEvent:
        while not self._backlog:
            self._sleeper = asyncio.get_running_loop().create_future()
            await self._sleeper
        return self._backlog.popleft()

    async def aclose(self) -> None:
        self._live_events.leave(self)


def _join_deltas(last: LiveEvent, event: LiveEvent) -> LiveEvent | None:
    if not isinstance(last, AgentActed) or not isinstance(event, AgentActed) or last.job_id != event.job_id:
        return None
    match last.event, event.event:
        case TextDelta(text=before), TextDelta(text=after):
            return AgentActed(last.job_id, last.session_key, TextDelta(before + after))
        case ThinkingDelta(text=before), ThinkingDelta(text=after):
            return AgentActed(last.job_id, last.session_key, ThinkingDelta(before + after))
        case _:
            return None


class LiveEvents:
    def __init__(self, state: State) -> None:
        self._state = state
        self._watches: set[Watch] = set()

    def watch(self, *, session_key: str | None = None, job_id: str | None = None) -> Watch:
        watch = Watch(self, session_key, job_id)
        self._watches.add(watch)
        return watch

    def leave(self, watch: Watch) -> None:
        self._watches.discard(watch)

    def agent_acted(self, job_id: str, session_key: str, event: EngineEvent) -> None:
        if self._watches:
            self._publish(AgentActed(job_id, session_key, event))

    def announce(self, event: e.JournalEvent) -> None:
        """Called with each durable fact: publish its live event, if it has one."""
        if not self._watches:
            return
        match event:
            case e.JobEnqueued():
                self._announce_move(event.job_id, "queued")
            case e.JobStarted() | e.JobContinued():
                self._announce_move(event.job_id, "running")
            case e.JobCompleted():
                self._announce_move(event.job_id, "success")
            case e.JobFailed():
                self._announce_move(event.job_id, "failed")
            case e.JobCancelled():
                self._announce_move(event.job_id, "cancelled")
            case e.JobWithdrawn():
                self._announce_move(event.job_id, "withdrawn")
            case e.JobMarkedUnknownAfterCrash():
                self._announce_move(event.job_id, "unknown_after_crash")
            case e.QuestionAsked():
                self._announce_move(event.job_id, "waiting")
                self._announce_question(event.question_id, QuestionOpened)
            case e.QuestionAnswered() | e.QuestionClosed():
                self._announce_question(event.question_id, QuestionSettled)
            case _:
                pass

    def _announce_move(self, job_id: JobId, state: JobState) -> None:
        job = self._state.jobs.get(job_id)
        if job is None:
            return
        queue = self._state.sessions[job.session_key].queue
        self._publish(
            JobMoved(
                job_id=job_id,
                session_key=job.session_key,
                state=state,
                position=queue.index(job_id) if job_id in queue else 0,
                runtime=job.runtime or "",
                error_code=job.error_code or "" if state in {"failed", "unknown_after_crash"} else "",
                error_message=job.error_message or "" if state == "failed" else "",
            )
        )

    def _announce_question(self, question_id: QuestionId, kind: type[QuestionOpened | QuestionSettled]) -> None:
        question = self._state.questions.get(question_id)
        if question is not None:
            self._publish(kind(question.job_id, question.session_key, question_view(self._state, question)))

    def _publish(self, event: LiveEvent) -> None:
        for watch in self._watches:
            if watch.wants(event):
                watch.give(event)
