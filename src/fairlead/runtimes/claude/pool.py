"""The long-lived Claudes: one for each session, at most so many, the longest unused idle one goes first."""

import asyncio
from collections.abc import Callable

from fairlead.core.engine import AgentInitiated, EngineEvent, Invocation, SetModel
from fairlead.runtimes.claude.command_line import AgentSession
from fairlead.runtimes.claude.process import ClaudeProcess, Launch

DEFAULT_MODEL = "default"


class Pool:
    """`on_unasked` gets what a Claude does by itself."""

    def __init__(self, *, most: int, idle_sec: float, on_unasked: Callable[[AgentInitiated], None]) -> None:
        self._most = most
        self._idle_sec = idle_sec
        self._on_unasked = on_unasked
        # In the order of their last use: the first was not needed for the longest time.
        self._processes: dict[str, ClaudeProcess] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._one_at_a_time = asyncio.Lock()

    def get(self, session_key: str) -> ClaudeProcess | None:
        return self._processes.get(session_key)

    def __len__(self) -> int:
        return len(self._processes)

    async def take(
        self, invocation: Invocation, launch: Launch, agent_session: AgentSession, *, model: str, mode: str = ""
    ) -> ClaudeProcess | None:
        """The session's process, a new one if it has none that fits; None if all are busy with other sessions."""
        session_key = invocation.session_key
        async with self._one_at_a_time:
            process = self._processes.pop(session_key, None)
            self._stop_timer(session_key)
            if process is not None and not _fits(process, launch, agent_session):
                await process.end()
                process = None
            if process is None:
                if not await self._has_room():
                    return None
                process = self._start(invocation, launch, agent_session, model=model, mode=mode)
            self._processes[session_key] = process
        if process.model != model:
            await process.instruct(SetModel(model or DEFAULT_MODEL))
            process.model = model
        if mode and process.mode != mode:
            await process.ask_mode(mode)
        return process

    async def aclose(self) -> None:
        for handle in self._timers.values():
            handle.cancel()
        ending = [asyncio.create_task(process.end()) for process in self._processes.values()]
        waiting = {*ending, *self._ending}
        if waiting:
            await asyncio.wait(waiting)

    def _start(
        self, invocation: Invocation, launch: Launch, agent_session: AgentSession, *, model: str, mode: str
    ) -> ClaudeProcess:
        session_key, generation = invocation.session_key, invocation.generation  # a reset ends the process's talk

        def on_unasked(turn_id: str, event: EngineEvent) -> None:
            self._on_unasked(AgentInitiated(session_key, generation, turn_id, event))

        def on_idle() -> None:
            self._look_at(session_key, process)

        process = ClaudeProcess(
            launch, agent_session, mark=invocation.mark, model=model, mode=mode, on_unasked=on_unasked, on_idle=on_idle
        )
        process.start()
        return process

    async def _has_room(self) -> bool:
        if len(self._processes) < self._most:
            return True
        for session_key, process in self._processes.items():
            if process.is_idle:
                self._stop_timer(session_key)
                del self._processes[session_key]
                await process.end()
                return True
        return False

    def _look_at(self, session_key: str, process: ClaudeProcess) -> None:
        """Called when it came to rest or died."""
        self._stop_timer(session_key)
        if self._processes.get(session_key) is not process:
            return
        if process.is_dead:
            del self._processes[session_key]
        elif not process.is_in_turn:
            loop = asyncio.get_running_loop()
            self._timers[session_key] = loop.call_later(self._idle_sec, self._time_is_up, session_key, process)

    def _time_is_up(self, session_key: str, process: ClaudeProcess) -> None:
        if not process.is_idle:
            self._look_at(session_key, process)  # its background commands still run
            return
        task = asyncio.get_running_loop().create_task(process.end())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _stop_timer(self, session_key: str) -> None:
        handle = self._timers.pop(session_key, None)
        if handle is not None:
            handle.cancel()


def _fits(process: ClaudeProcess, launch: Launch, agent_session: AgentSession) -> bool:
    """Another talk, tier or directory needs another process; another model does not."""
    return (
        not process.is_dead
        and process.launch == launch
        and process.dialogue.key == agent_session.key
        and not agent_session.is_new
    )
