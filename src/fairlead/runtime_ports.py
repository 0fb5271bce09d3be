"""The interface between the flow and the runtimes of agents: what the flow calls, and what it is told. Part of `ports`,
where everybody imports it from. Nothing is implemented here."""

from collections.abc import AsyncIterator, Callable
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from fairlead.core.agent_sessions import ResumeCommand, SessionWriter, StoredSession
from fairlead.core.agent_tools import ToolHolder
from fairlead.core.engine import (
    AgentInitiated,
    AgentInstruction,
    AgentOption,
    EngineEvent,
    Invocation,
    SlashCommand,
    Steer,
    SteerResult,
)
from fairlead.core.ids import ResumeKey


class RuntimeCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a runtime can do beyond running a turn. Everything defaults to no, but a turn has a time limit."""

    permissions: bool = False
    questions: bool = False
    refusal_words: bool = False
    """An agent that is refused hears why, and goes on with that."""
    interrupt: bool = False
    images: bool = False
    models: bool = False
    modes: bool = False
    agent_turns: bool = False
    second_attempt: bool = False
    bounded_turns: bool = True
    steering: bool = False
    """The agent takes further words into a turn that runs."""
    forks: bool = False
    """The agent can begin another session with all that was said in this one."""
    fork_points: bool = False
    """It can also begin one with what was said up to a point that it has named (`PointReached`)."""
    prepares: bool = False
    """An agent can be started before its first prompt."""
    commands: bool = False
    """The agent may have slash commands of its own; `AgentInfo` lists those that it has told of so far."""
    gets_ready: bool = False
    """A turn's stream begins with Ready, and until then the runtime changes nothing that anybody could see: so the turn
    may ask for Ready while its start is still being written to disk, and for more if HandingOver is still to come."""
    hand_over: Literal["start", "told"] = "start"
    """From when on an agent may have the prompt of a turn: from its start, or from HandingOver. After a crash before
    that, the job is run again by itself."""
    starts_with_prompt: bool = False
    """The agent's process gets its prompt as it starts, so it starts when the hand-over is on disk. Every other agent's
    process starts before that."""
    is_remote: bool = False
    """The agent works on another machine, whose runner keeps the turn: it outlives this process, and the runner bounds
    its time. HandingOver tells of what has happened there already."""


class JobLog(Protocol):
    """Takes the raw output of an agent as it comes; the log itself redacts secrets and keeps to its size limit."""

    def write(self, stream: Literal["stdout", "stderr"], data: bytes) -> None: ...

    def close(self) -> None: ...


JobLogs: TypeAlias = Callable[[str], JobLog]
"""The log of a job, by its id."""


AgentState = Literal["Created", "Active", "Prompting", "Closed"]


class AgentInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The process behind a session, as its runtime describes it. `takes_prompt_at_once` says that its runtime knows of
    nothing that the next prompt would have to wait for: a process waits for it, or may start with it."""

    state: AgentState = "Closed"
    takes_prompt_at_once: bool = False
    model: str = ""
    models: tuple[str, ...] = ()
    mode: str = ""
    modes: tuple[str, ...] = ()
    context_used: int = 0
    context_size: int = 0
    options: tuple[AgentOption, ...] = ()
    commands: tuple[SlashCommand, ...] = ()


class AgentPreparation(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that is started for a session which it does not belong to yet; `ticket` stands for that session's key
    until then. With a `resume_key` the agent goes on with what it knows of the session."""

    ticket: str
    project_path: str
    mark: str
    args: tuple[str, ...] = ()
    resume_key: ResumeKey | None = None


class RuntimeHealth(msgspec.Struct, frozen=True, kw_only=True):
    """A runtime's self-check, made without a request to any model."""

    ok: bool
    program: str = ""
    version: str = ""
    notes: tuple[str, ...] = ()
    needs_login: bool = False


class ToolReply(msgspec.Struct, frozen=True):
    """What an agent is told about its call of one of Fairlead's own tools."""

    text: str
    ok: bool = True


class ToolHandler(Protocol):
    """Carries out the calls that agents make of Fairlead's own tools. `holder` comes from the capability that the agent
    was given, never from the agent."""

    def tools_of(self, holder: ToolHolder) -> tuple[str, ...]:
        """The names of the tools that this agent has now."""
        ...

    async def call(self, holder: ToolHolder, *, call_id: str, tool: str, arguments: dict[str, Any]) -> ToolReply:
        """Returns when all that the call says is durable. The same `call_id` is carried out once."""
        ...


class SessionRecords(Protocol):
    """What an agent's program keeps of its own sessions, however they were begun. Reads, and changes nothing. What it
    finds there is text of others, and may be anything."""

    @property
    def are_files(self) -> bool:
        """Reading them starts no program."""
        ...

    async def list_sessions(self, directory: str) -> tuple[StoredSession, ...]:
        """Those that work in exactly this directory, the latest change first; a record that cannot be read is left
        out. Raises the FairleadError that says why there is no list."""
        ...

    async def read_session(self, directory: str, key: ResumeKey, since: str = "") -> StoredSession | None:
        """One of them with its last exchanges, None if there is none; with `since`, an earlier `position`, it has and
        counts only the exchanges that were added after that."""
        ...

    async def find_writers(self, directory: str, key: ResumeKey) -> tuple[SessionWriter, ...]:
        """The processes that have this session open now, as far as that can be seen; empty where nothing can be."""
        ...

    async def resume_command(self, directory: str, key: ResumeKey) -> ResumeCommand | None:
        """How a person goes on with it in a shell; None where that is not known."""
        ...


class _NoRecords:
    are_files = True

    async def list_sessions(self, directory: str) -> tuple[StoredSession, ...]:  # noqa: ARG002 - the port's names
        return ()

    async def read_session(self, directory: str, key: ResumeKey, since: str = "") -> StoredSession | None:  # noqa: ARG002
        return None

    async def find_writers(self, directory: str, key: ResumeKey) -> tuple[SessionWriter, ...]:  # noqa: ARG002
        return ()

    async def resume_command(self, directory: str, key: ResumeKey) -> ResumeCommand | None:  # noqa: ARG002
        return None


NO_RECORDS: Final[SessionRecords] = _NoRecords()


class Runtime(Protocol):
    @property
    def records(self) -> SessionRecords:
        """The agent's own records of its sessions; NO_RECORDS where Fairlead knows of none."""
        ...

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> RuntimeCapabilities: ...

    def invoke(self, invocation: Invocation) -> AsyncIterator[EngineEvent]:
        """One turn: a stream that ends with exactly one TurnEnded or TurnFailed. Closing it early ends the turn, and
        returns only when nothing of it is left running."""
        ...

    async def prepare(self, preparation: AgentPreparation) -> None:
        """Start an agent and its session, without a prompt; nothing where agents live for one turn. Raises the
        FairleadError that the first turn would have failed with. `end_session(ticket, …)` ends it unused."""
        ...

    def adopt(self, ticket: str, session_key: str, generation: int) -> None:
        """The prepared agent belongs to this session from now on; ignored if it is gone."""
        ...

    async def instruct(self, session_key: str, instruction: AgentInstruction) -> None:
        """Pass a response, an interruption or a setting to the agent of this session; ignored when no agent runs,
        except for a mode, which the session's next agent gets too. Raises E_MODE_UNAVAILABLE."""
        ...

    async def steer(self, session_key: str, steer: Steer) -> SteerResult:
        """Give further words to the turn that runs. Returns when it is certain what became of them, at the latest soon
        after the turn has ended. Raises nothing; called only where `capabilities.steering` says so."""
        ...

    def watch_agent_turns(self) -> AsyncIterator[AgentInitiated]:
        """The events of turns that agents begin by themselves, for ever; ends at once where agents never do that."""
        ...

    def describe(self, session_key: str) -> AgentInfo: ...

    async def end_session(self, session_key: str, how: Literal["stop", "kill"]) -> None: ...

    async def check(self) -> RuntimeHealth: ...

    async def aclose(self) -> None:
        """End every process; nothing is left behind."""
        ...
