"""One ACP agent: being started, idle, in a turn or dead. Knows turns and clocks, neither pipes nor lines."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from fairlead.core.engine import (
    INTERRUPTED,
    AgentInstruction,
    Diagnostic,
    EngineEvent,
    ForkOrigin,
    HandingOver,
    Interrupt,
    Noticed,
    PointReached,
    Response,
    SetMode,
    SetModel,
    Steer,
    SteerResult,
    TurnEnded,
    TurnFailed,
)
from fairlead.core.ids import SessionKeyText
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.processes import AT_ONCE, Grace
from fairlead.kit.tasks import OwnedTasks
from fairlead.ports import AgentState, JobLog
from fairlead.runtimes.acp import turn_ends, wire
from fairlead.runtimes.acp.agent_turn import AgentLaunch, AgentTurn
from fairlead.runtimes.acp.asks import Asks
from fairlead.runtimes.acp.first_start import FirstStart
from fairlead.runtimes.acp.own_turns import OwnTurns
from fairlead.runtimes.acp.program import CANCEL_GRACE, STOP_GRACE, AgentProgram
from fairlead.runtimes.acp.prompt_blocks import make_blocks
from fairlead.runtimes.acp.quirks import PLAN_MODE, quirks_of
from fairlead.runtimes.acp.session import AgentSession
from fairlead.runtimes.acp.tier import Tier
from fairlead.runtimes.acp.translate import SessionFacts, without_mode_message
from fairlead.runtimes.acp.turn_ends import AgentGone, AgentRefused
from fairlead.runtimes.acp.turn_events import SilentTooLong, TurnEvents
from fairlead.runtimes.images import split_images
from fairlead.runtimes.prompts import compose, without_outside_mentions
from fairlead.runtimes.tool_server import ToolGrant

if TYPE_CHECKING:
    from fairlead.runtimes.acp.connection import AcpConnection

STEER_SEC: Final = 60.0
"""An agent that gives no word about a text within this time may have taken it."""

PromptEnd: TypeAlias = wire.Prompted | AgentRefused | ConnectionError
OnOwnTurn = Callable[[str, EngineEvent], None]
"""Gets the id and the events of a turn that the agent began by itself."""


class AcpProcess:
    """`start()`, then turns one after another, then `end()`, which anybody may call at any time."""

    def __init__(
        self,
        launch: AgentLaunch,
        *,
        mark: str,
        watchdog_sec: float,
        first_start: FirstStart,
        known_totals: turn_ends.KnownTotals,
        on_own_turn: OnOwnTurn | None = None,
        on_rest: Callable[[], None] | None = None,
        grant: ToolGrant | None = None,
    ) -> None:
        self._grant = grant
        self.launch = launch
        self.mark = mark
        self.owner: tuple[SessionKeyText, int] = (SessionKeyText(""), 0)
        """The session that the agent's own turns belong to, and its generation."""
        self.is_in_turn = False
        self._session = AgentSession(launch.argv, launch.cwd, launch.env, known_totals=known_totals, grant=grant)
        self._asks = Asks(self._emit, self._look_again)
        self._asks.has_own_tools = grant is not None
        self._own_turns = OwnTurns(
            mark,
            self.facts,
            on_own_turn,
            is_asking=lambda: self._asks.are_open,
            watchdog_sec=watchdog_sec,
            on_hung=self._end_hung,
        )
        self._watchdog_sec = watchdog_sec
        self._on_rest = on_rest or (lambda: None)
        self._log: JobLog | None = None
        self._is_opening = False
        self._was_prompted = False
        self._is_prompting = False
        self._has_prompt = asyncio.Event()
        self._is_interrupted = False
        self._tier = Tier()
        self._strict_mode = ""
        """The mode in which the tier is held; empty where nothing has to be held."""
        self._has_left_mode = False
        self._events = self._new_events()
        self._tasks = OwnedTasks(f"agent {mark}")
        given = launch if grant is None else msgspec.structs.replace(launch, env={**launch.env, **grant.env})
        self._program = AgentProgram(given, mark=mark, owner=self, tee=self._tee, first_start=first_start)

    # --- as the pool and the runtime see it ------------------------------------------------------------------------

    @property
    def is_dead(self) -> bool:
        return self._program.is_dead

    @property
    def facts(self) -> SessionFacts:
        return self._session.translator.facts

    @property
    def agent(self) -> wire.Initialized:
        """What the agent said about itself."""
        return self._session.agent

    @property
    def session_id(self) -> str:
        return self._session.session_id

    @property
    def has_approved_plan(self) -> bool:
        """Whether a person has approved a plan in the last turn."""
        return self._asks.has_approved_plan

    @property
    def state(self) -> AgentState:
        if self.is_dead:
            return "Closed"
        if not self._program.is_introduced:
            return "Created"
        return "Prompting" if self._is_prompting else "Active"

    @property
    def is_idle(self) -> bool:
        busy = self.is_in_turn or self._is_opening or self._asks.are_open or self._own_turns.is_open
        return not (self.is_dead or busy)

    def can_serve(self, launch: AgentLaunch, resume_key: str | None, fork: ForkOrigin | None = None) -> bool:
        """A session that was opened and never prompted is as good as a new one, but not as one that is forked."""
        if self.launch != launch or self._program.is_at_end:
            return False
        if resume_key is None:
            return not self._was_prompted and fork is None
        return self.session_id == resume_key

    def belong_to(self, session_key: SessionKeyText, generation: int) -> None:
        self.owner = (session_key, generation)
        if self._grant is not None:
            self._grant.bind(session_key, generation)

    def start(self) -> None:
        self._program.start()

    async def introduce(self) -> wire.Initialized:
        """What the agent said about itself. Raises AgentGone."""
        await self._program.connect()
        return self._session.agent

    async def open(self, resume_key: str | None, fork: ForkOrigin | None = None) -> None:
        """The session is open when this returns. Raises AgentGone."""
        self._is_opening = True
        try:
            connection = await self._program.connect()
            await self._session.open(connection, resume_key, fork)
        except ConnectionError:
            raise await self._explain_loss() from None
        finally:
            self._is_opening = False

    async def end(self, grace: Grace = STOP_GRACE) -> None:
        """Returns when nothing of the process runs any more."""
        self._asks.release()
        await self._program.end(grace)
        await self._tasks.join()

    def _end_hung(self) -> None:
        """Begins the end, and leaves it to the life of the process to finish."""
        self._program.begin_end()
        self._asks.release()

    # --- what becomes of the program -------------------------------------------------------------------------------

    def note_initialized(self, agent: wire.Initialized) -> None:
        self._session.agent = agent
        quirks = quirks_of(agent.agent_info.name if agent.agent_info is not None else "")
        self._session.quirks = self._asks.quirks = quirks
        self._session.translator.error_mark = quirks.error_mark

    def note_end(self) -> None:
        self._take_log(None)
        if self._grant is not None:  # behind the log, which is searched for the capability when it is written
            self._grant.revoke()
        self._asks.release()
        self._own_turns.end(self._end_of_own_turn)
        self._on_rest()

    def _end_of_own_turn(self, text: str) -> TurnEnded | TurnFailed:
        exit_seen = self._program.look_at_exit()
        return TurnEnded(text, INTERRUPTED) if exit_seen is None else turn_ends.exit_in_turn(exit_seen, text)

    async def _explain_loss(self) -> AgentGone:
        return await self._program.explain_loss(self._session.translator.text)

    # --- a turn ----------------------------------------------------------------------------------------------------

    async def turn(self, turn: AgentTurn, log: JobLog) -> AsyncGenerator[EngineEvent]:
        """Ends with the end of the turn, or raises AgentGone when no agent is left to end it. Closing it early ends
        the process. Raises the FairleadError that forbids the turn, and leaves the agent as it is."""
        self._begin(turn, log)
        has_ended = False
        try:
            await self.open(turn.resume_key, turn.fork)
            for event in self._session.take_offers():
                yield event
            for event in await self._prepare(turn):
                yield event
            last: list[EngineEvent] = [TurnEnded("", INTERRUPTED)]
            if not self._is_interrupted:
                blocks = await turn.make_blocks(self._session.prompt_capabilities)
                for notice in blocks.notices:
                    yield Noticed(notice)
                yield HandingOver()
                prompting = await self._send_prompt(blocks.blocks)
                while (event := await self._next_event()) is not None:
                    yield event
                last = await self._conclude(prompting)
                await self._end_left_tools()
            has_ended = True
            self._rest()
            for event in last:
                yield event
        except FairleadError:
            has_ended = True
            self._rest()
            raise
        finally:
            if not has_ended:
                await self.end(CANCEL_GRACE)
                self._rest()

    def _begin(self, turn: AgentTurn, log: JobLog) -> None:
        self._asks.release()  # what the agent asked in a turn of its own: nobody will respond to it any more
        self._own_turns.end()
        self.is_in_turn = True
        self._is_interrupted = False
        self._has_prompt.clear()
        self._tier, self._strict_mode = turn.tier, ""
        self._asks.begin_turn(turn.tier, turn.allowed)
        self._events = self._new_events()
        self._take_log(log)

    async def _prepare(self, turn: AgentTurn) -> list[EngineEvent]:
        """The model and the mode of the turn. A tier that forbids something holds only in the agent's strict mode."""
        connection, quirks = await self._program.connect(), self._session.quirks
        mode = turn.mode or quirks.start_mode
        if not turn.tier.is_everything:
            mode = turn.tier.strict_mode(self.launch.argv[0], quirks)
        try:
            events = await self._session.choose(connection, turn.model, mode)
        except ConnectionError:
            raise await self._explain_loss() from None
        if not turn.tier.is_everything:
            if self.facts.mode != mode:
                raise error(Code.E_PERMISSION_TIER, turn.tier.cannot_be_held(self.launch.argv[0], mode))
            self._strict_mode = mode
        return events

    async def _send_prompt(self, blocks: list[dict[str, Any]]) -> "asyncio.Task[PromptEnd]":
        connection = await self._program.connect()
        self._session.translator.begin_turn()
        self._session.note_update()
        prompting = self._tasks.start(self._prompt(connection, blocks), name="prompt")
        # The updates before the response are among the events by then: they are put there as their lines are read.
        events = self._events
        prompting.add_done_callback(lambda _: events.finish())
        return prompting

    async def _prompt(self, connection: "AcpConnection", blocks: list[dict[str, Any]]) -> PromptEnd:
        """Returns faults too, because a turn that is closed early asks for no result. Between the look at the
        interruption and the prompt nothing else runs, so no cancellation can reach the agent before the prompt."""
        if self._is_interrupted:
            return wire.Prompted(stop_reason="cancelled")
        self._was_prompted = self._is_prompting = True
        self._has_prompt.set()
        try:
            return await connection.prompt(self.session_id, blocks)
        except (AgentRefused, ConnectionError) as fault:
            return fault

    def _new_events(self) -> TurnEvents:
        return TurnEvents(
            watchdog_sec=self._watchdog_sec,
            heard_at=lambda: self._session.last_update_at,
            is_asking=lambda: self._asks.are_open,
        )

    async def _next_event(self) -> EngineEvent | None:
        """None when the agent has responded to the prompt. Raises AgentGone after the watchdog's time of silence."""
        try:
            return await self._events.next()
        except SilentTooLong:
            failure = turn_ends.silent_too_long(self._watchdog_sec, self._session.translator.text)
            raise AgentGone(failure) from None

    async def _conclude(self, prompting: "asyncio.Task[PromptEnd]") -> list[EngineEvent]:
        self._is_prompting = False
        self._asks.release()
        text = self._session.translator.text
        if self._has_left_mode:
            words = self._tier.was_left(self.launch.argv[0], self.facts.mode)
            raise AgentGone(TurnFailed(Code.E_PERMISSION_TIER, words, text))
        match prompting.result():
            case ConnectionError():
                raise await self._explain_loss()
            case AgentRefused() if self._is_interrupted:
                return [TurnEnded(text, INTERRUPTED)]
            case AgentRefused() as refusal:
                return [turn_ends.refused_prompt(refusal, self._session.agent, self.launch.argv, text)]
            case wire.Prompted() as prompted:
                return self._end_of(prompted, text)

    def _end_of(self, prompted: wire.Prompted, text: str) -> list[EngineEvent]:
        session = self._session
        usage = session.totals.usage_of(prompted, self.facts, session.quirks, session.translator.counted)
        end = turn_ends.end_of(
            prompted,
            text,
            session.quirks,
            is_interrupted=self._is_interrupted,
            has_refused=self._asks.has_refused,
            failure=session.translator.failure,
        )
        point = session.translator.last_message_id if session.quirks.forks_at_message else ""
        return [*usage, *([PointReached(point)] if point else []), *end]

    async def _end_left_tools(self) -> None:
        """See `Quirks.tools_outlive_cancel`."""
        is_left = self._is_interrupted and self._session.translator.is_in_tool
        if is_left and self._session.quirks.tools_outlive_cancel:
            await self.end(CANCEL_GRACE)

    def _rest(self) -> None:
        self._is_prompting = self.is_in_turn = False
        self._has_prompt.set()  # nobody waits any longer
        self._own_turns.may_begin = not self._is_interrupted
        self._asks.can_be_heard = self._own_turns.is_heard
        self._on_rest()

    # --- what the agent says and asks ------------------------------------------------------------------------------

    def hear_update(self, update: wire.Update, session_id: str) -> None:
        self._session.note_update()
        if session_id and self.session_id and session_id != self.session_id:
            self.hear_oddity(f"The agent sent an update of another session, {session_id}.")
            return
        if self._session.quirks.mode_message:
            update = without_mode_message(update, self._session.quirks.mode_message)
        if not self._is_prompting:
            self._own_turns.hear(update)
        else:
            for event in self._session.translator.translate(update):
                self._events.put(event)
        if self._strict_mode and self.facts.mode not in {self._strict_mode, PLAN_MODE}:
            self._end_loosened()

    def _end_loosened(self) -> None:
        """At once: in its new mode the agent may use what the tier forbids without asking. Whether a command of its own
        or the agent itself has changed the mode makes no difference."""
        self._has_left_mode = True
        self._program.begin_end(AT_ONCE)
        self._asks.release()

    def hear_withdrawal(self, request_id: str) -> None:
        self._asks.withdraw(request_id)

    def hear_unknown_update(self, words: str) -> None:
        self._session.note_update()
        self._own_turns.note_life()
        self.hear_oddity(words)

    def hear_oddity(self, words: str) -> None:
        self._emit(Diagnostic(words))

    def hear_lost_line(self, words: str) -> None:
        self._emit(Noticed(words))

    async def respond_to_permission(self, params: Any) -> dict[str, Any]:
        self._session.translator.end_message()
        self._own_turns.end_message()
        shown_in = self._session.translator if self.is_in_turn else self._own_turns
        return await self._asks.ask_permission(params, shown_in.find_shown)

    async def respond_to_form(self, params: Any) -> dict[str, Any]:
        return await self._asks.ask_form(params)

    def _emit(self, event: EngineEvent) -> None:
        if self.is_in_turn:
            self._events.put(event)
        else:
            self._own_turns.emit(event)

    def _look_again(self) -> None:
        """The watchdog did not count while a person was asked: it counts from now."""
        self._session.note_update()
        self._events.look_again()
        self._own_turns.note_life()

    # --- what people say -------------------------------------------------------------------------------------------

    async def instruct(self, instruction: AgentInstruction) -> None:
        match instruction:
            case Response():
                self._asks.respond(instruction)
            case Interrupt():
                await self._interrupt()
            case SetModel() | SetMode() if self._program.connection is not None and self.session_id:
                await self._set(self._program.connection, instruction)
            case SetModel() | SetMode():
                pass  # the next turn brings both

    async def steer(self, steer: Steer) -> SteerResult:
        """The agent's own word says what became of it. Waits until the prompt is sent."""
        while self.is_in_turn and not self._has_prompt.is_set():
            await self._has_prompt.wait()
        connection = self._program.connection
        if not self._is_prompting or self._is_interrupted or connection is None:
            return SteerResult("too_late")
        images, others = split_images(steer.files)
        words = compose(without_outside_mentions(steer.text))
        blocks = await make_blocks(words, images, others, self._session.prompt_capabilities)
        if not self._is_prompting:
            return SteerResult("too_late")
        if steer.foreign:
            self._asks.forget_allowed()
        return await self._send_text(connection, blocks.blocks)

    async def _send_text(self, connection: "AcpConnection", blocks: list[dict[str, Any]]) -> SteerResult:
        try:
            async with asyncio.timeout(STEER_SEC):
                steered = await connection.steer(self.session_id, blocks)
        except AgentRefused as refusal:
            return SteerResult("refused", refusal.words)
        except (ConnectionError, TimeoutError):
            return SteerResult("unknown", "The agent ended before it said whether it took the text.")
        return SteerResult("too_late" if steered.outcome == "promptRequired" else "taken")

    async def _set(self, connection: "AcpConnection", instruction: SetModel | SetMode) -> None:
        try:
            if isinstance(instruction, SetModel):
                await self._session.set_model(connection, instruction.model)
            else:
                await self._session.set_mode(connection, instruction.mode)
        except ConnectionError:
            raise error(Code.E_ACP_CONNECTION, "The agent's process has ended.") from None
        except AgentGone as gone:
            await self.end(CANCEL_GRACE)
            raise error(gone.failure.code, gone.failure.message) from None

    async def _interrupt(self) -> None:
        """Of the turn that runs, or of one that the agent began by itself; what it still says then is not heard."""
        self._is_interrupted = True
        self._asks.release()
        is_busy = self._is_prompting or self._own_turns.is_open
        if self._own_turns.is_open:
            self._own_turns.end(lambda text: TurnEnded(text, INTERRUPTED))
            self._own_turns.may_begin = False
        if is_busy and self._program.connection is not None:
            with contextlib.suppress(ConnectionError):
                await self._program.connection.cancel(self.session_id)

    # --- the log ---------------------------------------------------------------------------------------------------

    def _tee(self, stream: Any, data: bytes) -> None:
        if self._log is not None:
            self._log.write(stream, data)

    def _take_log(self, log: JobLog | None) -> None:
        """What the agent prints between two jobs goes to the log of the first."""
        if self._log is not None:
            self._log.close()
        self._log = log
