"""One turn in the terminal: events come in, keys come in, and both are handled one after the other."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final, Literal, NamedTuple, assert_never

from fairlead.api import Client, ServerAway, error_in
from fairlead.api import wire as w
from fairlead.channels.terminal.away import describe_away
from fairlead.channels.terminal.keyboard import Keyboard
from fairlead.channels.terminal.markdown_stream import MarkdownStream
from fairlead.channels.terminal.options import ChatOptions
from fairlead.channels.terminal.questions import PromptResult, QuestionPrompt, describe_outcome, describe_response
from fairlead.channels.terminal.screen import Screen
from fairlead.core.requests import Cancel
from fairlead.errors import FairleadError
from fairlead.kit.tasks import TaskOwner
from fairlead.render.errors import error_sentence
from fairlead.render.tools import tool_label
from fairlead.render.words import say


class Key(NamedTuple):
    name: str


class Away(NamedTuple):
    attempt: int
    why: str


DRAWN_EVERY_SEC: Final = 0.1

Happening = w.StreamEvent | Key | Away | FairleadError | ServerAway
Ending = Literal["over", "left", "lost"]


class TerminalLiveView:
    """`typed_ahead` is the text that the person typed during the turn: whole lines are sent next, the rest is put into
    the prompt line."""

    def __init__(self, client: Client, screen: Screen, options: ChatOptions) -> None:
        self.typed_ahead = ""
        self._client = client
        self._screen = screen
        self._user = options.user
        self._lang = options.lang
        self._flowing = MarkdownStream()
        self._asking: QuestionPrompt | None = None
        self._cancelling = False
        self._away = False
        self._inbox: asyncio.Queue[Happening] = asyncio.Queue()

    async def follow(self, job_id: str, keyboard: Keyboard) -> Ending:
        async with self._on_screen(keyboard, say(self._lang, "status.thinking")) as owner:
            owner.start(self._hear(job_id), name="events")
            return await self._until_over(job_id)

    async def ask_late(self, question: w.QuestionInfo, keyboard: Keyboard) -> str | None:
        """A question whose job a restart has ended: the job that the response began, None if there was none."""
        async with self._on_screen(keyboard, ""):
            self._question(question)
            return await self._until_responded()

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
                    self._report_lost_connection()
                case FairleadError():
                    self._screen.fault(error_sentence(happening, self._lang))
                    ending = "over"
                case ServerAway():
                    self._screen.fault(describe_away(happening, self._lang, "job_goes_on"))
                    ending = "lost"
                case _:
                    ending = await self._see(happening)
        return ending

    async def _until_responded(self) -> str | None:
        asking = self._asking
        while asking is not None:
            happening = await self._inbox.get()
            if happening == Key("ctrl-c"):
                self._screen.say(say(self._lang, "terminal.question_stays_open"), "yellow")
                return None
            if isinstance(happening, Key) and (begun := await self._press_in_question(asking, happening.name)):
                return begun
            asking = self._asking
        return None

    def _report_lost_connection(self) -> None:
        if not self._away:
            self._away = True
            self._screen.say(say(self._lang, "terminal.connection_lost"), "yellow")

    # --- events -----------------------------------------------------------------------------------------------------

    async def _see(self, event: w.StreamEvent) -> Ending | None:
        if self._away:
            self._away = False
            self._screen.say(say(self._lang, "terminal.connection_back"), "yellow")
        match event:
            case w.Accepted():
                self._begin_again(event)
            case w.Moved():
                self._screen.note(_describe_state(event, self._lang))
            case w.Delta(text):
                whole = self._flowing.add(text)
                self._screen.flow(whole, self._flowing.tail)
            case w.ToolUse():
                self._tool(event)
            case w.QuestionInfo():
                self._question(event)
            case w.Image():
                image = say(self._lang, "terminal.image", media_type=event.media_type, size=f"{event.size:,}")
                self._screen.say(f"  🖼 {image}")
            case w.Done(job) | w.Failed(_, job):
                await self._over(event, job)
                return "over"
            case _:
                assert_never(event)
        return None

    def _begin_again(self, accepted: w.Accepted) -> None:
        """A stream that starts again tells the whole answer again; what was shown of it stays above."""
        self._flush()
        self._flowing = MarkdownStream()
        if accepted.state == "queued" and accepted.position:
            self._screen.note(say(self._lang, "terminal.waiting_behind", position=accepted.position))

    def _flush(self) -> None:
        self._screen.flow(self._flowing.flush(), "")

    def _tool(self, event: w.ToolUse) -> None:
        if event.phase == "started":
            self._flush()
            self._screen.tool_started(event.tool_id, tool_label(event.name, event.input, lang=self._lang))
        else:
            self._screen.tool_ended(event.tool_id, ok=event.ok, summary=event.summary)

    async def _over(self, event: w.Done | w.Failed, job: w.JobInfo) -> None:
        self._flush()
        missing = self._flowing.missing_from(job.answer)
        if missing and missing == job.answer.strip() and self._flowing.shown.strip():
            self._screen.rule(say(self._lang, "terminal.answer"))
        self._screen.answer(missing)
        for file in job.files:
            self._screen.say(f"  📎 {file.name}  {self._client.base_url}{file.url}")
        if isinstance(event, w.Failed):
            self._screen.fault(error_sentence(error_in(event.error), self._lang))
            self._screen.say(say(self._lang, "status.retry_hint", job=job.job_id))
        elif job.state != "success":
            self._screen.say(f"{job.job_id}: {say(self._lang, f'status.{job.state}')}")
        with suppress(
            FairleadError, ServerAway
        ):  # then the answer is shown again at the next start, which does no harm
            await self._client.acknowledge(job.job_id)

    # --- questions and keys -----------------------------------------------------------------------------------------

    def _question(self, question: w.QuestionInfo) -> None:
        if question.status != "open":
            self._show_settled(question)
        elif self._asking is None or self._asking.question.question_id != question.question_id:
            self._flush()
            self._asking = QuestionPrompt(question, self._lang)
            self._screen.question(question, self._lang)
            self._screen.asking(self._asking)

    def _show_settled(self, question: w.QuestionInfo) -> None:
        if self._asking is not None and self._asking.question.question_id == question.question_id:
            outcome = describe_outcome(question, self._lang)
            settled = say(self._lang, "terminal.settled", person=question.answered_by, outcome=outcome)
            self._screen.say(f"  ({settled})", "yellow")
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
        """The id of the job that goes on, or begins, once this key has made the response complete."""
        item = asking.item_number
        decided = asking.press(key)
        if decided is not None:
            return await self._respond(asking.question, decided)
        if asking.item_number != item:
            self._screen.question(asking.question, self._lang, asking.item_number)
        return None

    async def _respond(self, question: w.QuestionInfo, decided: PromptResult) -> str | None:
        self._stop_asking()
        try:
            job_id = await self._client.respond(
                question.question_id,
                decided.verdict,
                user=self._user,
                chosen=decided.chosen,
                for_session=decided.for_session,
            )
            self._screen.say(f"  → {describe_response(decided, question.kind, self._lang)}", "yellow")
        except FairleadError as problem:
            self._screen.fault(error_sentence(problem, self._lang))
        except ServerAway as away:
            self._screen.fault(describe_away(away, self._lang, "answer_not_sent"))
        else:
            return job_id
        return None

    async def _cancel_or_leave(self, job_id: str) -> Ending | None:
        if self._cancelling:
            return "left"
        self._cancelling = True
        self._flush()
        cancelling = say(self._lang, "terminal.cancelling")
        self._screen.note(cancelling)
        self._screen.say(cancelling, "yellow")
        try:
            await self._client.command(Cancel(job_id), self._user)
        except FairleadError as problem:
            self._screen.say(error_sentence(problem, self._lang), "yellow")
        except ServerAway as away:
            self._screen.fault(describe_away(away, self._lang, "not_cancelled"))
        return None


def _describe_state(moved: w.Moved, lang: str) -> str:
    match moved.state:
        case "queued" if moved.position:
            return say(lang, "terminal.waiting_behind", position=moved.position)
        case "queued":
            return say(lang, "terminal.waiting_for_turn")
        case "waiting":
            return say(lang, "status.waiting")
        case _:
            return say(lang, "terminal.working" if moved.tool else "terminal.agent_working", tool=moved.tool)
