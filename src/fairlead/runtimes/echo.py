"""The built-in agent: repeats what it is told and follows the orders in a prompt. No process, no network, no disk.

It names the session key it was given, so that anybody can see which session their words reached.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal
from uuid import NAMESPACE_URL, uuid5

from fairlead.core.engine import (
    INTERRUPTED,
    AgentInitiated,
    AgentInstruction,
    EngineEvent,
    Interrupt,
    Invocation,
    ModelsOffered,
    PointReached,
    Response,
    ResumeKeyFound,
    SetMode,
    SetModel,
    Steer,
    SteerResult,
    TextDelta,
    TurnEnded,
    TurnFailed,
)
from fairlead.errors import Code, error
from fairlead.kit.file_names import clean_name
from fairlead.ports import NO_RECORDS, AgentInfo, AgentPreparation, RuntimeCapabilities, RuntimeHealth

if TYPE_CHECKING:
    from fairlead.runtimes.echo_actions import EchoTurn, WriteFile

MODELS: Final = ("echo-1", "echo-2")
MODES: Final = ("default", "plan")


class _StoppedEarly(Exception):  # noqa: N818 - how a turn learns that it is over, not a mistake
    def __init__(self, end: TurnEnded | TurnFailed) -> None:
        super().__init__()
        self.end = end


class _TurnInbox:
    """What a turn waits for: the response to its open request, or the word that it is over."""

    def __init__(self) -> None:
        self._awaited: tuple[str, asyncio.Future[Response]] | None = None
        self._early: dict[str, Response] = {}
        self._stopped: _StoppedEarly | None = None
        self._texts: list[tuple[str, asyncio.Future[SteerResult]]] = []
        self._is_closed = False

    async def add_text(self, text: str) -> SteerResult:
        if self._is_closed or self._stopped is not None:
            return SteerResult("too_late")
        future: asyncio.Future[SteerResult] = asyncio.get_running_loop().create_future()
        self._texts.append((text, future))
        return await future

    def take_texts(self) -> list[str]:
        taken, self._texts = self._texts, []
        self._tell(taken, SteerResult("taken"))
        return [text for text, _ in taken]

    def close(self) -> None:
        """What was not taken by now never will be."""
        self._is_closed = True
        self._tell(self._texts, SteerResult("too_late"))

    @staticmethod
    def _tell(texts: list[tuple[str, asyncio.Future[SteerResult]]], result: SteerResult) -> None:
        for _, future in texts:
            if not future.done():
                future.set_result(result)

    async def pause(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.wait_for_response("")
        except TimeoutError:
            return

    async def wait_for_response(self, request_id: str) -> Response:
        if self._stopped is not None:
            raise self._stopped
        if request_id in self._early:
            return self._early.pop(request_id)
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._awaited = (request_id, future)
        try:
            return await future
        finally:
            self._awaited = None

    def deliver(self, response: Response) -> None:
        if self._awaited is not None and self._awaited[0] == response.request_id and not self._awaited[1].done():
            self._awaited[1].set_result(response)
        else:
            self._early[response.request_id] = response  # the response came before the turn waits for it

    def stop(self, end: TurnEnded | TurnFailed) -> None:
        self._stopped = self._stopped or _StoppedEarly(end)
        if self._awaited is not None and not self._awaited[1].done():
            self._awaited[1].set_exception(self._stopped)


class EchoRuntime:
    """Implements `ports.Runtime`. The agent's sessions are remembered as long as Fairlead runs."""

    name = "echo"
    records = NO_RECORDS
    capabilities = RuntimeCapabilities(
        permissions=True,
        questions=True,
        refusal_words=True,
        interrupt=True,
        images=True,
        models=True,
        modes=True,
        agent_turns=True,
        second_attempt=True,
        steering=True,
        forks=True,
        fork_points=True,
    )

    def __init__(self) -> None:
        self._running: dict[str, tuple[EchoTurn, _TurnInbox]] = {}
        self._talks: dict[str, list[str]] = {}
        self._failed_once: set[str] = set()
        self._models: dict[str, str] = {}
        self._modes: dict[str, str] = {}
        self._agent_turns: asyncio.Queue[AgentInitiated | None] = asyncio.Queue()

    async def invoke(self, invocation: Invocation) -> AsyncGenerator[EngineEvent]:
        from fairlead.runtimes.echo_actions import EchoTurn

        turn = EchoTurn(invocation, has_failed_before=invocation.job_id in self._failed_once)
        here = (turn, _TurnInbox())
        self._running[invocation.session_key] = here
        try:
            async with aclosing(self._perform(*here)) as events:  # a turn that is closed early ends here and now
                async for event in events:
                    yield event
        finally:
            here[1].close()
            if self._running.get(invocation.session_key) is here:
                del self._running[invocation.session_key]

    async def prepare(self, preparation: AgentPreparation) -> None:
        """Nothing: the agent starts with its first turn."""

    def adopt(self, ticket: str, session_key: str, generation: int) -> None:
        """Nothing was prepared."""

    async def instruct(self, session_key: str, instruction: AgentInstruction) -> None:
        turn, inbox = self._running.get(session_key, (None, None))
        match instruction:
            case Response():
                if inbox is not None:
                    inbox.deliver(instruction)
            case Interrupt():
                if turn is not None and inbox is not None and not turn.is_deaf:
                    inbox.stop(TurnEnded(turn.text, INTERRUPTED))
            case SetModel():
                self._models[session_key] = instruction.model
            case SetMode():
                if instruction.mode not in MODES:
                    raise error(Code.E_MODE_UNAVAILABLE, f"{instruction.mode[:60]!r} is not among {', '.join(MODES)}.")
                self._modes[session_key] = instruction.mode

    async def steer(self, session_key: str, steer: Steer) -> SteerResult:
        """Taken when the step that runs is over, as other agents take it between two tools."""
        turn, inbox = self._running.get(session_key, (None, None))
        if turn is None or inbox is None:
            return SteerResult("too_late")
        return SteerResult("refused", "I am busy.") if turn.is_busy else await inbox.add_text(steer.text)

    async def watch_agent_turns(self) -> AsyncIterator[AgentInitiated]:
        while (event := await self._agent_turns.get()) is not None:
            yield event

    def describe(self, session_key: str) -> AgentInfo:
        state = "Prompting" if session_key in self._running else "Closed"
        return AgentInfo(
            state=state,
            model=self._models.get(session_key, MODELS[0]),
            models=MODELS,
            mode=self._modes.get(session_key, ""),
            modes=MODES,
        )

    async def end_session(self, session_key: str, how: Literal["stop", "kill"]) -> None:
        turn, inbox = self._running.get(session_key, (None, None))
        if turn is not None and inbox is not None:
            words = "was asked to stop" if how == "stop" else "was killed"
            inbox.stop(TurnFailed(Code.E_CLI_EXIT_NONZERO, f"The echo agent {words}.", turn.text))

    async def check(self) -> RuntimeHealth:
        return RuntimeHealth(
            ok=True, program="built in", notes=("send `//help` to it in `fairlead chat` to see what it can do",)
        )

    async def aclose(self) -> None:
        for turn, inbox in self._running.values():
            inbox.stop(TurnFailed(Code.E_SHUTDOWN, "Fairlead is shutting down.", turn.text))
        self._agent_turns.put_nowait(None)

    async def _perform(self, turn: "EchoTurn", inbox: _TurnInbox) -> AsyncGenerator[EngineEvent]:
        from fairlead.runtimes.echo_actions import AwaitResponse, Pause, TakeTexts, WriteFile, perform
        from fairlead.runtimes.echo_script import read_script

        invocation = turn.invocation
        key = invocation.resume_key or resume_key_of(invocation.job_id)
        turn.talk = self._talks[key] = self._recall(invocation)
        number = len(turn.talk) + 1
        turn.talk.append(invocation.prompt)
        yield ResumeKeyFound(key)
        yield ModelsOffered(invocation.model or self._models.get(invocation.session_key, MODELS[0]), MODELS)
        script = perform(turn, read_script(invocation.prompt), turn_number=number, resume_key=key)
        response: Response | None = None
        while True:
            action = script.send(response)
            response = None
            try:
                match action:
                    case Pause():
                        await inbox.pause(action.seconds)
                    case AwaitResponse():
                        response = await inbox.wait_for_response(action.request_id)
                    case WriteFile():
                        _write(invocation.project_path, action)
                    case TakeTexts():
                        turn.steered = inbox.take_texts()
                    case TurnEnded() | TurnFailed():
                        inbox.close()
                        self._conclude(turn, action)
                        yield PointReached(str(number))
                        yield action
                        return
                    case _:
                        yield action
            except _StoppedEarly as stopped:
                yield stopped.end
                return

    def _recall(self, invocation: Invocation) -> list[str]:
        """What was said before. A talk that this process has not seen had a turn before, nobody knows which."""
        fork = invocation.fork
        if invocation.resume_key:
            return self._talks.get(invocation.resume_key, ["(something)"])
        if fork is None:
            return []
        told = self._talks.get(fork.key, ["(something)"])
        return told[: int(fork.point)] if fork.point.isdecimal() else list(told)

    def _conclude(self, turn: "EchoTurn", end: TurnEnded | TurnFailed) -> None:
        job_id = turn.invocation.job_id
        if isinstance(end, TurnFailed) and end.transient:
            self._failed_once.add(job_id)
        else:
            self._failed_once.discard(job_id)
        invocation = turn.invocation
        for number, text in enumerate(turn.afterwards, 1):
            for event in (TextDelta(text), TurnEnded(text)):
                initiated = AgentInitiated(invocation.session_key, invocation.generation, f"{job_id}-{number}", event)
                self._agent_turns.put_nowait(initiated)


def resume_key_of(job_id: str) -> str:
    """The resume key of a session that this job began: the same for the same job."""
    return str(uuid5(NAMESPACE_URL, f"fairlead-echo:{job_id}"))


def _write(project_path: str, order: "WriteFile") -> None:
    """Only a plain name: the one who talks to the agent chooses it, and shall reach no file elsewhere."""
    name = clean_name(order.name)
    path = Path(project_path) / name
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return
    if order.text:
        path.write_text(f"{order.text}\n")
    else:
        path.unlink(missing_ok=True)
