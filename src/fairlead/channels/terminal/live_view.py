"""One turn in the terminal: events come in, keys come in, and both are handled one after the other."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final, Literal, NamedTuple, assert_never

from fairlead.api import Client, ServerAway
from fairlead.api import wire as w
from fairlead.channels.terminal.keyboard import Keyboard
from fairlead.channels.terminal.markdown_stream import MarkdownStream
from fairlead.channels.terminal.questions import PromptResult, QuestionPrompt
from fairlead.channels.terminal.screen import Screen
from fairlead.core.requests import Cancel
from fairlead.errors import FairleadError, sentence
from fairlead.kit.tasks import TaskOwner
from fairlead.render.tools import tool_label


class Key(NamedTuple):
    name: str


class Away(NamedTuple):
    attempt: int
    why: str


DRAWN_EVERY_SEC: Final = 0.1

Happening = w.StreamEvent | Key | Away | FairleadError | ServerAway
Ending = Literal["over", "left", "lost"]


class TerminalLiveView:
    """`typed_ahead` is what the person typed meanwhile: whole lines come next, the rest belongs into the line."""

    def __init__(self, client: Client, screen: Screen, user: str) -> None:
        self.typed_ahead = ""
        self._client = client
        self._screen = screen
        self._user = user
        self._flowing = MarkdownStream()
        self._asking: QuestionPrompt | None = None
        self._cancelling = False
        self._away = False
        self._inbox: asyncio.Queue[Happening] = asyncio.Queue()

    async def follow(self, job_id: str, keyboard: Keyboard) -> Ending:
        async with self._on_screen(keyboard, "thinking …") as owner:
            owner.start(self._hear(job_id), name="events")
            return await self._until_over(job_id)

    async def ask_late(self, question: w.QuestionInfo, keyboard: Keyboard) -> str | None:
        """A question whose job a restart has ended: the job that its answer began, None if it was left open."""
        async with self._on_screen(keyboard, ""):
            self._question(question)
            return await self._until_answered()

    @asynccontextmanager
    async def _on_screen(self, keyboard: Keyboard, note: str) -> AsyncGenerator[TaskOwner]:
        self._screen.begin(note)
        try:
            with keyboard.listening(lambda name: self._inbox.put_nowait(Key(name))):
                async with TaskOwner("turn") as owner:
                    owner.start(self._keep_drawing(), name="drawing")
                    yield owner
                    owner.cancel()
        finally:
            self._screen.end()
        self._keep_late_keys()

    async def _hear(self, job_id: str) -> None:
        try:
            async for event in self._client.events(job_id, on_away=self._on_away):
                self._inbox.put_nowait(event)
        except (FairleadError, ServerAway) as problem:
            self._inbox.put_nowait(problem)

    async def _keep_drawing(self) -> None:
        while True:
            self._screen.draw()
            await asyncio.sleep(DRAWN_EVERY_SEC)

    def _on_away(self, attempt: int, why: Exception) -> None:
        self._inbox.put_nowait(Away(attempt, str(why)))

    async def _until_over(self, job_id: str) -> Ending:
        ending: Ending | None = None
        while ending is None:
            happening = await self._inbox.get()
            match happening:
                case Key(name):
                    ending = await self._press(job_id, name)
                case Away():
                    self._lost_sight()
                case FairleadError():
                    self._screen.fault(happening.full_sentence())
                    ending = "over"
                case ServerAway():
                    self._screen.fault(f"{happening} The job goes on there; its answer will wait for you.")
                    ending = "lost"
                case _:
                    ending = await self._see(happening)
        return ending

    async def _until_answered(self) -> str | None:
        asking = self._asking
        while asking is not None:
            happening = await self._inbox.get()
            if happening == Key("ctrl-c"):
                self._screen.say("The question stays open.", "yellow")
                return None
            if isinstance(happening, Key) and (begun := await self._press_in_question(asking, happening.name)):
                return begun
            asking = self._asking
        return None

    def _lost_sight(self) -> None:
        if not self._away:
            self._away = True
            self._screen.say("The connection is lost; trying to get it back …", "yellow")

    # --- events -----------------------------------------------------------------------------------------------------

    async def _see(self, event: w.StreamEvent) -> Ending | None:
        if self._away:
            self._away = False
            self._screen.say("… and is back.", "yellow")
        match event:
            case w.Accepted():
                self._begin_again(event)
            case w.Moved():
                self._screen.note(_doing(event))
            case w.Delta(text):
                whole = self._flowing.add(text)
                self._screen.flow(whole, self._flowing.tail)
            case w.ToolUse():
                self._tool(event)
            case w.QuestionInfo():
                self._question(event)
            case w.Image():
                self._screen.say(f"  🖼 an image ({event.media_type}, {event.size:,} bytes)")
            case w.Done(job) | w.Failed(_, job):
                await self._over(event, job)
                return "over"
            case _:
                assert_never(event)
        return None

    def _begin_again(self, accepted: w.Accepted) -> None:
        """A stream that begins anew tells the answer anew; what was shown of it stays above."""
        self._flush()
        self._flowing = MarkdownStream()
        if accepted.state == "queued" and accepted.position:
            self._screen.note(f"waiting behind {accepted.position} …")

    def _flush(self) -> None:
        self._screen.flow(self._flowing.flush(), "")

    def _tool(self, event: w.ToolUse) -> None:
        if event.phase == "started":
            self._flush()
            self._screen.tool_started(event.tool_id, tool_label(event.name, event.input))
        else:
            self._screen.tool_ended(event.tool_id, ok=event.ok, summary=event.summary)

    async def _over(self, event: w.Done | w.Failed, job: w.JobInfo) -> None:
        self._flush()
        missing = self._flowing.missing_from(job.answer)
        if missing and missing == job.answer.strip() and self._flowing.shown.strip():
            self._screen.rule("answer")
        self._screen.answer(missing)
        for file in job.files:
            self._screen.say(f"  📎 {file.name}  {self._client.base_url}{file.url}")
        if isinstance(event, w.Failed):
            self._screen.fault(sentence(event.error.code, event.error.message, event.error.next))
            self._screen.say(f"/retry {job.job_id} tries it again.")
        elif job.state != "success":
            self._screen.say(f"{job.job_id} was {job.state}.")
        with suppress(FairleadError, ServerAway):  # then it is shown again at the next start, which harms nobody
            await self._client.acknowledge(job.job_id)

    # --- questions and keys -----------------------------------------------------------------------------------------

    def _question(self, question: w.QuestionInfo) -> None:
        if question.status != "open":
            self._settled_elsewhere(question)
        elif self._asking is None or self._asking.question.question_id != question.question_id:
            self._flush()
            self._asking = QuestionPrompt(question)
            self._screen.question(question)
            self._screen.asking(self._asking)

    def _settled_elsewhere(self, question: w.QuestionInfo) -> None:
        if self._asking is not None and self._asking.question.question_id == question.question_id:
            who = f" by {question.answered_by}" if question.answered_by else ""
            self._screen.say(f"  (settled{who}: {question.outcome})", "yellow")
            self._stop_asking()

    def _stop_asking(self) -> None:
        self._asking = None
        self._screen.asking(None)

    async def _press(self, job_id: str, key: str) -> Ending | None:
        if key == "ctrl-c":
            return await self._cancel_or_leave(job_id)
        if self._asking is not None:
            await self._press_in_question(self._asking, key)
        else:
            self._type_ahead(key)
        return None

    def _type_ahead(self, key: str) -> None:
        if key == "backspace":
            self.typed_ahead = self.typed_ahead[:-1]
        elif key == "enter" or len(key) == 1:
            self.typed_ahead += "\n" if key == "enter" else key

    def _keep_late_keys(self) -> None:
        """What was pressed while the turn was ending belongs to the next line as well."""
        while not self._inbox.empty():
            late = self._inbox.get_nowait()
            if isinstance(late, Key):
                self._type_ahead(late.name)

    async def _press_in_question(self, asking: QuestionPrompt, key: str) -> str | None:
        """The job that goes on, or begins, once this key has made the answer complete."""
        item = asking.item_number
        decided = asking.press(key)
        if decided is not None:
            return await self._answer(asking.question, decided)
        if asking.item_number != item:
            self._screen.question(asking.question, asking.item_number)
        return None

    async def _answer(self, question: w.QuestionInfo, decided: PromptResult) -> str | None:
        self._stop_asking()
        try:
            job_id = await self._client.answer(
                question.question_id,
                decided.verdict,
                user=self._user,
                chosen=decided.chosen,
                for_session=decided.for_session,
            )
            self._screen.say(f"  → {decided.words()}", "yellow")
        except FairleadError as problem:
            self._screen.fault(problem.full_sentence())
        except ServerAway as away:
            self._screen.fault(f"The answer did not get through. {away}")
        else:
            return job_id
        return None

    async def _cancel_or_leave(self, job_id: str) -> Ending | None:
        if self._cancelling:
            return "left"
        self._cancelling = True
        self._flush()
        self._screen.note("cancelling … (Ctrl-C again leaves)")
        self._screen.say("Cancelling; Ctrl-C again leaves.", "yellow")
        try:
            await self._client.command(Cancel(job_id), self._user)
        except FairleadError as problem:
            self._screen.say(problem.full_sentence(), "yellow")
        except ServerAway as away:
            self._screen.fault(f"It could not be cancelled. {away}")
        return None


def _doing(moved: w.Moved) -> str:
    match moved.state:
        case "queued":
            return f"waiting behind {moved.position} …" if moved.position else "waiting for its turn …"
        case "waiting":
            return "waiting for your answer …"
        case _:
            return f"{moved.tool or 'the agent'} is working … (Ctrl-C cancels)"
