"""What an idle chat hears of its session without having asked: turns of other chats, and those of the agent itself."""

import asyncio
from collections.abc import Awaitable, Callable

from fairlead.api import Client, ServerAway, error_in
from fairlead.api import wire as w
from fairlead.channels.terminal.away import describe_server
from fairlead.channels.terminal.live_view import show_files, show_sent
from fairlead.channels.terminal.options import ChatOptions
from fairlead.channels.terminal.screen import Screen
from fairlead.core.job_names import job_number, short_name
from fairlead.core.job_states import LIVE
from fairlead.errors import FairleadError
from fairlead.render.errors import error_sentence
from fairlead.render.replies import job_state_words
from fairlead.render.safe_text import one_line
from fairlead.render.words import say

PROMPT_LENGTH = 100

ShowAbove = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]
"""Runs something that prints, above the line that the person is typing."""


class SessionNews:
    """`own` are the jobs that this chat follows by itself. `to_ask` are questions whose response is a message, and
    `asked` the ids of those that the chat has asked. `hear` runs as long as the chat, `show` only while
    nobody but the line editor has the screen. `project` is the name of the one that the chat works in."""

    def __init__(self, client: Client, screen: Screen, options: ChatOptions) -> None:
        self.own: set[str] = set()
        self.to_ask: list[w.QuestionInfo] = []
        self.asked: set[str] = set()
        self.project = ""
        self._client = client
        self._screen = screen
        self._options = options
        self._lang = options.lang
        self._heard: asyncio.Queue[w.StreamEvent | str | None] = asyncio.Queue()
        self._told_of_server = ""
        self._announced: set[str] = set()

    async def hear(self) -> None:
        try:
            async for event in self._client.session_events(self._options.user, on_away=self._on_away):
                self._heard.put_nowait(event)
        except FairleadError as problem:
            self._heard.put_nowait(error_sentence(problem, self._lang))

    def _on_away(self, _attempt: int, _why: Exception) -> None:
        look = self._options.look_at_server
        sentence = describe_server("up" if look is None else look(), self._lang)
        if sentence != self._told_of_server:
            self._told_of_server = sentence
            self._heard.put_nowait(sentence)

    async def show(self, above: ShowAbove) -> str:
        """Until somebody has to answer a question: the job that asks it, whose question may be one `to_ask`."""
        while True:
            event = await self._heard.get()
            try:
                asking = await self._show(event, above)
            except (FairleadError, ServerAway):
                continue  # the next connection tells of what is still owed
            if asking:
                return asking

    async def _show(self, event: w.StreamEvent | str | None, above: ShowAbove) -> str:
        match event:
            case None:
                await self._after_connecting(above)
            case str():
                await above(lambda: self._say(event, "yellow"))
            case w.QuestionInfo(by_message=True):
                if event.status == "open" and event.question_id not in self.asked:
                    self.to_ask.append(event)
                    return event.job_id
            case w.QuestionInfo(status="open", job_id=job_id) if job_id not in self.own:
                return job_id
            case w.SentInfo():
                await self._show_sent(above)
            case w.Moved(job_id=job_id, state=state) if job_id not in self.own:
                await self._show_move(job_id, state in LIVE, above)
            case _:
                pass
        return ""

    async def _after_connecting(self, above: ShowAbove) -> None:
        """What came while the chat was disconnected. The first connection has nothing new: the chat has just looked."""
        was_away, self._told_of_server = self._told_of_server, ""
        if was_away:
            await above(lambda: self._say(say(self._lang, "terminal.connection_back"), "yellow"))
        await self._show_sent(above)
        for job in await self._client.unfetched_jobs(self._options.user):
            if job.job_id not in self.own:
                await self._show_end(job, above)

    async def _show_sent(self, above: ShowAbove) -> None:
        """All that waits for this person: what was shown in a turn that the chat followed waits no more."""
        for sent in await self._client.unfetched_messages(self._options.user):
            await above(lambda sent=sent: show_sent(self._client, self._screen, self._options, sent))

    async def _show_move(self, job_id: str, is_live: bool, above: ShowAbove) -> None:
        if is_live and job_id in self._announced:
            return
        job = await self._client.job(job_id)
        if job.state not in LIVE:
            await self._show_end(job, above)
        elif self._is_here(job):
            self._announced.add(job_id)
            await above(lambda: self._say(self._heading(job)))

    async def _show_end(self, job: w.JobInfo, above: ShowAbove) -> None:
        self.own.add(job.job_id)
        if not self._is_here(job):
            state = job_state_words(job.state, self._lang)
            end = say(
                self._lang, "terminal.elsewhere_end", job=short_name(job.job_id), project=job.project, state=state
            )
            await above(lambda: self._say(end))
            return
        await above(lambda: self._print(job))
        owed = await self._client.unfetched_jobs(self._options.user)
        if any(one.job_id == job.job_id for one in owed):
            await self._client.acknowledge(job.job_id)

    async def _print(self, job: w.JobInfo) -> None:
        self._screen.rule(self._heading(job))
        self._screen.answer(job.answer)
        await show_files(self._client, self._screen, self._options, job)
        if job.error is not None:
            self._screen.fault(error_sentence(error_in(job.error), self._lang))
            self._screen.say(say(self._lang, "status.retry_hint", job=job_number(job.job_id)))
        elif job.state != "success":
            self._screen.say(f"{short_name(job.job_id)}: {job_state_words(job.state, self._lang)}")

    async def _say(self, words: str, style: str = "dim") -> None:
        self._screen.say(words, style)

    def _heading(self, job: w.JobInfo) -> str:
        name = " · ".join(filter(None, (short_name(job.job_id), job.machine)))
        if not job.prompt:
            return say(self._lang, "terminal.unasked", job=name)
        return say(self._lang, "terminal.elsewhere", job=name, prompt=one_line(job.prompt, PROMPT_LENGTH))

    def _is_here(self, job: w.JobInfo) -> bool:
        return not self.project or job.project in {"", self.project}
