"""Any ACP agent as a runtime: one process for each session, from the pool. Knows no agent by name."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Final, Literal

import msgspec

from fairlead.core.engine import (
    INTERRUPTED,
    AgentInitiated,
    AgentInstruction,
    EngineEvent,
    HandingOver,
    Invocation,
    Noticed,
    Ready,
    SetMode,
    Steer,
    SteerResult,
    TurnEnded,
    TurnFailed,
)
from fairlead.core.ids import SessionKeyText
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.processes import AT_ONCE
from fairlead.ports import (
    AgentInfo,
    AgentPreparation,
    JobLogs,
    RuntimeCapabilities,
    RuntimeHealth,
    SessionRecords,
)
from fairlead.runtimes.acp import wire
from fairlead.runtimes.acp.agent_turn import AgentLaunch, AgentTurn
from fairlead.runtimes.acp.first_start import FirstStart
from fairlead.runtimes.acp.known_agents import AcpAgent
from fairlead.runtimes.acp.process import AcpProcess, OnOwnTurn
from fairlead.runtimes.acp.program import STOP_GRACE
from fairlead.runtimes.acp.prompt_blocks import make_blocks
from fairlead.runtimes.acp.quirks import PLAN_MODE, quirks_of
from fairlead.runtimes.acp.records import AcpRecords
from fairlead.runtimes.acp.tier import Tier
from fairlead.runtimes.acp.translate import SessionFacts
from fairlead.runtimes.acp.turn_ends import AgentGone, KnownTotals
from fairlead.runtimes.checks import describe_untried
from fairlead.runtimes.clean_ups import CleanUps
from fairlead.runtimes.environment import child_environment
from fairlead.runtimes.images import split_images
from fairlead.runtimes.pool import OnRest, PoolShare, ProcessPool
from fairlead.runtimes.prompts import compose, without_outside_mentions
from fairlead.runtimes.tool_policy import FULL, read_tool_policy
from fairlead.runtimes.tool_server import NO_TOOLS, ToolServer
from fairlead.runtimes.workspace import read_context

CAPABILITIES: Final = RuntimeCapabilities(
    permissions=True,
    questions=True,
    interrupt=True,
    images=True,
    models=True,
    modes=True,
    agent_turns=True,
    prepares=True,
    commands=True,
    bounded_turns=False,
    gets_ready=True,
    hand_over="told",
)


class AcpSettings(msgspec.Struct, frozen=True, kw_only=True):
    tools: tuple[str, ...] = FULL
    watchdog_sec: float = 1800.0
    idle_timeout_sec: float = 300.0
    max_processes: int = 5
    check_mark: str = "fairlead-check:acp"


class AcpRuntime:
    def __init__(
        self,
        agent: AcpAgent,
        *,
        settings: AcpSettings,
        environment: Mapping[str, str],
        job_logs: JobLogs,
        pool: ProcessPool | None = None,
        tools: ToolServer = NO_TOOLS,
    ) -> None:
        self.agent = agent
        self._tools = tools
        self._settings = settings
        own = child_environment(environment, own_prefixes=agent.own_prefixes, extra=agent.extra_environment)
        self._env = {**agent.environment, **own}
        self._check_env = {**agent.environment, **agent.check_environment, **own}
        self._job_logs = job_logs
        self._own_turns: asyncio.Queue[AgentInitiated] = asyncio.Queue()
        if pool is None:
            pool = ProcessPool(most=settings.max_processes, idle_sec=settings.idle_timeout_sec)
        self._pool: PoolShare[AcpProcess] = PoolShare(pool)
        self._alone: dict[str, AcpProcess] = {}
        self._clean_ups = CleanUps(agent.name)
        self._first_start = FirstStart()
        self._records = AcpRecords(
            agent.name,
            lambda directory: AgentLaunch(agent.command, directory, self._env),
            self._env,
            mark=settings.check_mark,
            first_start=self._first_start,
        )
        self._known_totals = KnownTotals()
        self._modes: dict[str, str] = {}
        self._last_facts = SessionFacts()
        self._capabilities = CAPABILITIES

    @property
    def name(self) -> str:
        return self.agent.name

    @property
    def records(self) -> SessionRecords:
        return self._records

    @property
    def capabilities(self) -> RuntimeCapabilities:
        return self._capabilities

    def _learn_from(self, process: AcpProcess | None) -> None:
        """What the agent offers, for its next sessions; what it said about itself holds for all of them."""
        if process is not None and process.session_id:
            self._last_facts = process.facts
            self._learn_abilities(process.agent)

    def _learn_abilities(self, agent: wire.Initialized) -> None:
        quirks = quirks_of(agent.agent_info.name if agent.agent_info is not None else "")
        self._records.learn(quirks)
        self._capabilities = msgspec.structs.replace(
            CAPABILITIES,
            steering=agent.steers,
            forks=agent.forks,
            fork_points=agent.forks and quirks.forks_at_message,
        )

    # --- a turn ----------------------------------------------------------------------------------------------------

    async def invoke(self, invocation: Invocation) -> AsyncGenerator[EngineEvent]:
        try:
            turn, notes = self._plan(invocation)
            yield Ready()
            for note in notes:
                yield Noticed(note)
            async with self._stream_of(invocation, turn) as events:
                async for event in events:
                    if type(event) is HandingOver:  # the agent has said what it can do
                        self._learn_from(self._process_of(invocation.session_key))
                    yield event
        except FairleadError as refusal:
            yield TurnFailed(refusal.code, refusal.message)
        except AgentGone as gone:
            yield TurnEnded(gone.failure.text, INTERRUPTED) if gone.is_wanted else gone.failure

    def _plan(self, invocation: Invocation) -> tuple[AgentTurn, list[str]]:
        """Raises the FairleadError that forbids the turn."""
        workspace = Path(invocation.workspace_path)
        tier = Tier(read_tool_policy(workspace, self._settings.tools))
        is_new = invocation.resume_key is None and invocation.fork is None
        context = read_context(workspace, system_prompt_is_set=False)
        words = without_outside_mentions(invocation.prompt)
        images, others = split_images(invocation.files)
        # A slash command must be the first word, so nothing is put before it.
        is_command = words.startswith("/")
        composed = (
            words if is_command else compose(words, note=tier.policy.note, context=context.files if is_new else ())
        )
        if not (composed.strip() or invocation.files):
            raise error(Code.E_EMPTY_MESSAGE)
        turn = AgentTurn(
            make_blocks=lambda can: make_blocks(composed, images, others, can),
            resume_key=invocation.resume_key,
            fork=invocation.fork,
            tier=tier,
            model=invocation.model or "",
            mode=self._modes.get(invocation.session_key, ""),
            allowed=invocation.allowed,
        )
        return turn, [note for note in (tier.policy.warning, *(context.warnings if is_new else ())) if note]

    @asynccontextmanager
    async def _stream_of(self, invocation: Invocation, turn: AgentTurn) -> AsyncGenerator[AsyncGenerator[EngineEvent]]:
        """Of the session's process in the pool; where all are busy, of one for this turn alone, which leaves while the
        answer is already on its way."""
        session_key, log = invocation.session_key, self._job_logs(invocation.job_id)
        await self._clean_ups.until_done(session_key)
        stack = AsyncExitStack()
        process = await self._take_from_pool(invocation)
        if process is not None:
            events = process.turn(turn, log)
        else:
            process = await stack.enter_async_context(self._own_process(invocation))
            events = self._clean_ups.pass_on(process.turn(turn, log), session_key, stack)
        async with aclosing(events):
            try:
                yield events
            finally:  # the turn stops listening with its last event
                self._learn_from(process)
                if process.has_approved_plan and self._modes.get(session_key) == PLAN_MODE:
                    del self._modes[session_key]  # the agent goes on in the mode in which it carries the plan out

    async def _take_from_pool(self, invocation: Invocation) -> AcpProcess | None:
        launch = self._launch(invocation.project_path, invocation.args)
        process = await self._pool.take(
            invocation.session_key,
            fits=lambda process: process.can_serve(launch, invocation.resume_key, invocation.fork),
            start=lambda on_rest: self._start_for_pool(launch, invocation.mark, on_rest),
        )
        if process is not None:
            process.belong_to(invocation.session_key, invocation.generation)
        return process

    @asynccontextmanager
    async def _own_process(self, invocation: Invocation) -> AsyncGenerator[AcpProcess]:
        launch = self._launch(invocation.project_path, invocation.args)
        process = self._start(launch, invocation.mark)
        process.belong_to(invocation.session_key, invocation.generation)
        self._alone[invocation.session_key] = process
        try:
            yield process
        finally:
            del self._alone[invocation.session_key]
            await process.end()

    def _launch(self, project_path: str, args: tuple[str, ...]) -> AgentLaunch:
        return AgentLaunch((*self.agent.command, *args), project_path, self._env)

    def _start_for_pool(self, launch: AgentLaunch, mark: str, on_rest: OnRest) -> AcpProcess:
        def on_own_turn(turn_id: str, event: EngineEvent) -> None:
            session_key, generation = process.owner
            self._own_turns.put_nowait(AgentInitiated(session_key, generation, turn_id, event))

        process = self._start(launch, mark, on_own_turn, on_rest)
        return process

    def _start(
        self,
        launch: AgentLaunch,
        mark: str,
        on_own_turn: OnOwnTurn | None = None,
        on_rest: OnRest | None = None,
        *,
        with_tools: bool = True,
    ) -> AcpProcess:
        process = AcpProcess(
            launch,
            mark=mark,
            watchdog_sec=self._settings.watchdog_sec,
            first_start=self._first_start,
            known_totals=self._known_totals,
            on_own_turn=on_own_turn,
            on_rest=on_rest,
            grant=self._tools.grant(mark, launch.cwd) if with_tools else None,
        )
        process.start()
        return process

    # --- an agent before its first prompt --------------------------------------------------------------------------

    async def prepare(self, preparation: AgentPreparation) -> None:
        launch = self._launch(preparation.project_path, preparation.args)
        process = await self._pool.take(
            preparation.ticket,
            fits=lambda _: False,
            start=lambda on_rest: self._start_for_pool(launch, preparation.mark, on_rest),
        )
        if process is None:  # all are busy: the agent is tried and ended, and starts again with the first prompt
            process = self._start(launch, preparation.mark)
        is_kept = False
        try:
            await process.open(preparation.resume_key)
            is_kept = self._pool.get(preparation.ticket) is process and not process.is_dead
            self._learn_from(process)
        except AgentGone as gone:
            raise error(gone.failure.code, gone.failure.message) from None
        finally:
            if not is_kept:
                await process.end()

    def adopt(self, ticket: str, session_key: str, generation: int) -> None:
        process = self._pool.get(ticket)
        if process is not None:
            process.belong_to(SessionKeyText(session_key), generation)
            self._pool.rename(ticket, session_key)

    # --- beside a turn ---------------------------------------------------------------------------------------------

    async def instruct(self, session_key: str, instruction: AgentInstruction) -> None:
        process = self._process_of(session_key)
        if isinstance(instruction, SetMode):
            self._check_mode(session_key, instruction)
        if process is not None and not process.is_dead:
            await process.instruct(instruction)
        if isinstance(instruction, SetMode):  # a mode that the agent has refused is not asked for again
            self._modes[session_key] = instruction.mode

    async def steer(self, session_key: str, steer: Steer) -> SteerResult:
        process = self._process_of(session_key)
        if process is None or process.is_dead:
            return SteerResult("too_late")
        return await process.steer(steer)

    def _check_mode(self, session_key: str, instruction: SetMode) -> None:
        offered = self._facts_of(session_key).modes
        tier = Tier(read_tool_policy(Path(instruction.workspace_path), self._settings.tools))
        if offered and instruction.mode not in offered:
            words = f"{instruction.mode[:60]!r} is not among {', '.join(offered)}."
            raise error(Code.E_MODE_UNAVAILABLE, words)
        if not tier.is_everything:
            raise error(Code.E_MODE_UNAVAILABLE, "The project's permissions decide the mode of this agent.")

    def _process_of(self, session_key: str) -> AcpProcess | None:
        return self._alone.get(session_key) or self._pool.get(session_key)

    def _facts_of(self, session_key: str) -> SessionFacts:
        """What the session's agent offers; before it was started, what the agent offered last."""
        process = self._process_of(session_key)
        return process.facts if process is not None and process.session_id else self._last_facts

    async def watch_agent_turns(self) -> AsyncIterator[AgentInitiated]:
        while True:
            yield await self._own_turns.get()

    def describe(self, session_key: str) -> AgentInfo:
        process = self._process_of(session_key)
        facts = self._facts_of(session_key)
        is_own = process is not None and bool(process.session_id)
        return AgentInfo(
            state="Closed" if process is None else process.state,
            takes_prompt_at_once=process is not None
            and process.state == "Active"
            and not self._clean_ups.are_left(session_key),
            model=facts.model if is_own else "",
            models=facts.models,
            mode=(facts.mode if is_own else "") or self._modes.get(session_key, ""),
            modes=facts.modes,
            context_used=facts.context_used if is_own else 0,
            context_size=facts.context_size if is_own else 0,
            options=facts.options if is_own else (),
            commands=facts.commands,
        )

    async def end_session(self, session_key: str, how: Literal["stop", "kill"]) -> None:
        process = self._process_of(session_key)
        if process is not None:
            await process.end(STOP_GRACE if how == "stop" else AT_ONCE)

    async def check(self) -> RuntimeHealth:
        """Starts the agent, asks it who it is, and ends it: no model hears of that."""
        launch = AgentLaunch(self.agent.command, "/", self._check_env)
        # Several agents are checked at the same time, and the end of one ends every process with its mark.
        mark = f"{self._settings.check_mark}:{self.name}:{secrets.token_hex(3)}"
        process = self._start(launch, mark, with_tools=False)
        try:
            agent = await process.introduce()
        except AgentGone as gone:
            return RuntimeHealth(ok=False, program=self.agent.command[0], notes=(gone.failure.message,))
        finally:
            await process.end()
        self._learn_abilities(agent)
        version = (agent.agent_info.version if agent.agent_info is not None else "") or ""
        note = "" if self.agent.good is None else describe_untried(version, self.agent.good)
        return RuntimeHealth(ok=True, program=self.agent.command[0], version=version, notes=(note,) if note else ())

    async def aclose(self) -> None:
        """All at once: a stop has little time."""
        alone = (process.end() for process in tuple(self._alone.values()))
        await asyncio.gather(*alone, self._clean_ups.join(), self._pool.aclose())
