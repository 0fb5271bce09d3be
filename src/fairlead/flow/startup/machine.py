"""The machine as a start needs it from the state on. The daemon brings the real one, the simulator a simulated one."""

from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Any, Literal, Protocol

import msgspec

from fairlead.core.decide.agents import ConfigureAgent, RemoveAgent
from fairlead.core.decide.projects import CreateProject, UpdateProject
from fairlead.core.state import State
from fairlead.errors import FairleadError
from fairlead.flow.assembly import Adapters, Flow
from fairlead.flow.startup.recovery import ProjectSources
from fairlead.kit.tasks import TaskOwner
from fairlead.ports import Directories


class StartFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The process that starts, and its settings. `new_state_id` is used if this start founds the state."""

    new_state_id: str
    version: str
    pid: int
    owner_id: str
    projects: ProjectSources


class HandEdits(Protocol):
    """The changes that a person made in the readable copy by hand; none if nobody edited it."""

    @property
    def owner_id(self) -> str: ...

    @property
    def agents(self) -> Sequence[ConfigureAgent | RemoveAgent]: ...

    @property
    def projects(self) -> Sequence[CreateProject | UpdateProject]: ...


class ConfigCopy(Protocol):
    """The readable copy of owner, projects and agents, config.json."""

    def read_edits(self, state: State, directories: Directories) -> HandEdits:
        """Raises E_CONFIG for a file that cannot be understood."""
        ...

    def explain_refusal(
        self, section: Literal["projects", "agents"], name: str, problem: FairleadError
    ) -> FairleadError:
        """The refusal of an edit, with the line of the file where it stands."""
        ...

    def encode(self, state: State) -> bytes: ...

    def was_edited(self) -> bool:
        """Whether a person changed the file since it was written, or is changing it now."""
        ...

    async def write(self, data: bytes) -> None:
        """The file is only a copy: a full disk delays it and raises nothing."""
        ...


class EndedProcess(Protocol):
    """An agent's process that outlived its daemon and was ended."""

    @property
    def pid(self) -> int: ...

    @property
    def command(self) -> str: ...


class ChannelStart(Protocol):
    """A channel's part in a start."""

    @property
    def name(self) -> str: ...

    def prepare(self) -> None:
        """Called once, when no job runs and none can start: the channel notes what the last process left on people's
        screens (statuses that say a job runs). It sends nothing yet."""
        ...

    async def run(self) -> None:
        """For ever. The channel connects, and after each connection fetches the messages that it missed."""
        ...


class HostMachine(Protocol):
    @property
    def config(self) -> ConfigCopy: ...

    async def open(self, stack: AsyncExitStack) -> Adapters:
        """The state, its journal and all other adapters; `stack` gets what must be closed. Raises FairleadError."""
        ...

    def reports(self) -> Sequence[str]:
        """Findings of `open` that a person should read."""
        ...

    def start_facts(self) -> StartFacts: ...

    def end_left_over_agents(self, state_id: str) -> Sequence[EndedProcess]:
        """End every process that an agent of this state left behind; they are gone when this returns."""
        ...

    def forget_unnamed_files(self, state: State) -> None:
        """Remove the blobs, and the files in sessions' inboxes, that the state needs no more."""
        ...

    def make_channels(self, flow: Flow, adapters: Adapters) -> Sequence[ChannelStart]:
        """Registers every channel in `adapters`, and returns those that take part in the start."""
        ...

    def background_work(self, flow: Flow, adapters: Adapters) -> dict[str, Coroutine[Any, Any, None]]:
        """The work that runs beside the flow, by name: snapshots, the index, the readable copy."""
        ...

    async def stop(self, flow: Flow, owner: TaskOwner) -> None:
        """The stop of everything that `owner` runs."""
        ...

    async def serve(self, stack: AsyncExitStack) -> None:
        """Open the channels whose clients connect by themselves; `stack` gets what closes them."""
        ...
