"""Claude as a runtime: decides how a turn is run (in the pool, alone over pipes, one shot), falls back by rule."""

import asyncio
import itertools
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Final, Literal

import msgspec

from fairlead.core.engine import (
    AgentInitiated,
    AgentInstruction,
    Diagnostic,
    EngineEvent,
    Interrupt,
    Invocation,
    ModelsOffered,
    Noticed,
    Response,
    ResumeKeyFound,
    SetMode,
    TurnEnded,
    TurnFailed,
)
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.processes import AT_ONCE, Grace, find_program
from fairlead.ports import AgentInfo, Health, JobLogs, RuntimeCapabilities
from fairlead.runtimes.checks import KnownGood, Login, check_program
from fairlead.runtimes.claude import command_line
from fairlead.runtimes.claude.command_line import MOST_SYSTEM_PROMPT, AgentSession, ClaudeSettings
from fairlead.runtimes.claude.content import Content, content_of
from fairlead.runtimes.claude.modes import Modes
from fairlead.runtimes.claude.pool import Pool
from fairlead.runtimes.claude.process import ClaudeProcess, Launch, ProcessLost, Prompt
from fairlead.runtimes.claude.session_log import SessionLogTail, log_path, with_log
from fairlead.runtimes.claude.translate import ClaudeTranslator, TextTranslator
from fairlead.runtimes.cli_turn import CliTurn, Command, start_failure
from fairlead.runtimes.environment import child_environment
from fairlead.runtimes.tool_policy import ToolPolicy, read_tool_policy
from fairlead.runtimes.translator import INTERRUPTED, Translator
from fairlead.runtimes.workspace import read_context

KNOWN_GOOD: Final = KnownGood((2, 1, 0), (2, 1, 325))
LOGIN: Final = Login(
    ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK"),
    (".claude/.credentials.json", ".claude.json"),
    "Run `claude` once and log in, or set ANTHROPIC_API_KEY.",
)
STOP_GRACE: Final = Grace(interrupt=2.0, terminate=5.0)
_OWN: Final = ("ANTHROPIC_", "CLAUDE_CODE_", "CLAUDE_CONFIG_DIR")
# Another process may do better; for every other failure it would only fail the same way again.
_WORTH_ANOTHER_PROCESS: Final = frozenset({Code.E_RUNTIME_HUNG, Code.E_CLI_EXIT_NONZERO})


class Plan(msgspec.Struct, frozen=True):
    """A turn, thought through before anything is started. `notes` are for the person."""

    policy: ToolPolicy
    content: Content
    agent_session: AgentSession
    launch: Launch
    model: str
    mode: str
    add_dirs: tuple[str, ...]
    notes: tuple[str, ...]


class ClaudeRuntime:
    def __init__(self, settings: ClaudeSettings, environment: Mapping[str, str], job_logs: JobLogs) -> None:
        if len(settings.append_system_prompt) > MOST_SYSTEM_PROMPT:
            raise error(
                Code.E_CONFIG,
                f"CLAUDE_APPEND_SYSTEM_PROMPT has {len(settings.append_system_prompt)} characters;"
                f" at most {MOST_SYSTEM_PROMPT} are allowed.",
            )
        self._settings = settings
        self._env = claude_environment(environment, settings.extra_environment)
        self._job_logs = job_logs
        self._unasked: asyncio.Queue[AgentInitiated] = asyncio.Queue()
        self._modes = Modes(may_bypass=settings.dangerously_skip_permissions)
        self._pool = Pool(
            most=settings.max_processes, idle_sec=settings.idle_timeout_sec, on_unasked=self._unasked.put_nowait
        )
        self._alone: dict[str, ClaudeProcess] = {}
        self._one_shots: dict[str, CliTurn] = {}
        # Ids that were given out and that claude has not yet shown to know: asked to resume one, it would refuse.
        self._unconfirmed_ids: set[str] = set()
        self._add_dirs: dict[str, tuple[str, ...]] = {}
        self._prompts = itertools.count(1)
        self._prompt_names = uuid.uuid4()

    @property
    def name(self) -> str:
        return "claude"

    @property
    def capabilities(self) -> RuntimeCapabilities:
        talks = self._settings.multi_turn
        return RuntimeCapabilities(
            resumes=True,
            permissions=talks,
            questions=talks,
            interrupt=True,
            images=True,
            models=True,
            modes=talks,
            unasked=talks,
            long_lived=talks,
            second_attempt=True,
        )

    # --- a turn ----------------------------------------------------------------------------------------------------

    async def invoke(self, invocation: Invocation) -> AsyncGenerator[EngineEvent]:
        try:
            find_program(self._settings.command, cwd=Path(invocation.project_path), env=self._env)
            plan = await self._planned(invocation)
        except FairleadError as refusal:
            yield TurnFailed(refusal.code, refusal.message)
            return
        except Exception as fault:
            failure = start_failure(fault)
            if failure is None:
                raise
            yield failure
            return
        for note in plan.notes:
            yield Noticed(note)
        if plan.agent_session.is_new:
            # Before anything is started, so that the id is on disk before claude knows it.
            self._unconfirmed_ids.add(plan.agent_session.key)
            yield ResumeKeyFound(plan.agent_session.key)
        async with aclosing(self._scanned(invocation, plan)) as events:
            async for event in events:
                self._take_note(event, plan.agent_session.key)
                yield event

    def _scanned(self, invocation: Invocation, plan: Plan) -> AsyncGenerator[EngineEvent]:
        events = self._run(invocation, plan)
        if not self._settings.session_scanning or self._settings.output_format != "stream-json":
            return events
        return with_log(events, SessionLogTail(self._log_path(invocation, plan.agent_session.key)))

    def _log_path(self, invocation: Invocation, key: str) -> Path | None:
        config = Path(self._env.get("CLAUDE_CONFIG_DIR") or Path(self._env.get("HOME", "/")) / ".claude")
        return log_path(config, Path(invocation.project_path).resolve(), key)

    def _take_note(self, event: EngineEvent, key: str) -> None:
        if isinstance(event, ModelsOffered | TurnEnded):
            self._unconfirmed_ids.discard(key)

    async def _run(self, invocation: Invocation, plan: Plan) -> AsyncGenerator[EngineEvent]:
        process = None
        if self._settings.multi_turn:
            process = await self._pool.take(
                invocation,
                plan.launch,
                plan.agent_session,
                model=plan.model,
                mode=plan.mode,
            )
        if process is None:
            async with aclosing(self._without_pool(invocation, plan)) as events:
                async for event in events:
                    yield event
            return
        try:
            async with aclosing(self._in_pool(invocation, plan, process)) as events:
                async for event in events:
                    yield event
        except ProcessLost as lost:
            async with aclosing(self._after_loss(invocation, plan, process, lost)) as events:
                async for event in events:
                    yield event

    def _in_pool(self, invocation: Invocation, plan: Plan, process: ClaudeProcess) -> AsyncGenerator[EngineEvent]:
        log = self._job_logs(invocation.job_id)
        return process.turn(self._prompt(invocation, plan), log, hang_sec=self._settings.hang_timeout_sec)

    async def _after_loss(
        self, invocation: Invocation, plan: Plan, process: ClaudeProcess, lost: ProcessLost
    ) -> AsyncGenerator[EngineEvent]:
        """The one second attempt, in a process of its own, if nothing can have been done in the first."""
        if lost.is_wanted:
            yield TurnEnded("", INTERRUPTED)
            return
        had_effects = process.dialogue.has_used_tools or process.dialogue.has_been_granted
        if had_effects or invocation.is_second_attempt or lost.failure.code not in _WORTH_ANOTHER_PROCESS:
            yield lost.failure
            return
        yield Diagnostic(f"{lost.failure.message} The turn is run again, once, by a process of its own.")
        agent_session = AgentSession(
            plan.agent_session.key,
            is_new=plan.agent_session.is_new and self._has_left_no_trace(invocation, plan.agent_session.key),
        )
        again = msgspec.structs.replace(plan, agent_session=agent_session)
        async with aclosing(self._conversation_alone(invocation, again)) as events:
            async for event in events:
                # That was the second attempt: a failure that would otherwise be tried again is final.
                final = isinstance(event, TurnFailed) and event.transient
                yield msgspec.structs.replace(event, transient=False) if final else event

    def _has_left_no_trace(self, invocation: Invocation, key: str) -> bool:
        """Killed early enough, claude names its talk and has not yet written it down: then nothing can be resumed."""
        path = self._log_path(invocation, key)
        return key in self._unconfirmed_ids if path is None else not path.exists()

    def _without_pool(self, invocation: Invocation, plan: Plan) -> AsyncGenerator[EngineEvent]:
        if self._settings.multi_turn or not plan.content.fits_an_argument:
            return self._conversation_alone(invocation, plan)
        return self._one_shot(invocation, plan)

    async def _conversation_alone(self, invocation: Invocation, plan: Plan) -> AsyncGenerator[EngineEvent]:
        """A process for this turn alone, but over pipes: so it can take pictures, and can ask."""
        process = ClaudeProcess(
            plan.launch,
            plan.agent_session,
            mark=invocation.mark,
            model=plan.model,
            mode=plan.mode,
            on_unasked=lambda _turn, _event: None,
            on_idle=lambda: None,
        )
        process.start()
        self._alone[invocation.session_key] = process
        try:
            log, hang_sec = self._job_logs(invocation.job_id), self._settings.hang_timeout_sec
            turn = process.turn(self._prompt(invocation, plan), log, hang_sec=hang_sec)
            async with aclosing(turn) as events:
                async for event in events:
                    if isinstance(event, TurnEnded | TurnFailed):
                        await process.end()
                    yield event
        except ProcessLost as lost:
            yield TurnEnded("", INTERRUPTED) if lost.is_wanted else lost.failure
        finally:
            del self._alone[invocation.session_key]
            await process.end()

    async def _one_shot(self, invocation: Invocation, plan: Plan) -> AsyncGenerator[EngineEvent]:
        argv = command_line.one_shot(
            self._settings,
            plan.policy,
            plan.agent_session,
            plan.content.text,
            model=plan.model,
            add_dirs=plan.add_dirs,
            args=invocation.args,
        )
        command = Command(argv, invocation.project_path, self._env, invocation.mark)
        # In text mode nothing is printed before the end: there silence says nothing.
        hang_sec = self._settings.hang_timeout_sec if self._settings.output_format == "stream-json" else None
        translator, log = self._translator(plan.agent_session), self._job_logs(invocation.job_id)
        turn = CliTurn(command, translator, log, hang_sec=hang_sec)
        self._one_shots[invocation.session_key] = turn
        try:
            async with aclosing(turn.events()) as events:
                async for event in events:
                    yield event
        finally:
            del self._one_shots[invocation.session_key]

    def _translator(self, agent_session: AgentSession) -> Translator:
        if self._settings.output_format == "text":
            return TextTranslator()
        return ClaudeTranslator(agent_session.key, spent=0.0 if agent_session.is_new else None)

    # --- planning --------------------------------------------------------------------------------------------------

    async def _planned(self, invocation: Invocation) -> Plan:
        """Pictures may be large. Without any, a few small files are read sooner than a thread is reached."""
        return await asyncio.to_thread(self._plan, invocation) if invocation.files else self._plan(invocation)

    def _plan(self, invocation: Invocation) -> Plan:
        settings, workspace = self._settings, Path(invocation.workspace_path)
        policy = read_tool_policy(workspace, settings.tools)
        context = read_context(workspace, system_prompt_is_set=bool(settings.append_system_prompt))
        is_first = invocation.resume_key is None
        content = content_of(invocation, note=policy.note, context=context.files if is_first else ())
        key = invocation.resume_key or str(uuid.uuid4())
        mode, mode_note = self._modes.within(invocation.session_key, policy)
        add_dirs = self._directories(invocation)
        argv = command_line.conversation(settings, policy, add_dirs=add_dirs, args=invocation.args)
        return Plan(
            policy,
            content,
            AgentSession(key, is_new=is_first or key in self._unconfirmed_ids),
            Launch(argv, invocation.project_path, self._env),
            invocation.model or settings.model,
            mode,
            add_dirs,
            # What is wrong with the context is told where it would have been read: at the start of a talk.
            tuple(
                note
                for note in (policy.warning, mode_note, *(context.warnings if is_first else ()), *content.notes)
                if note
            ),
        )

    def _directories(self, invocation: Invocation) -> tuple[str, ...]:
        """Once given they stay with the session: taking one away would need another process."""
        given = self._add_dirs.get(invocation.session_key, self._settings.add_dirs)
        inboxes = [str(Path(file.path).parent) for file in invocation.files]
        outside = [path for path in inboxes if not Path(path).is_relative_to(invocation.project_path)]
        self._add_dirs[invocation.session_key] = tuple(dict.fromkeys((*given, *outside)))
        return self._add_dirs[invocation.session_key]

    def _prompt(self, invocation: Invocation, plan: Plan) -> Prompt:
        """Its uuid is never used again: one that the talk already knows is taken for a repetition, without a word."""
        name = f"{invocation.job_id}/{next(self._prompts)}"
        return Prompt(str(uuid.uuid5(self._prompt_names, name)), plan.content.for_input(), invocation.allowed)

    # --- beside a turn ---------------------------------------------------------------------------------------------

    async def instruct(self, session_key: str, instruction: AgentInstruction) -> None:
        if isinstance(instruction, SetMode):
            policy = read_tool_policy(Path(instruction.workspace_path), self._settings.tools)
            self._modes.choose(session_key, instruction.mode, policy)
        one_shot = self._one_shots.get(session_key)
        if one_shot is not None and isinstance(instruction, Interrupt):
            one_shot.interrupt()
        process = self._process_of(session_key)
        if process is None:
            return
        if isinstance(instruction, Response) and process.dialogue.approves_plan(instruction):
            self._modes.leave_plan(session_key)
            process.mode = ""
        await process.instruct(instruction)

    def _process_of(self, session_key: str) -> ClaudeProcess | None:
        return self._alone.get(session_key) or self._pool.get(session_key)

    async def unasked(self) -> AsyncIterator[AgentInitiated]:
        while True:
            yield await self._unasked.get()

    def describe(self, session_key: str) -> AgentInfo:
        process = self._process_of(session_key)
        if process is None or process.is_dead:
            state = "Prompting" if session_key in self._one_shots else "Closed"
            return AgentInfo(state=state, mode=self._modes.of(session_key), modes=self._offered_modes)
        known = process.dialogue.known
        return AgentInfo(
            state="Prompting" if process.is_in_turn else "Active",
            model=known.model,
            models=known.models,
            mode=self._modes.of(session_key),
            modes=self._offered_modes,
            context_used=known.context_used,
            context_size=known.context_size,
        )

    @property
    def _offered_modes(self) -> tuple[str, ...]:
        return self._modes.offered if self.capabilities.modes else ()

    async def end_session(self, session_key: str, how: Literal["stop", "kill"]) -> None:
        one_shot = self._one_shots.get(session_key)
        if one_shot is not None:
            one_shot.interrupt()
        process = self._process_of(session_key)
        if process is not None:
            await process.end(STOP_GRACE if how == "stop" else AT_ONCE)

    async def check(self) -> Health:
        settings = self._settings
        return await check_program(settings.command, self._env, mark=settings.check_mark, good=KNOWN_GOOD, login=LOGIN)

    async def aclose(self) -> None:
        for turn in tuple(self._one_shots.values()):
            turn.interrupt()
        for process in tuple(self._alone.values()):
            await process.end()
        await self._pool.aclose()


def claude_environment(environment: Mapping[str, str], extra: tuple[str, ...]) -> dict[str, str]:
    """The cloud's own credentials only where claude is told to reach its model through that cloud."""
    clouds = (("CLAUDE_CODE_USE_BEDROCK", "AWS_"), ("CLAUDE_CODE_USE_VERTEX", "GOOGLE_"))
    through = tuple(prefix for switch, prefix in clouds if environment.get(switch))
    return child_environment(environment, own_prefixes=(*_OWN, *through), extra=extra)
