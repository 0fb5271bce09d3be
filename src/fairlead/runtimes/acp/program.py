"""The program of an ACP agent: started, introduced, ended. Knows neither sessions nor turns."""

import asyncio
import contextlib
from contextlib import AsyncExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from fairlead.core.engine import TurnFailed
from fairlead.kit.processes import Grace, OwnedProcess, Tee
from fairlead.kit.tasks import OwnedTasks, PausableTimeout
from fairlead.runtimes.acp import turn_ends, wire
from fairlead.runtimes.acp.agent_turn import AgentLaunch
from fairlead.runtimes.acp.first_start import FirstStart
from fairlead.runtimes.acp.transport import AgentTransport, Listener
from fairlead.runtimes.acp.turn_ends import AgentGone, AgentRefused
from fairlead.runtimes.cli_turn import START_FAULTS, exit_of, start_failure
from fairlead.runtimes.translator import Exit

if TYPE_CHECKING:
    from fairlead.runtimes.acp.connection import AcpConnection

INITIALIZE_SEC: Final = 60.0
INTRODUCTIONS: Final = 5
START_PAUSES: Final = (0.0, 0.2, 0.5, 1.0, 2.0)
"""Seconds to wait before each start of a program that others have disturbed while it started."""
# An agent finishes its session when its input ends. All of it must fit into the 10 s that a shutdown may take.
STOP_GRACE: Final = Grace(end_of_input=3.0, terminate=1.0)
CANCEL_GRACE: Final = Grace(end_of_input=0.8, terminate=0.6)


class ProgramOwner(Listener, Protocol):
    """Hears what the agent says, answers what it asks, and is told what becomes of its program."""

    async def respond_to_permission(self, params: Any) -> dict[str, Any]: ...

    async def respond_to_form(self, params: Any) -> dict[str, Any]: ...

    def note_initialized(self, agent: wire.Initialized) -> None: ...

    def note_end(self) -> None:
        """Nothing of the program runs any more, or it could not be started."""
        ...


class AgentProgram:
    """`start()`, `connect()`, and `end()`, which anybody may call at any time."""

    def __init__(
        self, launch: AgentLaunch, *, mark: str, owner: ProgramOwner, tee: Tee, first_start: FirstStart
    ) -> None:
        self.is_dead = False
        self.is_ended_by_us = False
        self._launch = launch
        self._mark = mark
        self._owner = owner
        self._tee = tee
        self._first_start = first_start
        self._waiting = PausableTimeout(None)
        self._is_disturbed = False
        self._tasks = OwnedTasks(f"program {mark}")
        self._started = asyncio.Event()
        self._ready = asyncio.Event()
        self._process: OwnedProcess | None = None
        self._transport: AgentTransport | None = None
        self._connection: AcpConnection | None = None
        self._failure: TurnFailed | None = None

    @property
    def is_introduced(self) -> bool:
        """Whether the agent has said who it is, or never will."""
        return self._ready.is_set()

    @property
    def is_at_end(self) -> bool:
        """The agent will say nothing more, although its process may still be there."""
        return self._transport is not None and self._transport.is_at_end

    @property
    def connection(self) -> "AcpConnection | None":
        """None while there is none yet."""
        return self._connection

    def start(self) -> None:
        self._tasks.start(self._live(), name="life")

    async def connect(self) -> "AcpConnection":
        """Returns when the agent has said who it is. Raises AgentGone."""
        await self._ready.wait()
        if self._failure is not None or self.is_dead or self._connection is None:
            failure = self._failure or turn_ends.no_connection("The agent's process has ended.")
            raise AgentGone(failure, is_wanted=self.is_ended_by_us)
        return self._connection

    async def explain_loss(self, text: str) -> AgentGone:
        """Why there is no agent any more, which has said `text` in this turn; waits for the end of what is left."""
        is_wanted = self.is_ended_by_us
        assert self._process is not None
        return AgentGone(turn_ends.exit_in_turn(await exit_of(self._process), text), is_wanted=is_wanted)

    def look_at_exit(self) -> Exit | None:
        """How the process ended by itself; None if somebody ended it, or it was never there."""
        if self.is_ended_by_us or self._process is None:
            return None
        return Exit(self._process.returncode, self._process.stderr_tail.decode(errors="replace"))

    async def end(self, grace: Grace = STOP_GRACE) -> None:
        """Returns when nothing of the process runs any more."""
        self.is_dead = self.is_ended_by_us = True
        self._waiting.expire()
        await self._started.wait()
        if self._process is not None:
            await self._process.end(grace)
        await self._tasks.join()

    def begin_end(self, grace: Grace = CANCEL_GRACE) -> None:
        """Leaves it to the life of the process to finish the end."""
        self.is_dead = self.is_ended_by_us = True
        self._waiting.expire()
        if self._process is not None:
            self._tasks.start(self._process.end(grace), name="end")

    # --- the life of the process -----------------------------------------------------------------------------------

    async def _live(self) -> None:
        try:
            # The SDK's import takes a second: in a thread, so that nothing else waits for it.
            module = cast("Any", await asyncio.to_thread(import_module, "fairlead.runtimes.acp.connection"))
            for pause in START_PAUSES:
                self._is_disturbed = False
                await self._run(module, pause)
                if not self._is_disturbed:
                    return
        except START_FAULTS as fault:
            self._failure = start_failure(fault)
        finally:
            self.is_dead = True
            self._started.set()
            self._ready.set()
            self._owner.note_end()

    async def _run(self, module: Any, pause: float) -> None:
        """One process, from its start to its end."""
        async with AsyncExitStack() as alone:
            if not await self._wait_for_start(pause, alone):
                return
            self._started.clear()  # from here on, an end waits for the process that it has to end
            self._process = self._transport = self._connection = self._failure = None
            async with OwnedProcess.spawn(
                self._launch.argv,
                cwd=Path(self._launch.cwd),
                env=self._launch.env,
                mark=self._mark,
                tee=self._tee,
                grace=STOP_GRACE,
            ) as process:
                self._process = process
                self._started.set()
                if not self.is_ended_by_us:  # else leaving the block ends it: `end` may have been cancelled since
                    await self._converse(module, process, alone)

    async def _wait_for_start(self, pause: float, alone: AsyncExitStack) -> bool:
        """False if the program was ended before it was started."""
        if self.is_ended_by_us:
            return False
        self._waiting = PausableTimeout(None)  # `end` makes the time be up
        with contextlib.suppress(TimeoutError):
            async with self._waiting:
                await asyncio.sleep(pause)
                await alone.enter_async_context(self._first_start.alone())
        return not self.is_ended_by_us

    async def _converse(self, module: Any, process: OwnedProcess, alone: AsyncExitStack) -> None:
        owner = self._owner
        self._transport = AgentTransport(process, owner)
        connection: AcpConnection = module.AcpConnection(
            self._transport, on_permission=owner.respond_to_permission, on_form=owner.respond_to_form
        )
        self._connection = connection
        try:
            self._failure = await self._initialize(connection, process)
            if self._failure is None:
                self._first_start.note_success()
                await alone.aclose()
                self._ready.set()
                await process.wait()
        finally:
            await connection.close()

    async def _initialize(self, connection: "AcpConnection", process: OwnedProcess) -> TurnFailed | None:
        try:
            async with asyncio.timeout(INITIALIZE_SEC):
                agent = await _introduce(connection)
        except TimeoutError:
            return turn_ends.no_connection(f"The agent did not answer `initialize` within {INITIALIZE_SEC:.0f} s.")
        except AgentRefused as refusal:
            return turn_ends.no_connection(f"The agent refused `initialize`: {refusal.words}")
        except ConnectionError:
            end = await exit_of(process)
            self._is_disturbed = turn_ends.was_disturbed(end)
            return turn_ends.exit_at_start(end)
        self._owner.note_initialized(agent)
        return turn_ends.check_version(agent)


async def _introduce(connection: "AcpConnection") -> wire.Initialized:
    """codex-acp runs a codex of its own. Several that set up the same home at once disturb each other, as at the first
    start on a machine, where the self-check meets the first prompt: those that fail can be started again."""
    for _ in range(INTRODUCTIONS - 1):
        try:
            return await connection.initialize()
        except AgentRefused as refusal:
            if not refusal.may_pass:
                raise
    return await connection.initialize()
