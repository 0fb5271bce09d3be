"""The parts that handlers of commands share, and the look-ups that several of them need. Handles no command."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from fairlead.core.decide.projects import project_to_work_in
from fairlead.core.replies import Reply
from fairlead.core.requests import Caller, Request
from fairlead.core.state import Project, Session, State
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.agent_runtimes import AgentRuntimes
from fairlead.flow.hooks.deliveries import HookDeliveries
from fairlead.flow.intake.messages import MessageIntake
from fairlead.flow.ledger import Ledger
from fairlead.flow.queries.agent_checks import AgentChecks
from fairlead.flow.queries.job_history import JobHistory
from fairlead.flow.queries.stored_sessions import StoredSessions
from fairlead.flow.schedules.schedules import Schedules
from fairlead.flow.spawns.spawning import Spawning
from fairlead.flow.turns.limit_windows import LimitWindows
from fairlead.flow.turns.scheduler import Scheduler
from fairlead.flow.work_trees.undoing import Undoing
from fairlead.flow.worktrees.keeper import WorktreeKeeper
from fairlead.machine_ports import NO_MACHINES, OtherMachines
from fairlead.ports import Channel, Directories, History, HookSecrets, Runtime
from fairlead.tree_ports import NO_TREES, WorkTrees


class DefaultAgent(msgspec.Struct, frozen=True, kw_only=True):
    """The agent that `agent start` begins with where nobody names one. Only one that a setting names `goes_first`,
    before the project's own."""

    name: str = ""
    goes_first: bool = False


NO_DEFAULT: Final = DefaultAgent()

Handler = Callable[[Any, Caller], Awaitable[Reply]]
"""Carries out a request of its own type for a caller. Raises the FairleadError that refuses it."""

HandlerTable = Mapping[type[Request], Handler]


class CommandParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the flow that a command may use. `workspaces` is the directory of the agents' own files."""

    ledger: Ledger
    intake: MessageIntake
    scheduler: Scheduler
    history: History
    job_history: JobHistory
    channels: Mapping[str, Channel]
    directories: Directories
    runtimes: Mapping[str, Runtime]
    agent_runtimes: AgentRuntimes
    agent_checks: AgentChecks
    spawning: Spawning
    workspaces: str
    hook_secrets: HookSecrets
    hook_deliveries: HookDeliveries
    schedules: Schedules
    limit_windows: LimitWindows
    stored_sessions: StoredSessions
    worktrees: WorktreeKeeper
    default_agent: DefaultAgent = NO_DEFAULT
    trees: WorkTrees = NO_TREES
    undoing: Undoing
    machines: OtherMachines = NO_MACHINES

    @property
    def state(self) -> State:
        return self.ledger.state

    def project(self, name: str) -> Project:
        """By name or number. Raises E_PROJECT_NOT_FOUND."""
        project = self.state.project_named(name)
        if project is None:
            raise error(Code.E_PROJECT_NOT_FOUND, f"There is no project {name[:60]!r}.")
        return project

    def project_to_work_in(self, caller: Caller, name: str | None) -> Project | FairleadError:
        """The project that a session of this caller, here, works in or would begin in."""
        return project_to_work_in(self.state, session=self.session_here(caller), person=caller.person, asked_for=name)

    def runtimes_of(self, session: Session) -> tuple[str, ...]:
        """The agents that can be chosen in the session's project now."""
        project = self.state.projects.get(session.project)
        available = self.ledger.limits.runtimes
        return tuple(name for name in available if project is None or name in project.enabled_runtimes)

    def session_here(self, caller: Caller) -> Session | None:
        return self.state.session_for(caller.conversation, caller.session_key, self.ledger.now())

    def managed_session(self, caller: Caller) -> Session:
        """Raises E_NOT_IN_MANAGED_THREAD."""
        session = self.session_here(caller)
        if session is None:
            raise error(Code.E_NOT_IN_MANAGED_THREAD)
        return session


MakeHandlers = Callable[[CommandParts], HandlerTable]
