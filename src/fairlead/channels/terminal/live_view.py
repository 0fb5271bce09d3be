"""One turn in the terminal: events come in, keys come in, and both are handled one after the other."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, Literal, NamedTuple, assert_never

from fairlead.api import Client, ServerAway, error_in
from fairlead.api import wire as w
from fairlead.channels.terminal.answer_files import save_files
from fairlead.channels.terminal.away import describe_away, describe_server
from fairlead.channels.terminal.keyboard import KEY_NAMES, Keyboard
from fairlead.channels.terminal.markdown_stream import MarkdownStream
from fairlead.channels.terminal.options import ChatOptions
from fairlead.channels.terminal.questions import PromptResult, QuestionPrompt, describe_outcome, describe_response
from fairlead.channels.terminal.screen import PROMPT, Screen
from fairlead.channels.terminal.turn_end import TurnUsage, describe_card, describe_turn_end, seconds_of
from fairlead.channels.terminal.waiting import describe_wait
from fairlead.core.job_names import job_number, short_name
from fairlead.core.requests import Cancel
from fairlead.errors import FairleadError
from fairlead.kit.tasks import TaskOwner
from fairlead.render.errors import error_sentence
from fairlead.render.rules import rule_words
from fairlead.render.steering import describe_reason
from fairlead.render.tools import tool_label
from fairlead.render.words import say


class Key(NamedTuple):
    name: str


class Away(NamedTuple):
    attempt: int
    why: str


DRAWN_EVERY_SEC: Final = 0.1
LONG_TURN_SEC: Final = 10.0
"""After so long, a person may have looked away: the bell says that it is done."""
LAST_LINES_SEC: Final = 5.0

Happening = w.StreamEvent | Key | Away | FairleadError | ServerAway
Ending = Literal["over", "left", "lost"]
TakeLine = Callable[[str], Awaitable[Ending]]
"""Does at once what a line says that was entered during a turn; `left` if the person wants to leave."""


async def _take_nothing(_line: str) -> Ending:
    return "over"


class TerminalLiveView:
    """`typed` is the unfinished line that the person typed during the turn. Lines that were entered are taken at once,
    one after the other: what a person said is written down before the turn is over. Those that were entered while the
    turn was ending are in `entered`."""

    def __init__(
        self, client: Client, screen: Screen, options: ChatOptions, take_line: TakeLine = _take_nothing
    ) -> None:
        self.typed = ""
        self.entered: list[str] = []
        self.is_told_to_wait = False
        """Whether the person knows already that no turn took this text."""
        self.asked_for_later: list[w.QuestionInfo] = []
        """Questions for whose response the agent does not wait: they are asked when the turn is over."""
        self._client = client
        self._screen = screen
        self._options = options
        self._user = options.user
        self._lang = options.lang
        self._take_line = take_line
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._keyboard: Keyboard | None = None
        self._usage = TurnUsage()
        self._flowing = MarkdownStream()
        self._asking: QuestionPrompt | None = None
        self._cancelling = False
        self._away = ""
        self._told = ""
        self._inbox: asyncio.Queue[Happening] = asyncio.Queue()

    async def follow(self, job_id: str, keyboard: Keyboard) -> Ending:
        async with self._on_screen(keyboard, say(self._lang, "status.thinking")) as owner:
            owner.start(self._hear(job_id), name="events")
            owner.start(self._take_lines(), name="lines")
            ending = await self._until_over(job_id)
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_LINES_SEC):
                    await self._lines.join()
            return ending

    async def ask_late(self, question: w.QuestionInfo, keyboard: Keyboard) -> str | None:
        """A question whose job a restart has ended: the job that the response began, None if there was none."""
        async with self._on_screen(keyboard, ""):
            self._question(question)
            begun = await self._until_responded()
        while not self._lines.empty():  # no turn runs that would take them
            self.entered.append(self._lines.get_nowait())
        return begun

    @asynccontextmanager
    async def _on_screen(self, keyboard: Keyboard, note: str) -> AsyncGenerator[TaskOwner]:
        self._keyboard = keyboard
        # The keys first: a person who reads that Ctrl-C cancels may press it at once.
        with keyboard.listening(lambda name: self._inbox.put_nowait(Key(name))):
            self._screen.begin(note, say(self._lang, "terminal.keys_in_turn") if note else "")
            self._screen.show_typed(self.typed)
            try:
                async with TaskOwner("turn") as owner:
                    owner.start(self._keep_drawing(), name="drawing")
                    yield owner
                    owner.cancel()
            finally:
                self._screen.show_typed("")
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

    async def _take_lines(self) -> None:
        while True:
            line = await self._lines.get()
            try:
                if await self._take_line(line) == "left":
                    self._inbox.put_nowait(Key("ctrl-d"))
            finally:
                self._lines.task_done()

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
                    self._screen.fault(self._describe_loss(happening))
                    ending = "lost"
                case _:
                    ending = await self._see(happening)
        return ending

    async def _until_responded(self) -> str | None:
        asking = self._asking
        while asking is not None:
            happening = await self._inbox.get()
            if happening in {Key("ctrl-c"), Key("ctrl-d")}:
                self._screen.say(say(self._lang, "terminal.question_stays_open"), "yellow")
                return None
            if isinstance(happening, Key) and not self._is_for(asking, happening.name):
                self._type_ahead(happening.name)
            elif isinstance(happening, Key) and (begun := await self._press_in_question(asking, happening.name)):
                return begun
            asking = self._asking
        return None

    def _report_lost_connection(self) -> None:
        """Each time that the server is in another state than before: stopping, then gone."""
        look = self._options.look_at_server
        sentence = describe_server("up" if look is None else look(), self._lang)
        if sentence != self._away:
            self._away = sentence
            self._screen.note(
                say(self._lang, "terminal.waits_for_server"), say(self._lang, "terminal.keys_without_server")
            )
            self._screen.say(sentence, "yellow")

    def _describe_loss(self, away: ServerAway) -> str:
        look = self._options.look_at_server
        if look is not None and look() == "gone":
            return say(self._lang, "terminal.stopped")
        return describe_away(away, self._lang, "job_goes_on")

    # --- events -----------------------------------------------------------------------------------------------------

    async def _see(self, event: w.StreamEvent) -> Ending | None:
        if self._away:
            self._away = ""
            self._screen.note(say(self._lang, "status.thinking"), say(self._lang, "terminal.keys_in_turn"))
            self._screen.say(say(self._lang, "terminal.connection_back"), "yellow")
        match event:
            case w.Accepted():
                self._begin_again(event)
            case w.Moved():
                self._move(event)
            case w.Delta(text):
                whole = self._flowing.add(text)
                self._screen.flow(whole, self._flowing.tail)
            case w.ToolUse():
                self._tool(event)
            case w.QuestionInfo(by_message=True):
                self.asked_for_later.append(event)
            case w.QuestionInfo():
                self._question(event)
            case w.SentInfo():
                self._flush()
                await show_sent(self._client, self._screen, self._options, event)
            case w.NotSteered() if self.is_told_to_wait:
                self.is_told_to_wait = False  # the person knows of this text; the next one is news
            case w.NotSteered():
                reason = describe_reason(event.reason, self._lang, event.detail)
                self._screen.say(say(self._lang, "status.steer.waits", reason=reason), "yellow")
            case w.RuleUse():
                rule = rule_words(event.rule)
                self._screen.say(f"  ✓ {say(self._lang, 'status.allowed_by_rule', number=event.number, rule=rule)}")
            case w.Image():
                image = say(self._lang, "terminal.image", media_type=event.media_type, size=f"{event.size:,}")
                self._screen.say(f"  🖼 {image}")
            case w.Usage():
                self._usage.add(event)
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

    def _move(self, moved: w.Moved) -> None:
        """Why it waits, or that its machine is away, stands there to be read; what else it does, in the last line."""
        told = describe_wait(moved, self._lang)
        self._screen.note(told or _describe_state(moved, self._lang))
        if told and told != self._told:
            self._screen.say(told, "yellow")
        elif self._told and not told and moved.machine:
            self._screen.say(say(self._lang, "chat.machine_back", machine=moved.machine), "yellow")
        self._told = told

    def _flush(self) -> None:
        self._screen.flow(self._flowing.flush(), "")

    def _tool(self, event: w.ToolUse) -> None:
        if event.phase == "started":
            self._flush()
            self._screen.tool_started(event.tool_id, tool_label(event.name, event.input, lang=self._lang))
        else:
            self._screen.tool_ended(event.tool_id, ok=event.ok, summary=event.summary)

    async def _over(self, event: w.Done | w.Failed, job: w.JobInfo) -> None:
        self._screen.note("")
        self._flush()
        missing = self._flowing.missing_from(job.answer)
        if missing and missing == job.answer.strip() and self._flowing.shown.strip():
            self._screen.rule(say(self._lang, "terminal.answer"))
        self._screen.answer(missing)
        await show_files(self._client, self._screen, self._options, job)
        if isinstance(event, w.Failed):
            self._screen.fault(error_sentence(error_in(event.error), self._lang))
            self._screen.say(say(self._lang, "status.retry_hint", job=job_number(job.job_id)))
        elif job.state != "success":
            self._screen.say(f"{short_name(job.job_id)}: {say(self._lang, f'status.{job.state}')}")
        if job.state == "steered":
            await self._acknowledge(job)
            return
        for line in describe_card(job, self._lang):
            self._screen.say(line)
        self._screen.say(describe_turn_end(job, self._usage, self._lang))
        if self._options.bell == "always" or (self._options.bell == "needed" and seconds_of(job) >= LONG_TURN_SEC):
            self._screen.ring_bell()
        await self._acknowledge(job)

    async def _acknowledge(self, job: w.JobInfo) -> None:
        """An answer that could not be acknowledged is shown again at the next start, which does no harm."""
        with suppress(FairleadError, ServerAway):
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
            if self._options.bell != "never":
                self._screen.ring_bell()

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
        if key == "ctrl-d" and not self.typed:
            return self._leave_running(job_id)
        if key == "ctrl-z":
            self._suspend()
        elif self._asking is not None and self._is_for(self._asking, key):
            await self._press_in_question(self._asking, key)
        else:
            self._type_ahead(key)
        return None

    def _is_for(self, asking: QuestionPrompt, key: str) -> bool:
        """A question may come while somebody types: no letter of their line may allow anything."""
        return not self.typed and asking.takes(key)

    def _leave_running(self, job_id: str) -> Ending:
        """Leaving is not cancelling. But nothing keeps running where Fairlead has stopped, which is told once."""
        self._flush()
        look = self._options.look_at_server
        state = "up" if look is None else look()
        goes_on = say(self._lang, "terminal.goes_on", job=short_name(job_id))
        sentence = goes_on if state == "up" else describe_server(state, self._lang)
        if sentence != self._away:
            self._screen.say(sentence, "yellow")
        return "left"

    def _suspend(self) -> None:
        if self._options.hosts_server or self._keyboard is None:
            self._screen.say(say(self._lang, "terminal.no_suspend"), "yellow")
            return
        self._screen.end()
        self._keyboard.suspend()
        self._screen.resume()

    def _type_ahead(self, key: str) -> None:
        match key:
            case "backspace":
                self.typed = self.typed[:-1]
            case "ctrl-u":
                self.typed = ""
            case "enter":
                if self.typed.strip():
                    self._screen.say(f"{PROMPT}{self.typed.strip()}", "bold")
                    self._lines.put_nowait(self.typed)
                self.typed = ""
            case _ if key not in KEY_NAMES:
                self.typed += key
            case _:
                pass
        self._screen.show_typed(self.typed)

    def _keep_late_keys(self) -> None:
        """What was pressed while the turn was ending belongs to the next line as well."""
        while not self._inbox.empty():
            late = self._inbox.get_nowait()
            match late:
                case Key("enter") if self.typed.strip():
                    self.entered.append(self.typed)
                    self.typed = ""
                case Key(name) if name not in KEY_NAMES:
                    self.typed += name
                case _:
                    pass

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
                always=decided.always,
                message=decided.message,
            )
            self._screen.say(f"  → {describe_response(decided, question, self._lang)}", "yellow")
            if decided.message and question.words_go_next:
                self._screen.say(f"  {say(self._lang, 'question.words_go_next')}", "yellow")
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


async def show_sent(client: Client, screen: Screen, options: ChatOptions, sent: w.SentInfo) -> None:
    """What the agent sent by itself; it is shown again at the next start if it could not be acknowledged."""
    if sent.job_id:
        screen.rule(say(options.lang, "terminal.sent", job=short_name(sent.job_id)))
    screen.answer(sent.text)
    await show_files(client, screen, options, sent)
    with suppress(FairleadError, ServerAway):  # it may be another conversation's
        await client.acknowledge_message(sent.sent_id)


async def show_files(client: Client, screen: Screen, options: ChatOptions, job: w.JobInfo | w.SentInfo) -> None:
    """As paths on this machine; where there is no directory for them, as addresses of the API."""
    if options.files is None:
        for file in job.files:
            screen.say(f"  📎 {file.name}  {client.base_url}{file.url}")
        return
    try:
        for name, path in await save_files(client, job, options.files):
            screen.file(name, path)
    except FairleadError as problem:
        screen.fault(error_sentence(problem, options.lang))
    except (ServerAway, OSError) as fault:
        screen.fault(str(fault))


def _describe_state(moved: w.Moved, lang: str) -> str:
    match moved.state:
        case "queued" if moved.position:
            return say(lang, "terminal.waiting_behind", position=moved.position)
        case "queued":
            return say(lang, "terminal.waiting_for_turn")
        case "waiting" | "steering":
            return say(lang, f"status.{moved.state}")
        case _:
            return say(lang, "terminal.working" if moved.tool else "terminal.agent_working", tool=moved.tool)
