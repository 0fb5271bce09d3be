"""Names the threads that the bot opened: the agent's title for the talk, else the first prompt, behind a sign of how
the work stands. A name that a person gave stays.

Discord allows two renames of a thread in ten minutes, so a name that is wanted waits for its turn, and the newest one
wins. Renames come behind every other call and hold up nothing.
"""

import asyncio
import re
from collections import deque
from typing import Any, Final

from fairlead.channels.discord.inbound.bot_identity import BotIdentity
from fairlead.channels.discord.outbound.rest import DELIVERY_ERRORS, RestCalls
from fairlead.channels.push.rate_limit import Urgency
from fairlead.core.events import TitledBy
from fairlead.core.job_states import JobState
from fairlead.core.keys import parse_session_key
from fairlead.core.views import JobView, SessionView
from fairlead.errors import FairleadError
from fairlead.kit.tasks import TaskOwner
from fairlead.observe import log, log_failure
from fairlead.ports import DeliveryImpossible, DeliveryLater, Gate, View
from fairlead.render.safe_text import one_line
from fairlead.render.thread_start import is_opening_name, title_of_prompt

RENAMES: Final = 2
WITHIN_SEC: Final = 605.0
"""A little more than Discord's ten minutes: the clocks of both sides differ."""

SETTLE_SEC: Final = 3.0
"""A state that is over sooner is not worth a rename."""

_NAME: Final = 100
SIGNS: Final[dict[JobState, str]] = {
    "running": "⏳",
    "waiting": "✋",
    "success": "✅",
    "failed": "❌",
    "unknown_after_crash": "❌",
    "cancelled": "",
}
_SIGN: Final = re.compile(f"^(?:{'|'.join(sorted({sign for sign in SIGNS.values() if sign}))}) ")


def name_of(sign: str, title: str) -> str:
    return one_line(f"{sign} {title}".strip(), _NAME)


def without_sign(name: str) -> str:
    return _SIGN.sub("", name)


class _Thread:
    """What is known of one thread: the sign that it should bear, and when it was renamed."""

    def __init__(self, thread_id: int, session_key: str) -> None:
        self.thread_id = thread_id
        self.session_key = session_key
        self.state: JobState = "running"
        self.shown = ""
        self.renamed: deque[float] = deque(maxlen=RENAMES)
        self.is_left_alone = False
        self.is_kept = False
        self.news = asyncio.Event()

    def seconds_to_wait(self, now: float) -> float:
        """Until the next rename. That somebody works is shown only if the end of the work can be shown too."""
        recent = [at for at in self.renamed if now - at < WITHIN_SEC]
        free = RENAMES - len(recent)
        needed = RENAMES if self.state == "running" else 1
        if free >= needed:
            return 0.0
        return recent[needed - free - 1] + WITHIN_SEC - now


class ThreadTitles:
    def __init__(self, gate: Gate, view: View, *, rest: RestCalls, identity: BotIdentity, owner: TaskOwner) -> None:
        self._gate = gate
        self._view = view
        self._rest = rest
        self._identity = identity
        self._owner = owner
        self._threads: dict[str, _Thread] = {}

    def look_at(self, job: JobView, state: JobState) -> None:
        """A job moved. Jobs that are not in their session's own thread name nothing."""
        if job.conversation.parent_conversation_id is None or state not in SIGNS:
            return
        own = parse_session_key(job.session_key)
        if own is None or own.target_id != job.conversation.conversation_id:
            return  # a session that was spawned without a thread works where it was asked for
        thread = self._threads.get(job.session_key)
        if thread is None:
            thread = _Thread(int(job.conversation.conversation_id), job.session_key)
            self._threads[job.session_key] = thread
        thread.state = state
        self._want(thread, job)

    def take_title(self, session_key: str, title: str) -> None:
        """The agent's own title for the talk."""
        thread = self._threads.get(session_key)
        if thread is not None:
            self._owner.start(self._title(thread, title_of_prompt(title), "agent"), name=f"agent's title {session_key}")

    def _want(self, thread: _Thread, job: JobView) -> None:
        session = self._view.session(thread.session_key)
        if session is not None and not session.titled_by:
            self._owner.start(self._title_by_prompt(thread, job.job_id), name=f"first title {thread.session_key}")
        else:
            self._wake(thread)

    def _wake(self, thread: _Thread) -> None:
        thread.news.set()
        if not thread.is_kept and not thread.is_left_alone:
            thread.is_kept = True
            self._owner.start(self._keep(thread), name=f"title of {thread.session_key}")

    async def _title_by_prompt(self, thread: _Thread, job_id: str) -> None:
        try:
            prompt = (await self._view.job(job_id)).prompt
        except FairleadError as gone:
            log_failure("a thread got no title", gone, job_id=job_id)
            return
        await self._title(thread, title_of_prompt(prompt), "prompt")

    async def _title(self, thread: _Thread, title: str, by: TitledBy) -> None:
        try:
            await self._gate.title_session(thread.session_key, title, by)
        except FairleadError as refusal:
            log_failure("a thread got no title", refusal, session_key=thread.session_key)
        self._wake(thread)

    async def _keep(self, thread: _Thread) -> None:
        """Until the thread has the newest name that is wanted, or a person has named it."""
        try:
            while thread.news.is_set() and not thread.is_left_alone:
                await asyncio.sleep(SETTLE_SEC)
                while (wait := thread.seconds_to_wait(_now())) > 0:
                    thread.news.clear()
                    await self._wait_for_news(thread, wait)
                thread.news.clear()
                await self._rename(thread)
        finally:
            thread.is_kept = False

    async def _wait_for_news(self, thread: _Thread, seconds: float) -> None:
        """Another state may need no wait."""
        try:
            async with asyncio.timeout(seconds):
                await thread.news.wait()
        except TimeoutError:
            return

    async def _rename(self, thread: _Thread) -> None:
        session = self._view.session(thread.session_key)
        if session is None or not session.title or session.titled_by == "person":
            thread.is_left_alone = session is None or session.titled_by == "person"
            return
        name = name_of(SIGNS[thread.state], session.title)
        if name == thread.shown:
            return
        try:
            if await self._may_rename(thread, session, name):
                thread.renamed.append(_now())
                await self._rest.once(
                    Urgency.TITLE, lambda client: client.http.edit_channel(thread.thread_id, name=name)
                )
                thread.shown = name
        except DeliveryLater as limited:
            await asyncio.sleep(limited.wait_sec)
            thread.news.set()
        except DELIVERY_ERRORS as failure:
            thread.is_left_alone = isinstance(failure, DeliveryImpossible)
            log.info("a thread was not renamed", conversation=str(thread.thread_id), message=repr(failure))

    async def _may_rename(self, thread: _Thread, session: SessionView, name: str) -> bool:
        """The thread is the bot's own, and its name is one that the bot gave."""
        found: Any = await self._rest.once(Urgency.TITLE, lambda client: client.http.get_channel(thread.thread_id))
        current = str(found.get("name", ""))
        if current == name:
            thread.shown = name
            return False
        is_own = str(found.get("owner_id")) == str(self._identity.bot_id)
        known = {name_of("", title) for title in (session.title, session.title_before) if title}
        if is_own and (without_sign(current) in known or is_opening_name(current, session.project)):
            metadata: dict[str, Any] = found.get("thread_metadata") or {}
            return not metadata.get("archived")
        thread.is_left_alone = True
        if is_own:
            await self._gate.title_session(thread.session_key, current, "person")
        return False


def _now() -> float:
    return asyncio.get_running_loop().time()
