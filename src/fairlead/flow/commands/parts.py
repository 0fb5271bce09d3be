"""The parts that handlers of commands share, and the look-ups that several of them need. Handles no command."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from fairlead.core.replies import Reply
from fairlead.core.requests import Caller, Request
from fairlead.core.state import Project, Session, State
from fairlead.errors import Code, error
from fairlead.flow.ledger import Ledger
from fairlead.flow.queries.job_history import JobHistory
from fairlead.flow.turns.scheduler import Scheduler
from fairlead.ports import Channel, Directories, History, Runtime

Handler = Callable[[Any, Caller], Awaitable[Reply]]
"""Carries out a request of its own type for a caller. Raises the FairleadError that refuses it."""

HandlerTable = Mapping[type[Request], Handler]


class CommandParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the flow that a command may use. `workspaces` is the directory of the agents' own files."""

    ledger: Ledger
    scheduler: Scheduler
    history: History
    job_history: JobHistory
    channels: Mapping[str, Channel]
    directories: Directories
    runtimes: Mapping[str, Runtime]
    workspaces: str

    @property
    def state(self) -> State:
        return self.ledger.state

    def project(self, name: str) -> Project:
        """By name or number. Raises E_PROJECT_NOT_FOUND."""
        project = self.state.project_named(name)
        if project is None:
            raise error(Code.E_PROJECT_NOT_FOUND, f"There is no project {name[:60]!r}.")
        return project

    def session_here(self, caller: Caller) -> Session | None:
        return self.state.session_for(caller.conversation, caller.session_key, self.ledger.now())

    def managed_session(self, caller: Caller) -> Session:
        """Raises E_NOT_IN_MANAGED_THREAD."""
        session = self.session_here(caller)
        if session is None:
            raise error(Code.E_NOT_IN_MANAGED_THREAD)
        return session


MakeHandlers = Callable[[CommandParts], HandlerTable]
