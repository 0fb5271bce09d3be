"""Without a terminal, or with -p: one message, whose answer goes to standard output, and the rest to standard error.

The message is the argument, all of standard input, or both. With --json, standard output gets one JSON object: the job
as the API has it, its answer included, or the error that refused the message."""

import asyncio
from contextlib import suppress
from typing import TextIO

import msgspec

from fairlead.api import Client, ServerAway, error_in
from fairlead.api import wire as w
from fairlead.channels.terminal.answer_files import save_files
from fairlead.channels.terminal.away import describe_away
from fairlead.channels.terminal.commands import CommandLine, Local, message_in
from fairlead.channels.terminal.local_time import local_time
from fairlead.channels.terminal.options import ChatOptions
from fairlead.channels.terminal.project_choice import choose_project
from fairlead.channels.terminal.questions import question_heading
from fairlead.channels.terminal.waiting import describe_wait
from fairlead.channels.terminal.working_directory import WorkingDirectory
from fairlead.core.inbound import clean_text
from fairlead.core.replies import ChangesShown
from fairlead.core.requests import Cancel, Reset, WorktreeMake
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.tasks import run_to_end
from fairlead.render.errors import error_sentence
from fairlead.render.questions import tier_change
from fairlead.render.replies import reply_text
from fairlead.render.rules import rule_words
from fairlead.render.safe_text import visible_lines
from fairlead.render.steering import describe_reason
from fairlead.render.tools import tool_label
from fairlead.render.words import error_what, say

FAILED = 1


async def run_piped(client: Client, options: ChatOptions, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    try:
        message = await _message(options, stdin)
        if not options.as_json and CommandLine(client.commands).is_command(message):
            return await _run_command(client, options, message, stdout)
        chosen = await choose_project(client, options, _is_harmless)
        if chosen is not None and chosen.remark:
            _tell(stderr, chosen.remark)
        if options.is_new:
            with suppress(FairleadError):  # there is no conversation yet
                await client.command(Reset(), options.user)
        project = None if chosen is None else chosen.reference
        if options.worktree:
            made = await client.command(WorktreeMake(project or ""), options.user)
            _tell(stderr, reply_text(made, options.lang, local_time))
        return await _Exchange(client, options, stdout, stderr).run(message_in(message), project)
    except FairleadError as problem:
        _tell_problem(problem, options, stdout, stderr)
    except ServerAway as away:
        _tell_problem(error(Code.E_SHUTDOWN, describe_away(away, options.lang)), options, stdout, stderr)
    return FAILED


def _tell_problem(problem: FairleadError, options: ChatOptions, stdout: TextIO, stderr: TextIO) -> None:
    if options.as_json:
        fault = w.Fault(problem.code, problem.message or error_what(options.lang, problem.code), problem.next_step)
        _tell(stdout, msgspec.json.encode(w.FaultBody(fault)).decode())
    _tell(stderr, error_sentence(problem, options.lang))


async def _message(options: ChatOptions, stdin: TextIO) -> str:
    """The argument, and below it what is piped in. A terminal is not read: nobody would know that it waits."""
    said = clean_text(options.message)
    if stdin.isatty():
        if not said.strip():
            raise error(Code.E_EMPTY_MESSAGE, say(options.lang, "terminal.nothing_to_print"))
        return said
    piped = await asyncio.to_thread(_read_piped, stdin)
    if not (said.strip() or piped.strip()):
        raise error(Code.E_EMPTY_MESSAGE, say(options.lang, "terminal.empty_input"))
    return "\n\n".join(part for part in (said, piped) if part.strip())


async def _is_harmless(here: WorkingDirectory) -> bool:
    """Nobody can be asked: a directory without a caution is registered, any other is not."""
    return not here.caution


def _read_piped(stdin: TextIO) -> str:
    return clean_text(stdin.buffer.read().decode("utf-8", "replace")).rstrip("\n")


async def _run_command(client: Client, options: ChatOptions, line: str, stdout: TextIO) -> int:
    commands = CommandLine(client.commands, options.lang, options.directory)
    parsed = commands.parse(line)
    if isinstance(parsed, Local):
        _tell(stdout, "\n".join(commands.help_lines()))
        return 0
    reply = await client.command(parsed, options.user)
    _tell(stdout, reply_text(reply, options.lang, local_time))
    if isinstance(reply, ChangesShown) and reply.diff:
        _tell(stdout, f"\n{reply.diff.rstrip()}")
    return 0


def _tell(stream: TextIO, words: str) -> None:
    """A terminal gets nothing that it would obey; a file or a pipe gets an agent's words as they are."""
    stream.write(f"{visible_lines(words) if stream.isatty() else words}\n")
    stream.flush()


class _Exchange:
    """One message and its answer."""

    def __init__(self, client: Client, options: ChatOptions, stdout: TextIO, stderr: TextIO) -> None:
        self._client = client
        self._options = options
        self._lang = options.lang
        self._stdout = stdout
        self._stderr = stderr
        self._decided: set[str] = set()

    async def run(self, message: str, project: str | None) -> int:
        options = self._options
        accepted = await self._client.submit(
            options.user, message, project=project, tool=options.tool, on_away=self._away
        )
        try:
            return await self._follow(accepted.job_id)
        except asyncio.CancelledError:
            with suppress(FairleadError, ServerAway):
                await run_to_end(self._client.command(Cancel(accepted.job_id), options.user))
            raise

    async def _follow(self, job_id: str) -> int:
        async for event in self._client.events(job_id, on_away=self._away):
            match event:
                case w.Moved() if told := describe_wait(event, self._lang):
                    _tell(self._stderr, told)
                case w.ToolUse(phase="started"):
                    _tell(self._stderr, f"🔧 {tool_label(event.name, event.input, lang=self._lang)}")
                case w.RuleUse(number, rule):
                    by_rule = say(self._lang, "status.allowed_by_rule", number=number, rule=rule_words(rule))
                    _tell(self._stderr, f"✓ {by_rule}")
                case w.NotSteered():
                    reason = describe_reason(event.reason, self._lang, event.detail)
                    _tell(self._stderr, say(self._lang, "status.steer.waits", reason=reason))
                case w.QuestionInfo(by_message=True, status="open"):
                    _tell(self._stderr, f"? {event.title}")  # it stays open: the agent does not wait for the answer
                case w.QuestionInfo(status="open"):
                    await self._decide(event)
                case w.SentInfo():
                    await self._print_sent(event)
                case w.Done(job):
                    return await self._print(job)
                case w.Failed(fault, job):
                    await self._print(job)
                    _tell(self._stderr, error_sentence(error_in(fault), self._lang))
                    return FAILED
                case _:
                    pass
        raise AssertionError("a stream of events ends with the end of its job")

    async def _decide(self, question: w.QuestionInfo) -> None:
        """Yes, once, to a permission that --allow names; no to everything else, because nobody can be asked."""
        if question.question_id in self._decided:
            return
        self._decided.add(question.question_id)
        is_allowed = is_allowed_by(self._options.allow, question)
        title = question_heading(question, self._lang) if question.kind == "plan" else question.title
        detail = "" if question.detail in question.title else question.detail
        _tell(self._stderr, f"? {title} {detail}".rstrip())
        asked_tool = question.tool if question.kind == "permission" else ""
        key = "terminal.allowed_in_pipe" if is_allowed else "terminal.denied_in_pipe"
        _tell(self._stderr, f"  {say(self._lang, key, tool=asked_tool)}")
        with suppress(FairleadError):  # another person responded first
            verdict = "allow" if is_allowed else "deny"
            await self._client.respond(question.question_id, verdict, user=self._options.user)

    async def _print(self, job: w.JobInfo) -> int:
        if self._options.as_json:
            _tell(self._stdout, msgspec.json.encode(job).decode())
        elif job.answer:
            _tell(self._stdout, job.answer.rstrip("\n"))
        await self._tell_files(job)
        with suppress(FairleadError, ServerAway):
            await self._client.acknowledge(job.job_id)
        if job.state == "success":
            return 0
        if job.error is None:
            _tell(self._stderr, f"{job.job_id}: {say(self._lang, f'status.{job.state}')}")
        return 0 if job.state == "steered" else FAILED

    async def _print_sent(self, sent: w.SentInfo) -> None:
        """Beside the answer: standard output has the answer alone."""
        if sent.text:
            _tell(self._stderr, f"💬 {sent.text}")
        await self._tell_files(sent)
        with suppress(FairleadError, ServerAway):
            await self._client.acknowledge_message(sent.sent_id)

    async def _tell_files(self, job: w.JobInfo | w.SentInfo) -> None:
        if self._options.files is None:
            for file in job.files:
                _tell(self._stderr, f"📎 {file.name}  {self._client.base_url}{file.url}")
            return
        try:
            for name, path in await save_files(self._client, job, self._options.files):
                _tell(self._stderr, f"📎 {name}  {path}")
        except (FairleadError, ServerAway, OSError) as fault:
            _tell(self._stderr, str(fault))

    def _away(self, attempt: int, _why: Exception) -> None:
        if attempt == 1:
            _tell(self._stderr, say(self._lang, "terminal.trying_again"))


def is_allowed_by(allow: tuple[str, ...], question: w.QuestionInfo) -> bool:
    """`Bash` allows the tool; `Bash(npm test)` only exactly that command or path. Neither a plan nor a question is a
    permission, and a tier that changed meanwhile is for a person to look at."""
    if question.kind != "permission" or not question.tool or tier_change(question, "en"):
        return False
    return question.tool in allow or f"{question.tool}({question.detail})" in allow
