"""Talking in the terminal: read a line, run a command or a turn, again until the person leaves."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, TypeVar

from prompt_toolkit import PromptSession
from prompt_toolkit.application import in_terminal
from prompt_toolkit.completion import Completer
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output, create_output
from rich.console import Console

from fairlead.api import Client, ServerAway, error_in
from fairlead.api import wire as w
from fairlead.channels.terminal.away import describe_away
from fairlead.channels.terminal.commands import CommandLine, Local, message_in, spell_out
from fairlead.channels.terminal.completion import CommandCompleter, look_up_choices, look_up_files
from fairlead.channels.terminal.diff_view import print_diff, show_diff
from fairlead.channels.terminal.keyboard import Keyboard
from fairlead.channels.terminal.live_view import Ending, TerminalLiveView, show_files, show_sent
from fairlead.channels.terminal.local_time import local_time
from fairlead.channels.terminal.news import SessionNews
from fairlead.channels.terminal.options import ChatOptions
from fairlead.channels.terminal.project_choice import (
    ChosenProject,
    choose_project,
    project_reference,
    short_path,
)
from fairlead.channels.terminal.screen import PROMPT, Screen
from fairlead.channels.terminal.working_directory import CAUTION_WORDS, WorkingDirectory
from fairlead.core import replies, requests
from fairlead.core.agents import ECHO
from fairlead.core.inbound import clean_text
from fairlead.core.job_names import job_number, short_name
from fairlead.core.job_states import LIVE
from fairlead.core.steering import split_sign
from fairlead.errors import Code, FairleadError
from fairlead.kit.tasks import OwnedTasks
from fairlead.render.errors import error_sentence
from fairlead.render.replies import reply_lines
from fairlead.render.words import say

T = TypeVar("T")
Queue = Callable[[str, int], None]
"""Remembers a job, with the number of jobs before it, to be followed later."""


class Interrupted(Exception):  # noqa: N818 - says what happened
    """Ctrl-C outside of a turn."""


class _TakenUp(Exception):  # noqa: N818 - says what happened
    """A job of this session asks something, and the line editor gives the screen away."""

    def __init__(self, job_id: str) -> None:
        super().__init__(job_id)
        self.job_id = job_id


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
        enable_suspend=not options.hosts_server,
        input=source,
        output=sink,
    )


def _history(options: ChatOptions) -> History:
    if options.history is None:
        return InMemoryHistory()
    # Other users of the machine must not read what a person wrote to agents.
    options.history.touch(mode=0o600, exist_ok=True)
    return FileHistory(options.history)


class Chat:
    def __init__(self, client: Client, options: ChatOptions, screen: Screen, editor: PromptSession[str]) -> None:
        self._client = client
        self._commands = CommandLine(client.commands, options.lang, options.directory)
        self._options = options
        self._lang = options.lang
        self._screen = screen
        self._editor = editor
        self._keyboard = Keyboard(editor.input)
        self._tool = options.tool
        self._project: str | None = None
        self._news = SessionNews(client, screen, options)
        self._entered: list[str] = []
        self._typed = ""
        self._to_follow: list[str] = []
        self._told_to_wait: set[str] = set()
        """Texts of which a reply has said that no turn took them."""
        self.project_path = ""
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
            async with OwnedTasks("news") as tasks:
                tasks.start(self._news.hear(), name="news")
                await self._talk()
        return 0

    # --- arriving ---------------------------------------------------------------------------------------------------

    async def _arrive(self) -> None:
        chosen = await choose_project(self._client, self._options, self._confirm_project)
        self._screen.say(self._greeting(chosen))
        if chosen is not None:
            self._work_in(chosen.reference, chosen.name, chosen.path)
            self._screen.lines(filter(None, (chosen.remark,)))
            if chosen.tool == ECHO and self._options.tool is None:
                self._screen.say(say(self._lang, "terminal.echo_hint"))
        if self._options.is_new:
            await self._start_new_conversation()
        if self._options.worktree:
            made = await self._client.command(requests.WorktreeMake(self._project or ""), self._options.user)
            self._screen.lines(reply_lines(made, self._lang, local_time))
        for job in await self._client.unfetched_jobs(self._options.user):
            await self._show_unread(job)
        for sent in await self._client.unfetched_messages(self._options.user):
            await show_sent(self._client, self._screen, self._options, sent)
        for question in await self._client.questions(self._options.user):
            if not question.by_message and (await self._client.job(question.job_id)).state in LIVE:
                waits = say(self._lang, "terminal.waits_for_answer", job=short_name(question.job_id))
                self._screen.say(waits, "yellow")
                await self._follow(question.job_id)
            else:
                await self._ask_late(question)
        await self._find_running()

    async def _find_running(self) -> None:
        """What was left running is followed again: that is what brings a person back."""
        try:
            status = await self._client.command(requests.Status(), self._options.user)
        except FairleadError:
            return  # there is no session yet
        assert isinstance(status, replies.StatusReport)
        if status.worktree is not None and not self._options.worktree:
            there = status.worktree
            self._screen.say(say(self._lang, "terminal.worktree", branch=there.branch, path=there.path))
        if status.running_job_id and status.running_job_id not in self._news.own:
            running = say(self._lang, "terminal.still_running", job=short_name(status.running_job_id))
            self._screen.say(running, "yellow")
            self._to_follow.append(status.running_job_id)

    async def _start_new_conversation(self) -> None:
        with suppress(FairleadError):  # there is no conversation yet
            reset = await self._client.command(requests.Reset(), self._options.user)
            self._screen.lines(reply_lines(reset, self._lang, local_time))

    def _work_in(self, reference: str, name: str, path: str) -> None:
        self._project, self.project_path, self._news.project = reference, path, name

    def _greeting(self, chosen: ChosenProject | None) -> str:
        project, tool = ("", "") if chosen is None else (chosen.name, chosen.tool)
        return say(self._lang, "terminal.greeting", user=self._options.user, project=project, tool=tool)

    async def _confirm_project(self, here: WorkingDirectory) -> bool:
        path = short_path(here.root, self._options.home)
        if here.caution:
            self._screen.say(say(self._lang, CAUTION_WORDS[here.caution]), "yellow")
        offer = say(self._lang, "terminal.offer_with_caution" if here.caution else "terminal.offer", path=path)
        try:
            typed = await PromptSession[str](input=self._editor.input, output=self._editor.output).prompt_async(
                f"{offer} "
            )
        except (EOFError, KeyboardInterrupt):
            return False
        answer = typed.strip().lower()
        return answer in {"y", "yes"} or (not answer and not here.caution)

    async def _ask_late(self, question: w.QuestionInfo) -> None:
        if not question.by_message:
            asked = say(self._lang, "terminal.asked_before_restart", job=short_name(question.job_id))
            self._screen.say(asked, "yellow")
        turn = TerminalLiveView(self._client, self._screen, self._options)
        turn.typed, self._typed = self._typed, ""
        begun = await turn.ask_late(question, self._keyboard)
        self._keep_typed(turn)
        if begun is not None:
            await self._follow(begun)

    async def _show_unread(self, job: w.JobInfo) -> None:
        self._news.own.add(job.job_id)
        self._screen.rule(say(self._lang, "terminal.while_away", job=short_name(job.job_id)))
        self._screen.answer(job.answer)
        await show_files(self._client, self._screen, self._options, job)
        if job.error is not None:
            self._screen.fault(error_sentence(error_in(job.error), self._lang))
            self._screen.say(say(self._lang, "status.retry_hint", job=job_number(job.job_id)))
        await self._client.acknowledge(job.job_id)

    # --- talking ----------------------------------------------------------------------------------------------------

    async def _talk(self) -> None:
        warned = False
        if self._options.message:
            self._entered.append(self._options.message)
        while True:
            try:
                if await self._interruptible(self._follow_the_rest()) == "left":
                    return
                line = await self._interruptible(self._next_line())
                warned = warned and not line
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
        """What is to be followed first, then what was entered while the last turn ended, else what is typed now."""
        if self._entered:
            line = self._entered.pop(0)
            self._screen.say(f"{PROMPT}{line.strip()}", "bold")
            return line
        typed, self._typed = self._typed, ""
        try:
            return await self._edit(typed)
        except _TakenUp as taken:
            self._typed = self._editor.default_buffer.text
            if self._news.to_ask:
                asked, self._news.to_ask = self._news.to_ask, []
                await self._ask_open(asked)
            else:
                self._to_follow.append(taken.job_id)
            return ""

    async def _edit(self, begun: str) -> str:
        async with OwnedTasks("editor") as tasks:
            tasks.start(self._show_news(), name="news")
            try:
                # prompt_toolkit's own handler of SIGINT would remove ours for good.
                return await self._editor.prompt_async(default=begun, handle_sigint=False)
            except KeyboardInterrupt:
                raise Interrupted from None

    async def _show_news(self) -> None:
        job_id = await self._news.show(self._print_above)
        self._editor.app.exit(exception=_TakenUp(job_id))

    async def _print_above(self, print_it: Callable[[], Awaitable[None]]) -> None:
        async with in_terminal():
            await print_it()

    async def _follow_the_rest(self) -> Ending:
        """The jobs that were queued during the last turn, one after the other."""
        while self._to_follow:
            if await self._follow(self._to_follow.pop(0)) == "left":
                return "left"
        return "over"

    async def _take_in_turn(self, line: str) -> Ending:
        """A line that was entered while a turn runs: done at once, and followed when the turn is over."""
        return await self._take(clean_text(line.strip()), self._queue)

    def _queue(self, job_id: str, position: int) -> None:
        self._to_follow.append(job_id)
        self._screen.say(say(self._lang, "terminal.queued", job=short_name(job_id), position=position or ""))

    async def _take(self, line: str, queue: Queue | None = None) -> Ending:
        line = spell_out(line)
        try:
            if not self._commands.is_command(line):
                text, is_for_turn = split_sign(line)
                if is_for_turn and text and queue is not None:
                    return await self._command(requests.SteerTurn(asked_by="", text=text), queue)
                return await self._send(message_in(line), queue)
            parsed = self._commands.parse(line)
            if isinstance(parsed, Local):
                return self._do(parsed)
            return await self._command(parsed, queue)
        except FairleadError as problem:
            self._screen.fault(error_sentence(problem, self._lang))
        except ServerAway as away:
            self._screen.fault(describe_away(away, self._lang, "nothing_sent"))
        return "over"

    def _do(self, local: Local) -> Ending:
        if local.what == "quit":
            return "left"
        self._screen.lines(self._commands.help_lines(self._screen.console.width))
        return "over"

    async def _command(self, request: requests.Request, queue: Queue | None) -> Ending:
        reply = await self._client.command(request, self._options.user)
        await self._show_reply(reply, is_alone=queue is None)
        if isinstance(request, requests.Tool):
            self._tool = None  # the command was typed later than the option
        if isinstance(reply, replies.ProjectSelected):
            self._work_in(project_reference(reply.number), reply.name, reply.path)
        if isinstance(reply, replies.WorktreeWasMerged) and reply.conflict is not None:
            return await self._follow_or_queue(reply.conflict.job_id, 0, queue)
        if isinstance(reply, replies.JobQueued | replies.CommandSent):
            return await self._follow_or_queue(reply.job_id, 0, queue)
        if isinstance(reply, replies.TurnSteered):
            return await self._follow_steered(reply, queue)
        return "over"

    async def _follow_steered(self, reply: replies.TurnSteered, queue: Queue | None) -> Ending:
        """The reply said what became of it so far. What is not settled yet is followed, now or behind the turn."""
        self._news.own.add(reply.job_id)
        if reply.state == "steered":
            return "over"
        if reply.state != "steering":
            self._told_to_wait.add(reply.job_id)
        if queue is None:
            return await self._follow(reply.job_id)
        if reply.job_id not in self._to_follow:  # it may have been entered here, and be queued
            self._to_follow.append(reply.job_id)
        return "over"

    async def _show_reply(self, reply: replies.Reply, *, is_alone: bool) -> None:
        """A pager needs the keys for itself, so there is none while a turn reads them."""
        lines = reply_lines(reply, self._lang, local_time)
        if not isinstance(reply, replies.ChangesShown) or not reply.diff:
            self._screen.lines(lines)
        elif is_alone:
            await show_diff(self._screen.console, lines, reply.diff)
        else:
            print_diff(self._screen.console, lines, reply.diff)

    async def _send(self, message: str, queue: Queue | None) -> Ending:
        accepted = await self._client.submit(
            self._options.user, message, project=self._project, tool=self._tool, on_away=self._away
        )
        self._tool = None
        return await self._follow_or_queue(accepted.job_id, accepted.position, queue)

    async def _follow_or_queue(self, job_id: str, position: int, queue: Queue | None) -> Ending:
        self._news.own.add(job_id)
        if queue is None:
            return await self._follow(job_id)
        queue(job_id, position)
        return "over"

    def _away(self, attempt: int, _why: Exception) -> None:
        if attempt == 1:
            self._screen.say(say(self._lang, "terminal.trying_again"), "yellow")

    async def _follow(self, job_id: str) -> Ending:
        self._news.own.add(job_id)
        turn = TerminalLiveView(self._client, self._screen, self._options, self._take_in_turn)
        turn.typed, self._typed = self._typed, ""
        turn.is_told_to_wait = job_id in self._told_to_wait
        ending = await turn.follow(job_id, self._keyboard)
        self._keep_typed(turn)
        if ending == "over" and turn.asked_for_later:
            await self._ask_open(turn.asked_for_later)
        return ending

    async def _ask_open(self, asked: list[w.QuestionInfo]) -> None:
        """Those of the questions that nobody has answered meanwhile."""
        still_open = {question.question_id for question in await self._client.questions(self._options.user)}
        for question in {q.question_id: q for q in asked}.values():
            self._news.asked.add(question.question_id)
            if question.question_id in still_open:
                await self._ask_late(question)

    def _keep_typed(self, turn: TerminalLiveView) -> None:
        self._entered += turn.entered
        self._typed += turn.typed


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
    chats: list[Chat] = []  # the completer is made before the chat, and asks it where it works
    completer = CommandCompleter(
        CommandLine(client.commands, options.lang),
        look_up_choices(client, options.user),
        lambda: chats[0].project_path if chats else "",
        look_up_files(client, options.user),
    )
    editor = line_editor(options, create_input(stdin), create_output(stdout), completer)
    chats.append(Chat(client, options, Screen(Console(file=stdout)), editor))
    return await chats[0].run()
