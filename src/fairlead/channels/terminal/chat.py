"""Talking in the terminal: read a line, run a command or a turn, again until the person leaves."""

from collections.abc import Iterable
from typing import TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output, create_output
from rich.console import Console

from fairlead.channels.terminal.commands import Local, completions, help_lines, is_command, message_in, parse
from fairlead.channels.terminal.keyboard import Keyboard
from fairlead.channels.terminal.options import ChatOptions
from fairlead.channels.terminal.places import settle_in
from fairlead.channels.terminal.screen import Screen
from fairlead.channels.terminal.turn import Ending, Turn
from fairlead.client import Client, ServerAway
from fairlead.client import wire as w
from fairlead.core import replies, requests
from fairlead.core.inbound import clean_text
from fairlead.errors import Code, FairleadError
from fairlead.render.replies import reply_lines

PROMPT = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "


class CommandCompleter(Completer):
    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002 - the interface's
        typed = document.text_before_cursor
        return (Completion(name, start_position=-len(typed)) for name in completions(typed))


def line_editor(options: ChatOptions, source: Input, sink: Output) -> PromptSession[str]:
    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return PromptSession(
        FormattedText([("bold ansigreen", PROMPT)]),
        history=_history(options),
        completer=CommandCompleter(),
        complete_while_typing=True,
        reserve_space_for_menu=5,
        key_bindings=keys,
        input=source,
        output=sink,
    )


def _history(options: ChatOptions) -> History:
    if options.history is None:
        return InMemoryHistory()
    options.history.touch(mode=0o600, exist_ok=True)  # what people say to agents is nobody else's business
    return FileHistory(options.history)


class Chat:
    def __init__(self, client: Client, options: ChatOptions, screen: Screen, editor: PromptSession[str]) -> None:
        self._client = client
        self._options = options
        self._screen = screen
        self._editor = editor
        self._keyboard = Keyboard(editor.input)
        self._tool = options.tool
        self._typed_ahead = ""

    async def run(self) -> int:
        try:
            await self._arrive()
        except FairleadError as problem:
            self._screen.fault(problem.full_sentence())
            return 1
        except ServerAway as away:
            self._screen.fault(f"{Code.E_SHUTDOWN}: {away}")
            return 1
        await self._talk()
        return 0

    # --- arriving ---------------------------------------------------------------------------------------------------

    async def _arrive(self) -> None:
        place = await settle_in(self._client, self._options)
        self._screen.say(f"Fairlead · {self._options.user}{place} · /help lists the commands, Ctrl-D leaves")
        for job in await self._client.unfetched(self._options.user):
            await self._show_unread(job)
        for question in await self._client.questions(self._options.user):
            self._screen.say(f"{question.job_id} waits for your answer.", "yellow")
            await self._follow(question.job_id)

    async def _show_unread(self, job: w.JobInfo) -> None:
        self._screen.rule(f"while you were away: {job.job_id}")
        self._screen.answer(job.answer)
        if job.error is not None:
            self._screen.fault(f"{job.error.code}: {job.error.message} {job.error.next}".rstrip())
        await self._client.acknowledge(job.job_id)

    # --- talking ----------------------------------------------------------------------------------------------------

    async def _talk(self) -> None:
        warned = False
        while True:
            try:
                line = await self._editor.prompt_async(default=self._typed_ahead)
            except EOFError:
                return
            except KeyboardInterrupt:
                if warned and not self._editor.default_buffer.text:
                    return
                warned = True
                self._screen.say("Ctrl-C again, or Ctrl-D, leaves.")
                continue
            finally:
                self._typed_ahead = ""
            warned = False
            if line.strip() and await self._take(clean_text(line.strip())) == "left":
                return

    async def _take(self, line: str) -> Ending:
        try:
            if not is_command(line):
                return await self._send(message_in(line))
            parsed = parse(line)
            if isinstance(parsed, Local):
                return self._do(parsed)
            return await self._command(parsed)
        except FairleadError as problem:
            self._screen.fault(problem.full_sentence())
        except ServerAway as away:
            self._screen.fault(f"{away} Nothing was sent; try again in a moment.")
        return "over"

    def _do(self, local: Local) -> Ending:
        if local.what == "quit":
            return "left"
        self._screen.lines(help_lines())
        return "over"

    async def _command(self, request: requests.Request) -> Ending:
        reply = await self._client.command(request, self._options.user)
        self._screen.lines(reply_lines(reply))
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
            self._screen.say("Fairlead does not answer; trying again …", "yellow")

    async def _follow(self, job_id: str) -> Ending:
        turn = Turn(self._client, self._screen, self._options.user)
        ending = await turn.follow(job_id, self._keyboard)
        self._typed_ahead = turn.typed_ahead
        return ending


async def talk_in_terminal(client: Client, options: ChatOptions, stdin: TextIO, stdout: TextIO) -> int:
    editor = line_editor(options, create_input(stdin), create_output(stdout))
    return await Chat(client, options, Screen(Console(file=stdout)), editor).run()
