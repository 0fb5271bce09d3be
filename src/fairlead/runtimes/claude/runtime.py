"""Claude as a runtime: decides how a turn is run (in the pool, alone over pipes, one shot), falls back by rule."""

import asyncio
import itertools
import os
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Final, Literal

import msgspec

from fairlead.core.engine import (
    INTERRUPTED,
    AgentInitiated,
    AgentInstruction,
    Diagnostic,
    EngineEvent,
    Interrupt,
    Invocation,
    ModelsOffered,
    Ready,
    Response,
    SetMode,
    Steer,
    SteerResult,
    TurnEnded,
    TurnFailed,
)
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.processes import AT_ONCE, Grace
from fairlead.ports import AgentInfo, AgentPreparation, JobLogs, RuntimeCapabilities, RuntimeHealth, SessionRecords
from fairlead.runtimes.checks import KnownGood, Login, check_program
from fairlead.runtimes.claude import command_line
from fairlead.runtimes.claude.command_line import ClaudeSettings, SessionChoice
from fairlead.runtimes.claude.content import content_of
from fairlead.runtimes.claude.modes import Modes
from fairlead.runtimes.claude.other_writers import OtherWriters
from fairlead.runtimes.claude.plan import Plan, Planner
from fairlead.runtimes.claude.process import ClaudeProcess, ProcessLost, Prompt
from fairlead.runtimes.claude.session_log import SessionLogMerge, log_path
from fairlead.runtimes.claude.translate import ClaudeTranslator, TextTranslator
from fairlead.runtimes.clean_ups import CleanUps
from fairlead.runtimes.cli_turn import START_FAULTS, CliCommand, CliTurn, start_failure
from fairlead.runtimes.environment import child_environment
from fairlead.runtimes.pool import OnRest, PoolShare, ProcessPool
from fairlead.runtimes.records.claude import ClaudeRecords, config_directory
from fairlead.runtimes.tool_policy import read_tool_policy
from fairlead.runtimes.tool_server import COMMAND, NO_TOOLS, ToolGrant, ToolServer
from fairlead.runtimes.tool_wire import GRANT_VARIABLE, SERVER_NAME
from fairlead.runtimes.translator import Translator
from fairlead.settings import MAX_APPENDED_PROMPT

KNOWN_GOOD: Final = KnownGood((2, 1, 0), (2, 1, 325))
LOGIN: Final = Login(
    ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK"),
    (".claude/.credentials.json", ".claude.json"),
    "Run `claude` once and log in, or set ANTHROPIC_API_KEY.",
)
LEAVE_GRACE: Final = Grace(end_of_input=10.0, terminate=2.0)
"""Behind its answer: hooks of the person's own may run at the end of a session."""
STOP_GRACE: Final = Grace(interrupt=2.0, terminate=5.0)
_OWN: Final = ("ANTHROPIC_", "CLAUDE_CODE_", "CLAUDE_CONFIG_DIR")
# After these failures another process may do better; after all others it would fail in the same way.
_WORTH_ANOTHER_PROCESS: Final = frozenset({Code.E_RUNTIME_HUNG, Code.E_CLI_EXIT_NONZERO})


def _own_tools() -> str:
    """The same for every process: claude puts the variable's value in, which names the capability's file."""
    server = {
        "type": "stdio",
        "command": COMMAND[0],
        "args": list(COMMAND[1:]),
        "env": {GRANT_VARIABLE: f"${{{GRANT_VARIABLE}}}"},
    }
    return msgspec.json.encode({"mcpServers": {SERVER_NAME: server}}).decode()


_COUNTED: Final = 2**48 - 1
"""The last bits of a prompt's uuid are counted; those before them tell this process from every other."""

MergeStreams = Callable[[AsyncGenerator[EngineEvent]], AsyncGenerator[EngineEvent]]


class Attempt(msgspec.Struct, frozen=True):
    """One way to run a turn: opened, it gives the turn's events; left, nothing of the turn runs any more. `pooled` is
    the process that it borrows from the pool."""

    stream: AbstractAsyncContextManager[AsyncGenerator[EngineEvent]]
    pooled: ClaudeProcess | None = None
    is_last: bool = False


class ClaudeRuntime:
    def __init__(
        self,
        settings: ClaudeSettings,
        environment: Mapping[str, str],
        job_logs: JobLogs,
        pool: ProcessPool | None = None,
        tools: ToolServer = NO_TOOLS,
    ) -> None:
        if len(settings.append_system_prompt) > MAX_APPENDED_PROMPT:
            raise error(
                Code.E_CONFIG,
                f"CLAUDE_APPEND_SYSTEM_PROMPT has {len(settings.append_system_prompt)} characters;"
                f" at most {MAX_APPENDED_PROMPT} are allowed.",
            )
        if tools.is_on:
            settings = msgspec.structs.replace(settings, own_tools=_own_tools())
        self._tools = tools
        self._settings = settings
        self._capabilities = self._find_capabilities()
        self._env = claude_environment(environment, settings.extra_environment)
        self._config = config_directory(self._env)
        self._records = ClaudeRecords(self._env, settings.command)
        self._others = OtherWriters(self._records)
        self._job_logs = job_logs
        self._agent_turns: asyncio.Queue[AgentInitiated] = asyncio.Queue()
        self._modes = Modes(may_bypass=settings.dangerously_skip_permissions)
        self._planner = Planner(settings, self._env, self._modes)
        if pool is None:
            pool = ProcessPool(most=settings.max_processes, idle_sec=settings.idle_timeout_sec)
        self._pool: PoolShare[ClaudeProcess] = PoolShare(pool)
        self._alone: dict[str, ClaudeProcess] = {}
        self._one_shots: dict[str, CliTurn] = {}
        self._clean_ups = CleanUps(self.name)
        self._prompt_uuids = itertools.count(uuid.uuid4().int & ~_COUNTED)

    @property
    def name(self) -> str:
        return "claude"

    @property
    def records(self) -> SessionRecords:
        return self._records

    @property
    def capabilities(self) -> RuntimeCapabilities:
        return self._capabilities

    def _find_capabilities(self) -> RuntimeCapabilities:
        is_two_way = self._settings.multi_turn
        return RuntimeCapabilities(
            permissions=is_two_way,
            questions=is_two_way,
            refusal_words=is_two_way,
            interrupt=True,
            images=True,
            models=True,
            modes=is_two_way,
            agent_turns=is_two_way,
            second_attempt=True,
            steering=is_two_way,
            forks=True,
            fork_points=self._settings.output_format == "stream-json",
            gets_ready=True,
            hand_over="told",
            starts_with_prompt=not is_two_way,
        )

    # --- a turn: the plan, then which process, then its events ------------------------------------------------------

    async def invoke(self, invocation: Invocation) -> AsyncGenerator[EngineEvent]:
        try:
            if self._is_program_wanted_first(invocation):
                self._planner.check_program(invocation.project_path)
            plan = await self._planner.plan(invocation)
        except FairleadError as refusal:
            yield TurnFailed(refusal.code, refusal.message)
            return
        except START_FAULTS as fault:
            yield start_failure(fault)
            return
        yield Ready()
        for event in plan.first_events():
            yield event
        log = self._known_log(invocation.session_key, plan.session.key)
        log = log or self._session_log_path(invocation, plan.session.key)
        in_use = None if plan.session.is_new else await self._check_other_writers(invocation, plan, log)
        if in_use is not None:
            yield in_use
            return
        session_log = self._merge_session_log(log)
        attempt = await self._choose_process(invocation, plan)
        while attempt is not None:
            try:
                async with self._stream_of(attempt, session_log, invocation.session_key) as events:
                    try:
                        async for event in events:
                            yield self._note(event, plan, attempt)
                    finally:
                        # The log of a new session in a long path is only found once claude has made it.
                        log = log or self._session_log_path(invocation, plan.session.key)
                        self._others.note_rest(invocation.session_key, log)
                        self._keep_log(attempt, plan, log)
            except ProcessLost as lost:
                last_word, following = self._after_loss(invocation, plan, attempt, lost)
                yield self._note(last_word, plan, attempt)
                attempt = following
            else:
                return

    def _is_program_wanted_first(self, invocation: Invocation) -> bool:
        """Where something is said of the turn before its process is prepared: a program that is not there says it
        better. A session that goes on in a process of its own for each turn has nothing to say before."""
        if self._settings.multi_turn:
            return self._pool.get(invocation.session_key) is None
        return invocation.resume_key is None

    async def _check_other_writers(self, invocation: Invocation, plan: Plan, log: Path | None) -> TurnFailed | None:
        """Why the turn must not begin now. A process of ours that waits and does not know what another program has
        added is ended: the next one reads it."""
        session_key = invocation.session_key
        # A few small files: a thread would take longer to start.
        writer, has_written = self._others.look(session_key, plan.session.key, log)
        waiting = self._pool.get(session_key)
        if (has_written or writer is not None) and waiting is not None and waiting.is_idle:
            await waiting.end(STOP_GRACE)
        if writer is None:
            return None
        return TurnFailed(Code.E_SESSION_IN_USE, f"Process {writer.pid} ({writer.command}) has it open.")

    async def _choose_process(self, invocation: Invocation, plan: Plan) -> Attempt:
        """The session's process in the pool; where the pool is full or switched off, one for this turn alone."""
        await self._clean_ups.until_done(invocation.session_key)
        if self._settings.multi_turn:
            process = await self._pool.take(
                invocation.session_key,
                fits=lambda process: process.can_serve(plan.launch, plan.session),
                start=lambda on_rest: self._start_pooled(invocation, plan, on_rest),
            )
            if process is not None:
                await process.switch_to(plan.model, plan.mode)
                return Attempt(aclosing(self._turn_of(process, invocation, plan)), pooled=process)
        elif plan.content.fits_an_argument:
            return Attempt(self._one_shot(invocation, plan))
        return Attempt(self._own_process(invocation, plan))

    @asynccontextmanager
    async def _stream_of(
        self, attempt: Attempt, session_log: MergeStreams, session_key: str
    ) -> AsyncGenerator[AsyncGenerator[EngineEvent]]:
        """A pooled process stays; one of the turn's own leaves while the answer is already on its way."""
        if attempt.pooled is not None:
            async with attempt.stream as events, aclosing(session_log(events)) as merged:
                yield merged
            return
        stack = AsyncExitStack()
        events = session_log(await stack.enter_async_context(attempt.stream))
        async with aclosing(self._clean_ups.pass_on(events, session_key, stack)) as passed_on:
            yield passed_on

    def _note(self, event: EngineEvent, plan: Plan, attempt: Attempt) -> EngineEvent:
        """Every event of a turn passes here, so it compares types: `isinstance` would take longer."""
        kind = type(event)
        if kind is ModelsOffered or kind is TurnEnded:
            self._planner.unconfirmed_ids.discard(plan.session.key)
        return _make_final(event) if attempt.is_last else event

    def _after_loss(
        self, invocation: Invocation, plan: Plan, attempt: Attempt, lost: ProcessLost
    ) -> tuple[EngineEvent, Attempt | None]:
        """The event that tells of the loss, and the next attempt. There is one, in a process of its own, if the lost
        process can have done nothing."""
        if lost.is_wanted:
            return TurnEnded("", INTERRUPTED), None
        protocol = attempt.pooled.protocol if attempt.pooled is not None else None
        if protocol is None or protocol.has_used_tools or protocol.has_been_granted or protocol.has_been_steered:
            return lost.failure, None
        if invocation.is_second_attempt or lost.failure.code not in _WORTH_ANOTHER_PROCESS:
            return lost.failure, None
        explanation = Diagnostic(f"{lost.failure.message} The turn is run again, once, in a new process.")
        key = plan.session.key
        is_new = plan.session.is_new and self._has_left_no_trace(invocation, key)
        session = SessionChoice(key, is_new=is_new, fork=plan.session.fork if is_new else None)
        again = msgspec.structs.replace(plan, session=session)
        return explanation, Attempt(self._own_process(invocation, again), is_last=True)

    def _has_left_no_trace(self, invocation: Invocation, key: str) -> bool:
        """Killed early enough, claude names its session and has not yet stored it: then nothing can be resumed."""
        path = self._session_log_path(invocation, key)
        return key in self._planner.unconfirmed_ids if path is None else not path.exists()

    def _merge_session_log(self, log: Path | None) -> MergeStreams:
        if not self._settings.session_scanning or self._settings.output_format != "stream-json":
            return lambda events: events
        return SessionLogMerge(log).merge

    def _keep_log(self, attempt: Attempt, plan: Plan, log: Path | None) -> None:
        """Claude may have gone on in another session of its own."""
        process = attempt.pooled
        if process is not None:
            process.session_log = log if process.protocol.key == plan.session.key else None

    def _known_log(self, session_key: str, key: str) -> Path | None:
        """A process stays where it was started, and so does the log that it writes."""
        process = self._pool.get(session_key)
        return process.session_log if process is not None and process.protocol.key == key else None

    def _session_log_path(self, invocation: Invocation, key: str) -> Path | None:
        return log_path(self._config, os.path.realpath(invocation.project_path), key)

    # --- the three kinds of process ---------------------------------------------------------------------------------

    def _start_pooled(self, invocation: Invocation, plan: Plan, on_rest: OnRest) -> ClaudeProcess:
        # A process keeps its session and generation for as long as it lives: a reset of the session ends it.
        session_key, generation = invocation.session_key, invocation.generation

        def on_agent_turn(turn_id: str, event: EngineEvent) -> None:
            self._agent_turns.put_nowait(AgentInitiated(session_key, generation, turn_id, event))

        process = ClaudeProcess(
            plan.launch,
            plan.session,
            mark=invocation.mark,
            model=plan.model,
            mode=plan.mode,
            on_agent_turn=on_agent_turn,
            on_rest=on_rest,
            grant=self._grant(invocation),
        )
        process.start()
        return process

    @asynccontextmanager
    async def _own_process(self, invocation: Invocation, plan: Plan) -> AsyncGenerator[AsyncGenerator[EngineEvent]]:
        """A process for this turn alone, but over pipes: so it can take pictures, and can ask."""
        process = ClaudeProcess(
            plan.launch,
            plan.session,
            mark=invocation.mark,
            model=plan.model,
            mode=plan.mode,
            grant=self._grant(invocation),
        )
        process.start()
        self._alone[invocation.session_key] = process
        try:
            async with aclosing(self._turn_of(process, invocation, plan)) as events:
                yield events
        finally:
            del self._alone[invocation.session_key]
            await process.end()

    @asynccontextmanager
    async def _one_shot(self, invocation: Invocation, plan: Plan) -> AsyncGenerator[AsyncGenerator[EngineEvent]]:
        """A process that gets its prompt as an argument, and answers once."""
        argv = command_line.one_shot(
            self._settings,
            plan.policy,
            plan.session,
            plan.content.text,
            model=plan.model,
            add_dirs=plan.add_dirs,
            args=invocation.args,
        )
        grant = self._grant(invocation)
        env = {**self._env, **(grant.env if grant is not None else {})}
        command = CliCommand(argv=argv, cwd=invocation.project_path, env=env, mark=invocation.mark)
        # In text mode claude prints nothing before the end: there silence says nothing.
        hang_sec = self._settings.hang_timeout_sec if self._settings.output_format == "stream-json" else None
        log = self._job_logs(invocation.job_id)
        turn = CliTurn(command, self._translator(plan), log, hang_sec=hang_sec, leave=LEAVE_GRACE)
        self._one_shots[invocation.session_key] = turn
        try:
            async with aclosing(turn.events()) as events:
                yield events
        finally:
            del self._one_shots[invocation.session_key]
            if grant is not None:
                grant.revoke()

    def _grant(self, invocation: Invocation) -> ToolGrant | None:
        grant = self._tools.grant(invocation.mark, invocation.project_path)
        if grant is not None:
            grant.bind(invocation.session_key, invocation.generation)
        return grant

    def _turn_of(self, process: ClaudeProcess, invocation: Invocation, plan: Plan) -> AsyncGenerator[EngineEvent]:
        prompt = Prompt(self._new_uuid(), plan.content.for_input(), invocation.allowed)
        log = self._job_logs(invocation.job_id)
        return process.turn(prompt, log, hang_sec=self._settings.hang_timeout_sec)

    def _new_uuid(self) -> str:
        """Of a prompt or a text. It is never used again: claude takes one that its session knows for a repetition."""
        return str(uuid.UUID(int=next(self._prompt_uuids)))

    def _translator(self, plan: Plan) -> Translator:
        if self._settings.output_format == "text":
            return TextTranslator()
        return ClaudeTranslator(plan.session.key, spent=0.0 if plan.session.begins_empty else None)

    # --- beside a turn ---------------------------------------------------------------------------------------------

    async def prepare(self, preparation: AgentPreparation) -> None:
        """Nothing: the agent starts with its first turn."""

    def adopt(self, ticket: str, session_key: str, generation: int) -> None:
        """Nothing was prepared."""

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
        if isinstance(instruction, Response) and process.protocol.approves_plan(instruction):
            self._modes.leave_plan(session_key)
            process.mode = ""
        await process.instruct(instruction)

    async def steer(self, session_key: str, steer: Steer) -> SteerResult:
        process = self._process_of(session_key)
        if process is None or process.is_dead:
            return SteerResult("too_late")
        try:
            # Pictures may be large, so a thread reads them; texts alone go in the order in which they came.
            making = (content_of, steer.text, steer.files)
            content = await asyncio.to_thread(*making) if steer.files else content_of(steer.text, steer.files)
        except FairleadError as refusal:
            return SteerResult("refused", refusal.message)
        return await process.steer(Prompt(self._new_uuid(), content.for_input()), foreign=steer.foreign)

    def _process_of(self, session_key: str) -> ClaudeProcess | None:
        return self._alone.get(session_key) or self._pool.get(session_key)

    async def watch_agent_turns(self) -> AsyncIterator[AgentInitiated]:
        while True:
            yield await self._agent_turns.get()

    def describe(self, session_key: str) -> AgentInfo:
        process = self._process_of(session_key)
        is_clean = not self._clean_ups.are_left(session_key)
        if process is None or process.is_dead:
            one_shot = self._one_shots.get(session_key)
            state = "Closed" if one_shot is None or one_shot.has_ended else "Prompting"
            return AgentInfo(
                state=state,
                takes_prompt_at_once=is_clean and one_shot is None and self.capabilities.starts_with_prompt,
                mode=self._modes.get(session_key),
                modes=self._offered_modes,
            )
        info = process.protocol.info
        return AgentInfo(
            state="Prompting" if process.is_in_turn else "Active",
            takes_prompt_at_once=is_clean and not process.is_in_turn,
            model=info.model,
            models=info.models,
            mode=self._modes.get(session_key),
            modes=self._offered_modes,
            context_used=info.context_used,
            context_size=info.context_size,
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
        await self._clean_ups.until_done(session_key)

    async def check(self) -> RuntimeHealth:
        settings = self._settings
        return await check_program(settings.command, self._env, mark=settings.check_mark, good=KNOWN_GOOD, login=LOGIN)

    async def aclose(self) -> None:
        for turn in tuple(self._one_shots.values()):
            turn.interrupt()
        alone = (process.end() for process in tuple(self._alone.values()))
        await asyncio.gather(*alone, self._clean_ups.join(), self._pool.aclose())


def _make_final(event: EngineEvent) -> EngineEvent:
    """The turn had its second attempt: a failure that the flow would otherwise try again is final."""
    is_transient = isinstance(event, TurnFailed) and event.transient
    return msgspec.structs.replace(event, transient=False) if is_transient else event


def claude_environment(environment: Mapping[str, str], extra: tuple[str, ...]) -> dict[str, str]:
    """The cloud's own credentials only where claude is told to reach its model through that cloud."""
    clouds = (("CLAUDE_CODE_USE_BEDROCK", "AWS_"), ("CLAUDE_CODE_USE_VERTEX", "GOOGLE_"))
    through = tuple(prefix for switch, prefix in clouds if environment.get(switch))
    return child_environment(environment, own_prefixes=(*_OWN, *through), extra=extra)
