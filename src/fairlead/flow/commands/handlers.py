"""Runs commands: checks the caller and the disk, then calls the handler of the request's type. Knows no command."""

from typing import Final

import msgspec

from fairlead.core.command_spec import CommandCatalogue, CommandSpec
from fairlead.core.commands import COMMANDS
from fairlead.core.decide.messages import is_allowed
from fairlead.core.replies import Reply
from fairlead.core.requests import Caller, Request
from fairlead.errors import Code, error
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


class Commands(msgspec.Struct, frozen=True, kw_only=True):
    """The commands of one daemon: what they are, and what carries them out."""

    catalogue: CommandCatalogue
    make_handlers: tuple[MakeHandlers, ...]

    def with_command(self, spec: CommandSpec, make_handlers: MakeHandlers) -> "Commands":
        return Commands(catalogue=self.catalogue.with_command(spec), make_handlers=(*self.make_handlers, make_handlers))


BUILT_IN: Final = Commands(
    catalogue=COMMANDS,
    make_handlers=(
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
    ),
)


class CommandHandlers:
    def __init__(self, parts: CommandParts, commands: Commands = BUILT_IN) -> None:
        self._ledger = parts.ledger
        self._catalogue = commands.catalogue
        self._handlers: dict[type[Request], Handler] = {}
        for make in commands.make_handlers:
            self._handlers.update(make(parts))
        missing = [spec.words for spec in commands.catalogue.specs if spec.request not in self._handlers]
        assert not missing, f"no handler for {missing}"

    async def run(self, request: Request, caller: Caller) -> Reply:
        spec = self._catalogue.spec_of(request)
        assert spec is not None, f"{type(request).__name__} is in no specification"
        self._check(spec, caller)
        reply = await self._handlers[type(request)](request, caller)
        if not self._ledger.is_stalled:
            await self._ledger.until_all_durable()
        return reply

    def _check(self, spec: CommandSpec, caller: Caller) -> None:
        state = self._ledger.state
        if not is_allowed(state, caller.person, self._ledger.limits, pre_authorised=caller.pre_authorised):
            raise error(Code.E_OWNER_ONLY)
        if spec.who == "the owner" and not (caller.pre_authorised or caller.person == state.owner_id):
            raise error(Code.E_OWNER_ONLY, f"Only the owner may use /{spec.words}.")
        if not spec.works_on_full_disk:
            # Every other command would wait for the disk without a word to the person.
            self._ledger.check_disk_space()
