"""Talking in the terminal: read a line, run a command or a turn, again until the person leaves."""

import asyncio
import shlex
import signal
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any, TextIO, TypeVar

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output, create_output
from rich.console import Console

from fairlead.api import Client, ServerAway, error_in
from fairlead.api import wire as w
from fairlead.channels.terminal.away import describe_away
from fairlead.channels.terminal.commands import CommandLine, HalfTyped, Local, message_in
from fairlead.channels.terminal.keyboard import Keyboard
from fairlead.channels.terminal.live_view import Ending, TerminalLiveView
from fairlead.channels.terminal.options import ChatOptions
from fairlead.channels.terminal.project_choice import ChosenProject, choose_project
from fairlead.channels.terminal.screen import Screen
from fairlead.core import replies, requests
from fairlead.core.command_spec import Choice
from fairlead.core.inbound import clean_text
from fairlead.core.job_states import LIVE
from fairlead.errors import Code, FairleadError
from fairlead.kit.tasks import OwnedTasks
from fairlead.render.errors import error_sentence
from fairlead.render.replies import reply_lines
from fairlead.render.words import say

PROMPT = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "


T = TypeVar("T")


class Interrupted(Exception):  # noqa: N818 - says what happened
    """Ctrl-C outside of a turn."""


LookUpChoices = Callable[[HalfTyped], Coroutine[Any, Any, tuple[Choice, ...]]]


def look_up_choices(client: Client, user: str) -> LookUpChoices:
    async def look_up(half_typed: HalfTyped) -> tuple[Choice, ...]:
        return await client.choices(half_typed.command, half_typed.argument.field, half_typed.word, user)

    return look_up


class CommandCompleter(Completer):
    """Commands by themselves, their arguments by asking the server."""

    def __init__(self, commands: CommandLine, look_up: LookUpChoices) -> None:
        self._commands = commands
        self._look_up = look_up

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002 - the interface's
        typed = document.text_before_cursor
        return (Completion(line, start_position=-len(typed)) for line in self._commands.completions(typed))

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion]:
        for completion in self.get_completions(document, complete_event):
            yield completion
        half_typed = self._commands.half_typed(document.text_before_cursor)
        if half_typed is None:
            return
        with suppress(FairleadError, ServerAway):  # without a server there are no choices to offer
            for choice in await self._look_up(half_typed):
                if choice.value != half_typed.word:
                    yield Completion(shlex.quote(choice.value), start_position=-len(half_typed.word))


def line_editor(options: ChatOptions, source: Input, sink: Output, completer: Completer) -> PromptSession[str]:
    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return PromptSession(
        FormattedText([("bold ansigreen", PROMPT)]),
        history=_history(options),
        completer=completer,
        complete_while_typing=True,
        reserve_space_for_menu=5,
        key_bindings=keys,
        input=source,
        output=sink,
    )


def _history(options: ChatOptions) -> History:
    if options.history is None:
        return InMemoryHistory()
    options.history.touch(
        mode=0o600, exist_ok=True
    )  # other users of the machine must not read what a person wrote to agents
    return FileHistory(options.history)


class Chat:
    def __init__(self, client: Client, options: ChatOptions, screen: Screen, editor: PromptSession[str]) -> None:
        self._client = client
        self._commands = CommandLine(client.commands, options.lang)
        self._options = options
        self._lang = options.lang
        self._screen = screen
        self._editor = editor
        self._keyboard = Keyboard(editor.input)
        self._tool = options.tool
        self._typed_ahead = ""
        self._interrupted = False
        self._current: asyncio.Task[object] | None = None

    async def run(self) -> int:
        try:
            await self._arrive()
        except FairleadError as problem:
            self._screen.fault(error_sentence(problem, self._lang))
            return 1
        except ServerAway as away:
            self._screen.fault(f"{Code.E_SHUTDOWN}: {describe_away(away, self._lang)}")
            return 1
        with on_interrupt(self._interrupt):
            await self._talk()
        return 0

    # --- arriving ---------------------------------------------------------------------------------------------------

    async def _arrive(self) -> None:
        self._screen.say(self._greeting(await choose_project(self._client, self._options)))
        for job in await self._client.unfetched_jobs(self._options.user):
            await self._show_unread(job)
        for question in await self._client.questions(self._options.user):
            if (await self._client.job(question.job_id)).state in LIVE:
                self._screen.say(say(self._lang, "terminal.waits_for_answer", job=question.job_id), "yellow")
                await self._follow(question.job_id)
            else:
                await self._ask_late(question)

    def _greeting(self, chosen: ChosenProject | None) -> str:
        project, tool = ("", "") if chosen is None else chosen
        return say(self._lang, "terminal.greeting", user=self._options.user, project=project, tool=tool)

    async def _ask_late(self, question: w.QuestionInfo) -> None:
        self._screen.say(say(self._lang, "terminal.asked_before_restart", job=question.job_id), "yellow")
        turn = TerminalLiveView(self._client, self._screen, self._options)
        begun = await turn.ask_late(question, self._keyboard)
        self._typed_ahead += turn.typed_ahead
        if begun is not None:
            await self._follow(begun)

    async def _show_unread(self, job: w.JobInfo) -> None:
        self._screen.rule(say(self._lang, "terminal.while_away", job=job.job_id))
        self._screen.answer(job.answer)
        if job.error is not None:
            self._screen.fault(error_sentence(error_in(job.error), self._lang))
            self._screen.say(say(self._lang, "status.retry_hint", job=job.job_id))
        await self._client.acknowledge(job.job_id)

    # --- talking ----------------------------------------------------------------------------------------------------

    async def _talk(self) -> None:
        warned = False
        while True:
            try:
                line = await self._interruptible(self._next_line())
                warned = False
                if line.strip() and await self._interruptible(self._take(clean_text(line.strip()))) == "left":
                    return
            except EOFError:
                return
            except Interrupted:
                if warned:
                    return
                warned = True
                self._screen.say(say(self._lang, "terminal.leave_hint"))

    async def _interruptible(self, work: Coroutine[Any, Any, T]) -> T:
        """Ctrl-C also counts while neither the line editor nor a turn has the keys: between lines, while sending."""
        async with OwnedTasks("chat") as tasks:
            task = self._current = tasks.start(work, name="interruptible")
            if self._interrupted:
                task.cancel()
            return await self._until_done(task)

    async def _until_done(self, task: asyncio.Task[T]) -> T:
        try:
            return await task
        except asyncio.CancelledError:
            if not self._interrupted:
                raise
            raise Interrupted from None
        finally:
            self._interrupted, self._current = False, None

    def _interrupt(self) -> None:
        self._interrupted = True
        if self._current is not None:
            self._current.cancel()

    async def _next_line(self) -> str:
        """What was typed and entered during the last turn, else what is typed now."""
        typed, self._typed_ahead = self._typed_ahead, ""
        line, entered, rest = typed.partition("\n")
        if not entered:
            return await self._edit(line)
        self._typed_ahead = rest
        if line.strip():
            self._screen.say(f"{PROMPT}{line}", "bold")
        return line

    async def _edit(self, begun: str) -> str:
        try:
            # prompt_toolkit's own handler of SIGINT would remove ours for good.
            return await self._editor.prompt_async(default=begun, handle_sigint=False)
        except KeyboardInterrupt:
            raise Interrupted from None

    async def _take(self, line: str) -> Ending:
        try:
            if not self._commands.is_command(line):
                return await self._send(message_in(line))
            parsed = self._commands.parse(line)
            if isinstance(parsed, Local):
                return self._do(parsed)
            return await self._command(parsed)
        except FairleadError as problem:
            self._screen.fault(error_sentence(problem, self._lang))
        except ServerAway as away:
            self._screen.fault(describe_away(away, self._lang, "nothing_sent"))
        return "over"

    def _do(self, local: Local) -> Ending:
        if local.what == "quit":
            return "left"
        self._screen.lines(self._commands.help_lines())
        return "over"

    async def _command(self, request: requests.Request) -> Ending:
        reply = await self._client.command(request, self._options.user)
        self._screen.lines(reply_lines(reply, self._lang))
        if isinstance(request, requests.Tool):
            self._tool = None  # the later word counts
        if isinstance(reply, replies.JobQueued):
            return await self._follow(reply.job_id)
        return "over"

    async def _send(self, message: str) -> Ending:
        accepted = await self._client.submit(self._options.user, message, tool=self._tool, on_away=self._away)
        self._tool = None
        return await self._follow(accepted.job_id)

    def _away(self, attempt: int, _why: Exception) -> None:
        if attempt == 1:
            self._screen.say(say(self._lang, "terminal.trying_again"), "yellow")

    async def _follow(self, job_id: str) -> Ending:
        turn = TerminalLiveView(self._client, self._screen, self._options)
        ending = await turn.follow(job_id, self._keyboard)
        self._typed_ahead += turn.typed_ahead
        return ending


@contextmanager
def on_interrupt(heard: Callable[[], None]) -> Generator[None]:
    """Ctrl-C as a call instead of an exception that could strike anywhere."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, heard)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


async def talk_in_terminal(client: Client, options: ChatOptions, stdin: TextIO, stdout: TextIO) -> int:
    completer = CommandCompleter(CommandLine(client.commands, options.lang), look_up_choices(client, options.user))
    editor = line_editor(options, create_input(stdin), create_output(stdout), completer)
    return await Chat(client, options, Screen(Console(file=stdout)), editor).run()
