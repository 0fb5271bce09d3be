"""The real flow on the real store, in virtual time: what stands in is the disk, the agents and the people."""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from posixpath import normpath
from random import Random
from typing import Any

from fairlead.core import requests as ask
from fairlead.core.command_spec import ChoiceSource
from fairlead.core.conversation import ConversationRef
from fairlead.core.decide.projects import DirectoryFacts
from fairlead.core.engine import (
    AgentInitiated,
    AgentInstruction,
    EngineEvent,
    Invocation,
    Steer,
    SteerResult,
)
from fairlead.core.inbound import Inbound
from fairlead.core.keys import user_key
from fairlead.core.limits import Limits
from fairlead.core.questions import RespondToQuestion
from fairlead.core.replies import Reply
from fairlead.core.requests import Caller
from fairlead.core.state import Job
from fairlead.flow.agent_calls import AgentToolSettings
from fairlead.flow.agent_runtimes import FIXED, RuntimeCatalogue
from fairlead.flow.assembly import Adapters, Flow
from fairlead.flow.commands.handlers import BUILT_IN, Commands
from fairlead.flow.startup import recovery
from fairlead.flow.turns.turn import TurnSettings
from fairlead.kit.tasks import TaskOwner
from fairlead.ports import (
    NO_FILES,
    AgentInfo,
    Channel,
    ProjectFiles,
    Receipt,
    Recorded,
    Runtime,
    RuntimeCapabilities,
    RuntimeHealth,
)
from fairlead.store.blobs import FileBlobs
from fairlead.store.history import find_lines
from fairlead.store.hook_secrets import FileHookSecrets
from fairlead.store.inboxes import FileInboxes
from fairlead.store.journal import JOURNAL_NAME, FileJournal, open_state
from fairlead.store.writer import RETRY_SECONDS, AppendFile, Batch, DiskFull, Progress
from fairlead.testing.channel import ChannelHistory, Post, RecordingChannel
from fairlead.testing.clock import VirtualClock, run_virtually
from fairlead.testing.disk import SimulatedDisk
from fairlead.testing.runtime import AgentLog, ScriptedRuntime

STATE = Path("/state")
OWNER = "42"


def virtually(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """The story runs on a loop of its own, in no real time, and leaves nothing behind."""

    @functools.wraps(test)
    def run(*args: Any, **more: Any) -> None:
        run_virtually(test(*args, **more))

    return run


def conversation_ref(name: str = "dm", channel: str = "chat") -> ConversationRef:
    return ConversationRef(channel, "acc", name)


class LoopWriter:
    """Writes a moment later on the loop itself; `held` keeps everything from becoming durable."""

    def __init__(self) -> None:
        self.held = False
        self._waiting: list[Batch] = []
        self._is_due = False

    def start(self, file: AppendFile, progress: Progress) -> None:
        self._file, self._progress = file, progress

    def put(self, batch: Batch) -> None:
        self._waiting.append(batch)
        self._schedule(0.001)

    def delay(self, steps: int, *, is_begun: bool = False) -> None:
        """Nothing: its steps are all a moment later."""

    def release(self) -> None:
        self.held = False
        self._schedule(0.001)

    def close(self) -> None:
        self.held = False
        self._commit()
        self.held = True

    def _schedule(self, wait: float) -> None:
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_later(wait, self._commit)

    def _commit(self) -> None:
        self._is_due = False
        if self.held or not self._waiting:
            return
        try:
            self._file.write(b"".join(b.data for b in self._waiting))
            self._file.sync()
        except DiskFull:
            self._progress.on_stalled()
            self._schedule(RETRY_SECONDS)
        except OSError as fault:
            self._progress.on_broken(fault)
        else:
            last = self._waiting[-1].last_seq
            self._waiting.clear()
            self._progress.on_durable(last)


class PretendedDirectories:
    """Every absolute path is a directory, but for those that are gone."""

    def __init__(self) -> None:
        self.gone: set[str] = set()
        self.below: dict[str, list[str]] = {}

    def inspect(self, path: str) -> DirectoryFacts:
        return DirectoryFacts(path, path, f"{path} does not exist." if path in self.gone else "")

    async def look(self, path: str) -> DirectoryFacts:
        return self.inspect(path)

    def problem_at(self, real_path: str) -> str:
        return self.inspect(real_path).problem

    async def files_below(self, path: str, typed: str) -> list[str]:
        return [found for found in self.below.get(path, []) if found.startswith(typed)]

    def subdirectories(self, path: str) -> list[str]:
        return self.below.get(path, [])

    def real_path(self, path: str) -> str:
        return normpath(path)


class Agent:
    """A runtime whose turns are written in the test: `play` is given the invocation and yields events."""

    name = "echo"

    def __init__(self, play: Callable[[Invocation], AsyncIterator[EngineEvent]], **can: Any) -> None:
        self.capabilities = RuntimeCapabilities(**can)
        self.invocations: list[Invocation] = []
        self.instructions: list[AgentInstruction] = []
        self.steers: list[Steer] = []
        self.heard = asyncio.Event()
        self.spoken: asyncio.Queue[AgentInitiated | Exception] = asyncio.Queue()
        self.open = 0
        self._play = play

    async def invoke(self, invocation: Invocation) -> AsyncIterator[EngineEvent]:
        self.invocations.append(invocation)
        self.open += 1
        try:
            async for event in self._play(invocation):
                yield event
        finally:
            self.open -= 1

    async def instruct(self, session_key: str, told: AgentInstruction) -> None:
        self.instructions.append(told)
        self.heard.set()

    async def steer(self, session_key: str, steer: Steer) -> SteerResult:
        self.steers.append(steer)
        self.heard.set()
        return await self.on_steer(steer)

    async def on_steer(self, steer: Steer) -> SteerResult:
        return SteerResult("taken")

    async def watch_agent_turns(self) -> AsyncIterator[AgentInitiated]:
        while True:
            said = await self.spoken.get()
            if isinstance(said, Exception):
                raise said
            yield said

    def describe(self, session_key: str) -> AgentInfo:
        return AgentInfo()

    async def end_session(self, session_key: str, how: str) -> None:
        pass

    async def check(self) -> RuntimeHealth:
        return RuntimeHealth(ok=True)

    async def aclose(self) -> None:
        pass


class FlowHarness:
    def __init__(self, flow: Flow, journal: FileJournal, blobs: FileBlobs, writer: LoopWriter, world: Adapters) -> None:
        self.flow = flow
        self.journal = journal
        self.blobs = blobs
        self.writer = writer
        self.world = world
        self.state = flow.ledger.state
        self.gate = flow.gate
        self.view = flow.view
        self.disk: SimulatedDisk
        self.agents: AgentLog
        self.history: ChannelHistory
        self.broken: list[Exception]

    def inbound(self, text: str, *, user: str = OWNER, at: ConversationRef | None = None, **more: Any) -> Inbound:
        message_id = more.pop("message_id", None) or self.history.new_message_id()
        key = more.pop("session_key", user_key(agent_id="fairlead", user_id=user))
        return Inbound(
            conversation=at or conversation_ref(user),
            session_key=key,
            message_id=message_id,
            person=user,
            text=text,
            pre_authorised=True,
            **more,
        )

    async def say(self, text: str, **more: Any) -> Receipt:
        return await self.gate.submit(self.inbound(text, **more))

    async def command(self, request: ask.Request, *, user: str = OWNER, at: ConversationRef | None = None) -> Reply:
        return await self.gate.command(request, self.caller(user, at))

    def caller(self, user: str = OWNER, at: ConversationRef | None = None, *, pre_authorised: bool = True) -> Caller:
        return Caller(
            person=user,
            conversation=at or conversation_ref(user),
            session_key=user_key(agent_id="fairlead", user_id=user),
            pre_authorised=pre_authorised,
        )

    def choices(self, source: ChoiceSource, typed: str = "", caller: Caller | None = None) -> list[str]:
        return [choice.value for choice in self.view.choices(source, typed, caller or self.caller())]

    async def until(self, condition: Callable[[], bool], *, seconds: float = 3600.0) -> None:
        """Until it is so, looking whenever the state changes or a second has passed."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while not condition():
            assert loop.time() < deadline, "it never came to be"
            try:
                async with asyncio.timeout(1.0):
                    await self.flow.ledger.until_changed(self.state.seq)
            except TimeoutError:
                pass
        await self.flow.ledger.until_all_durable()

    async def ended(self, job_id: str) -> Job:
        await self.until(lambda: not self.state.jobs[job_id].is_live)
        return self.state.jobs[job_id]

    async def answered(self, text: str, **more: Any) -> Job:
        return await self.ended((await self.say(text, **more)).job_id)

    async def quiet(self) -> None:
        """Nothing runs, and nothing is owed to a channel that pushes, or to a session."""
        await self.until(
            lambda: (
                not any(j.is_live for j in self.state.jobs.values())
                and not any(d.plan is None or d.plan.pieces or d.asker for d in self.state.outbox.values())
            )
        )

    async def question(self) -> str:
        await self.until(lambda: any(q.status == "open" for q in self.state.questions.values()))
        return next(q.question_id for q in self.state.questions.values() if q.status == "open")

    async def click(self, question_id: str, verdict: str = "allow", person: str = OWNER, **more: Any) -> str:
        return await self.gate.respond(
            RespondToQuestion(question_id=question_id, person=person, verdict=verdict, pre_authorised=True, **more)
        )  # type: ignore[arg-type]

    def posts(self, at: ConversationRef) -> list[Post]:
        return self.history.posts_at(at)

    def texts(self, at: ConversationRef) -> list[str]:
        return [post.text for post in self.posts(at)]

    def recorded(self) -> list[Recorded]:
        """The whole journal, as it can be read now."""
        path = STATE / JOURNAL_NAME
        return find_lines(self.disk, path, len(self.disk.read(path)), ["seq", "ts"])

    def facts(self, *kinds: type) -> list[Any]:
        return [r.event for r in self.recorded() if isinstance(r.event, kinds)]


@asynccontextmanager
async def run_flow(
    *,
    disk: SimulatedDisk | None = None,
    runtimes: list[Runtime] | None = None,
    agents: AgentLog | None = None,
    channels: list[Channel] | None = None,
    history: ChannelHistory | None = None,
    limits: Limits | None = None,
    settings: TurnSettings | None = None,
    directories: PretendedDirectories | None = None,
    projects: tuple[str, ...] = ("/srv/api",),
    fetchers: dict[str, Any] | None = None,
    recheckers: dict[str, Any] | None = None,
    life: int = 0,
    commands: Commands = BUILT_IN,
    make_catalogue: Callable[[dict[str, Any]], RuntimeCatalogue] | None = None,
    project_files: ProjectFiles = NO_FILES,
    agent_tools: AgentToolSettings | None = None,
    **more: Any,
) -> AsyncIterator[FlowHarness]:
    """From an open journal to running workers. Leaving it is the end of the process: nothing drains."""
    disk = disk or SimulatedDisk()
    if not disk.exists(STATE):
        disk.mkdir(STATE)
        disk.sync_directory(Path("/"))
    agents = agents or AgentLog()
    fresh_history = history is None
    history = history or ChannelHistory()
    playing = runtimes if runtimes is not None else [ScriptedRuntime(agents, life=life)]
    open_channels = channels if channels is not None else [RecordingChannel(history)]
    writer = LoopWriter()
    opened = open_state(STATE, disk)
    if fresh_history:
        history._last_id += opened.state.seq * 1000  # message ids rise from life to life
    broken: list[Exception] = []
    journal = FileJournal(STATE, opened, disk=disk, writer=writer, offload=_at_once, on_broken=broken.append)
    blobs = FileBlobs(STATE, disk=disk, offload=_at_once)
    shared = {r.name: r for r in playing}
    world = Adapters(
        state=opened.state,
        journal=journal,
        blobs=blobs,
        inboxes=FileInboxes(STATE, blobs, disk=disk, offload=_at_once),
        hook_secrets=FileHookSecrets(STATE, disk=disk, offload=_at_once),
        directories=directories or PretendedDirectories(),
        clock=VirtualClock(asyncio.get_running_loop()),
        limits=limits or Limits(runtimes=tuple(r.name for r in playing)),
        runtimes=shared,
        catalogue=make_catalogue(shared) if make_catalogue is not None else FIXED,
        channels={c.name: c for c in open_channels},
        fetchers=fetchers or {},
        recheckers=recheckers or {},
        random=Random(7),
        turn_settings=settings or TurnSettings(workspaces="/state/workspaces"),
        commands=commands,
        project_files=project_files,
        agent_tools=agent_tools or AgentToolSettings(),
        **more,
    )
    flow = FlowHarness(Flow(world), journal, blobs, writer, world)
    flow.disk, flow.agents, flow.history, flow.broken = disk, agents, history, broken
    ledger = flow.flow.ledger
    await recovery.found_state_and_begin(ledger, state_id="abcd", version="test", pid=1, owner_id=OWNER)
    await recovery.register_projects(ledger, recovery.ProjectSources(projects), world.directories)
    await recovery.mark_interrupted(ledger)
    flow.flow.queued_recheck.hold()
    async with TaskOwner("daemon") as owner:
        owner.start(flow.flow.run(), name="flow")
        try:
            yield flow
        finally:
            owner.cancel()
    await journal.aclose()


async def _at_once(work: Callable[[], Any]) -> Any:
    return work()
