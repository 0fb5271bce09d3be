"""Without a terminal: all of standard input is one message, its answer goes to standard output, the rest to error."""

import asyncio
from contextlib import suppress
from typing import TextIO

from fairlead.api import Client, ServerAway, error_in
from fairlead.api import wire as w
from fairlead.channels.terminal.away import describe_away
from fairlead.channels.terminal.commands import CommandLine, Local, message_in
from fairlead.channels.terminal.options import ChatOptions
from fairlead.channels.terminal.project_choice import choose_project
from fairlead.channels.terminal.questions import question_heading
from fairlead.core.inbound import clean_text
from fairlead.core.requests import Cancel
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.tasks import run_to_end
from fairlead.render.errors import error_sentence
from fairlead.render.replies import reply_text
from fairlead.render.tools import tool_label
from fairlead.render.words import say

FAILED = 1


async def run_piped(client: Client, options: ChatOptions, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    try:
        message = await asyncio.to_thread(_read_message, stdin, options.lang)
        if CommandLine(client.commands).is_command(message):
            return await _run_command(client, options, message, stdout)
        await choose_project(client, options)
        return await _Exchange(client, options, stdout, stderr).run(message_in(message))
    except FairleadError as problem:
        _tell(stderr, error_sentence(problem, options.lang))
    except ServerAway as away:
        _tell(stderr, f"{Code.E_SHUTDOWN}: {describe_away(away, options.lang)}")
    return FAILED


def _read_message(stdin: TextIO, lang: str) -> str:
    data = stdin.buffer.read()
    text = clean_text(data.decode("utf-8", "replace")).rstrip("\n")
    if not text.strip():
        raise error(Code.E_EMPTY_MESSAGE, say(lang, "terminal.empty_input"))
    return text


async def _run_command(client: Client, options: ChatOptions, line: str, stdout: TextIO) -> int:
    commands = CommandLine(client.commands, options.lang)
    parsed = commands.parse(line)
    if isinstance(parsed, Local):
        _tell(stdout, "\n".join(commands.help_lines()))
        return 0
    _tell(stdout, reply_text(await client.command(parsed, options.user), options.lang))
    return 0


def _tell(stream: TextIO, words: str) -> None:
    stream.write(f"{words}\n")
    stream.flush()


class _Exchange:
    """One message and its answer."""

    def __init__(self, client: Client, options: ChatOptions, stdout: TextIO, stderr: TextIO) -> None:
        self._client = client
        self._options = options
        self._lang = options.lang
        self._stdout = stdout
        self._stderr = stderr
        self._denied: set[str] = set()

    async def run(self, message: str) -> int:
        options = self._options
        accepted = await self._client.submit(options.user, message, tool=options.tool, on_away=self._away)
        try:
            return await self._follow(accepted.job_id)
        except asyncio.CancelledError:
            with suppress(FairleadError, ServerAway):
                await run_to_end(self._client.command(Cancel(accepted.job_id), options.user))
            raise

    async def _follow(self, job_id: str) -> int:
        async for event in self._client.events(job_id, on_away=self._away):
            match event:
                case w.ToolUse(phase="started"):
                    _tell(self._stderr, f"🔧 {tool_label(event.name, event.input, lang=self._lang)}")
                case w.QuestionInfo(status="open"):
                    await self._deny(event)
                case w.Done(job):
                    return await self._print(job)
                case w.Failed(fault, job):
                    await self._print(job)
                    _tell(self._stderr, error_sentence(error_in(fault), self._lang))
                    return FAILED
                case _:
                    pass
        raise AssertionError("a stream of events ends with the end of its job")

    async def _deny(self, question: w.QuestionInfo) -> None:
        if question.question_id in self._denied:
            return
        self._denied.add(question.question_id)
        title = question_heading(question, self._lang) if question.kind == "plan" else question.title
        detail = "" if question.detail in question.title else question.detail
        _tell(self._stderr, f"? {title} {detail}".rstrip())
        _tell(self._stderr, f"  {say(self._lang, 'terminal.denied_in_pipe')}")
        with suppress(FairleadError):  # another person responded first
            await self._client.respond(question.question_id, "deny", user=self._options.user)

    async def _print(self, job: w.JobInfo) -> int:
        if job.answer:
            _tell(self._stdout, job.answer.rstrip("\n"))
        for file in job.files:
            _tell(self._stderr, f"📎 {file.name}  {self._client.base_url}{file.url}")
        with suppress(FairleadError, ServerAway):
            await self._client.acknowledge(job.job_id)
        if job.state == "success":
            return 0
        if job.error is None:
            _tell(self._stderr, f"{job.job_id}: {say(self._lang, f'status.{job.state}')}")
        return FAILED

    def _away(self, attempt: int, _why: Exception) -> None:
        if attempt == 1:
            _tell(self._stderr, say(self._lang, "terminal.trying_again"))
