"""What carries out the built-in commands. This imports all of them, so a daemon loads it with the first command."""

from typing import Final

from fairlead.core.commands import COMMANDS
from fairlead.core.requests import Request
from fairlead.flow.commands.agent_sessions import agent_session_handlers
from fairlead.flow.commands.agents import agent_handlers
from fairlead.flow.commands.budgets import budget_handlers
from fairlead.flow.commands.changes import change_handlers
from fairlead.flow.commands.configured_agents import configured_agent_handlers
from fairlead.flow.commands.forks import fork_handlers
from fairlead.flow.commands.hooks import hook_handlers
from fairlead.flow.commands.jobs import job_handlers
from fairlead.flow.commands.machines import machine_handlers
from fairlead.flow.commands.parts import CommandParts, Handler, MakeHandlers
from fairlead.flow.commands.projects import project_handlers
from fairlead.flow.commands.rules import rule_handlers
from fairlead.flow.commands.schedules import schedule_handlers
from fairlead.flow.commands.sessions import session_handlers
from fairlead.flow.commands.spawns import spawn_handlers
from fairlead.flow.commands.steering import steering_handlers
from fairlead.flow.commands.thread_start import thread_start_handlers
from fairlead.flow.commands.worktrees import worktree_handlers

_MAKE_HANDLERS: Final[tuple[MakeHandlers, ...]] = (
    project_handlers,
    rule_handlers,
    hook_handlers,
    budget_handlers,
    schedule_handlers,
    session_handlers,
    agent_session_handlers,
    job_handlers,
    agent_handlers,
    configured_agent_handlers,
    machine_handlers,
    thread_start_handlers,
    spawn_handlers,
    change_handlers,
    worktree_handlers,
    steering_handlers,
    fork_handlers,
)


def make_built_in_handlers(parts: CommandParts) -> dict[type[Request], Handler]:
    handlers = {request: handler for make in _MAKE_HANDLERS for request, handler in make(parts).items()}
    missing = [spec.words for spec in COMMANDS.specs if spec.request not in handlers]
    assert not missing, f"no handler for {missing}"
    return handlers
