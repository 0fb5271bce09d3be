"""The stage on which the scripted agent stands in for an agent that speaks ACP, and one session on that stage."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from fairlead.core.engine import (
    Ask,
    EngineEvent,
    Interrupt,
    Invocation,
    PermissionRequested,
    PlanProposed,
    QuestionRequested,
    Response,
    ResumeKeyFound,
    TextDelta,
    TurnEnded,
    TurnFailed,
)
from fairlead.kit.framing import LineTooLong
from fairlead.runtimes.acp import wire
from fairlead.runtimes.acp.known_agents import AcpAgent
from fairlead.runtimes.acp.runtime import AcpRuntime, AcpSettings
from fairlead.runtimes.pool import ProcessPool
from tests.support.runtime_contract import PATIENCE, MemoryLogs, Scene, closing, invocation, processes_of
from tests.support.scripted_acp.shim import Note, read_notes, write_shim

PROMPTS: dict[Scene, str] = {
    "answers": "hello",
    "resumes": "hello again",
    "uses a tool": "tool: execute echo hi\nsay: done",
    "is refused with 429": "error: -32603 API error: 429 too many requests",
    "knows no such talk": "hello",
    "hangs": "hang",
}
Respond = Callable[[Ask], Response]


class AcpStage:
    """`switches` are those of the scripted agent; `write` changes them for the processes that start later."""

    def __init__(self, root: Path, **switches: Any) -> None:
        self.root = root
        self.logs = MemoryLogs()
        self.notes = root / "notes.ndjson"
        self.command = root / "bin" / "agent"
        self.write(**switches)

    def write(self, **switches: Any) -> None:
        plain = {"bare": True, "notes": self.notes, "state": self.root / "sessions"}
        write_shim(self.command.parent, self.command.name, **plain | switches)

    def prompt(self, scene: Scene) -> str:
        return PROMPTS[scene]

    def runtime(self, scene: Scene = "answers", **settings: Any) -> AcpRuntime:
        return self.runtime_with(str(self.command), **settings)

    def runtime_with(self, *command: str, pool: ProcessPool | None = None, **settings: Any) -> AcpRuntime:
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.root / "home"), "DISCORD_TOKEN": "not for agents"}
        return AcpRuntime(
            AcpAgent(name="agent", command=command),
            settings=AcpSettings(check_mark=f"{self.root.name}-{os.getpid()}:check", **settings),
            environment=environment,
            job_logs=self.logs,
            pool=pool,
        )

    def noted(self, kind: str = "", method: str = "") -> list[Note]:
        return read_notes(self.notes, kind, method)

    async def until_noted(self, kind: str, method: str = "", *, times: int = 1) -> list[Note]:
        async with asyncio.timeout(PATIENCE):
            while len(found := self.noted(kind, method)) < times:
                await asyncio.sleep(0.01)
        return found

    def fifo(self, name: str) -> "Fifo":
        return Fifo(self.root / name)


class Fifo:
    """What an agent waits for, until the test lets it go on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)

    def __str__(self) -> str:
        return str(self.path)

    async def open(self) -> None:
        """Returns when the agent has gone on."""

        def write() -> None:
            with self.path.open("wb"):
                pass

        async with asyncio.timeout(PATIENCE):
            await asyncio.to_thread(write)


class Talk:
    """One session with an agent: each turn goes on where the last one ended."""

    def __init__(self, stage: AcpStage, runtime: AcpRuntime, name: str = "s", **always: Any) -> None:
        self.stage = stage
        self.runtime = runtime
        self.name = name
        self.key: str | None = None
        self.mark = f"{stage.root.name}-{os.getpid()}:{name}"
        self.heard: list[EngineEvent] = []
        self._always = always
        self._turns = 0

    def turn(self, prompt: str, **changes: Any) -> Invocation:
        self._turns += 1
        plain = {
            "session_key": self.name,
            "mark": self.mark,
            "job_id": f"job_{self.name}_{self._turns}",
            "resume_key": self.key,
        }
        return invocation(self.stage.root, prompt, **plain | self._always | changes)

    async def say(self, prompt: str, respond: Respond | None = None, **changes: Any) -> list[EngineEvent]:
        """Every event of a turn. `respond` is asked on the agent's behalf; without it everything is allowed."""
        events = self.heard = []
        async with asyncio.timeout(PATIENCE), aclosing(self.runtime.invoke(self.turn(prompt, **changes))) as stream:
            async for event in stream:
                events.append(event)
                if isinstance(event, ResumeKeyFound):
                    self.key = event.key
                if isinstance(event, PermissionRequested | QuestionRequested | PlanProposed):
                    response = allow(event) if respond is None else respond(event)
                    await self.runtime.instruct(self.name, response)
        assert [event for event in events if isinstance(event, TurnEnded | TurnFailed)] == events[-1:]
        return events

    async def answer(self, prompt: str, respond: Respond | None = None, **changes: Any) -> str:
        """The text of a turn that ends well."""
        last = (await self.say(prompt, respond, **changes))[-1]
        assert isinstance(last, TurnEnded), last
        return last.text

    async def failure(self, prompt: str, respond: Respond | None = None, **changes: Any) -> TurnFailed:
        last = (await self.say(prompt, respond, **changes))[-1]
        assert isinstance(last, TurnFailed), last
        return last

    async def until_heard(self, is_it: Callable[[EngineEvent], bool]) -> None:
        """In the turn that runs."""
        await until(lambda: any(is_it(event) for event in self.heard))

    async def until_said(self, text: str) -> None:
        await until(lambda: text in "".join(event.text for event in self.heard if isinstance(event, TextDelta)))

    def begin(self, prompt: str, **changes: Any) -> "asyncio.Task[list[EngineEvent]]":
        return asyncio.create_task(self.say(prompt, **changes))

    async def interrupt(self) -> None:
        await self.runtime.instruct(self.name, Interrupt())

    @property
    def state(self) -> str:
        return self.runtime.describe(self.name).state

    def processes(self) -> list[str]:
        return processes_of(self.turn(""))

    async def until_gone(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.processes():
                await asyncio.sleep(0.02)


@asynccontextmanager
async def beside_another(stage: AcpStage, **settings: Any) -> AsyncIterator[AcpRuntime]:
    """A runtime in which another session is in the middle of its turn, and ends it well when all is over."""
    fifo = stage.fifo("another")
    async with closing(stage.runtime(**settings)) as runtime:
        assert isinstance(runtime, AcpRuntime)
        another = Talk(stage, runtime, "another")
        working = another.begin(f"say: before\nhold: {fifo}\nsay: after")
        await another.until_said("before")
        yield runtime
        assert another.state == "Prompting"
        await fifo.open()
        assert (await working)[-1] == TurnEnded("before\n\nafter")


class JumpingClock:
    """The loop's time, which the test moves on at once: every timer that is due by then is due."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._real = self._loop.time
        self._ahead = 0.0
        self._loop.time = lambda: self._real() + self._ahead  # type: ignore[method-assign]

    async def jump(self, seconds: float) -> None:
        """What had come before has been handled, and what is due has run, as far as it needs no other process."""
        await self._run_what_is_ready()
        self._ahead += seconds
        await self._run_what_is_ready()

    @staticmethod
    async def _run_what_is_ready() -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    def back_to_normal(self) -> None:
        self._loop.time = self._real  # type: ignore[method-assign]


async def until(is_so: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            await asyncio.sleep(0.01)


def allow(ask: Ask, **more: Any) -> Response:
    return Response(request_id=ask.request_id, verdict="allow", **more)


def deny(ask: Ask, **more: Any) -> Response:
    return Response(request_id=ask.request_id, verdict="deny", **more)


def choose(*labels: str, **more: Any) -> Respond:
    """One label for each item of the question."""

    def respond(ask: Ask) -> Response:
        assert isinstance(ask, QuestionRequested), ask
        chosen = {item.text: label for item, label in zip(ask.items, labels, strict=False)}
        return allow(ask, chosen=chosen, **more)

    return respond


class FakePipes:
    """Stands in for a process: the test prints its lines, and reads what was written to it."""

    def __init__(self) -> None:
        self.written: list[dict[str, Any]] = []
        self._lines: asyncio.Queue[bytes | LineTooLong | None] = asyncio.Queue()
        self._is_written = asyncio.Event()

    def print(self, line: bytes | str | dict[str, Any] | LineTooLong | None) -> None:
        """None is the end of the output."""
        if isinstance(line, dict):
            line = json.dumps({"jsonrpc": "2.0", **line})
        self._lines.put_nowait(line.encode() if isinstance(line, str) else line)

    async def lines(self, *, on_too_long: Callable[[LineTooLong], None]) -> AsyncIterator[bytes]:
        while (line := await self._lines.get()) is not None:
            if isinstance(line, LineTooLong):
                on_too_long(line)
            else:
                yield line

    async def write(self, data: bytes) -> None:
        assert data.endswith(b"\n")
        assert data.count(b"\n") == 1
        self.written.append(json.loads(data))
        self._is_written.set()

    async def until_written(self, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            while not (found := [message for message in self.written if is_it(message)]):
                self._is_written.clear()
                await self._is_written.wait()
        return found[0]


class Heard:
    """A listener that remembers what it heard, in order."""

    def __init__(self) -> None:
        self.all: list[tuple[str, Any]] = []

    def hear_update(self, update: wire.Update, session_id: str) -> None:
        del session_id
        self.all.append(("update", update))

    def hear_withdrawal(self, request_id: str) -> None:
        self.all.append(("withdrawal", request_id))

    def hear_unknown_update(self, words: str) -> None:
        self.all.append(("unknown update", words))

    def hear_oddity(self, words: str) -> None:
        self.all.append(("oddity", words))

    def hear_lost_line(self, words: str) -> None:
        self.all.append(("lost line", words))
