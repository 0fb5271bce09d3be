"""Runs commands: checks the caller and the disk, then calls the handler of the request's type. Knows no command."""

from typing import Final

import msgspec

from fairlead.core.command_spec import CommandCatalogue, CommandSpec
from fairlead.core.commands import COMMANDS
from fairlead.core.decide.messages import is_allowed
from fairlead.core.replies import Reply
from fairlead.core.requests import Caller, Request
from fairlead.errors import Code, error
from fairlead.flow.commands.parts import CommandParts, Handler, MakeHandlers


class Commands(msgspec.Struct, frozen=True, kw_only=True):
    """The commands of one daemon: what they are, and what carries out those that are not built in."""

    catalogue: CommandCatalogue
    make_handlers: tuple[MakeHandlers, ...] = ()

    def with_command(self, spec: CommandSpec, make_handlers: MakeHandlers) -> "Commands":
        return Commands(catalogue=self.catalogue.with_command(spec), make_handlers=(*self.make_handlers, make_handlers))


BUILT_IN: Final = Commands(catalogue=COMMANDS)


class CommandHandlers:
    def __init__(self, parts: CommandParts, commands: Commands = BUILT_IN) -> None:
        self._parts = parts
        self._ledger = parts.ledger
        self._catalogue = commands.catalogue
        self._handlers: dict[type[Request], Handler] = {}
        for make in commands.make_handlers:
            self._handlers.update(make(parts))
        known = self._handlers.keys() | {spec.request for spec in COMMANDS.specs}
        missing = [spec.words for spec in commands.catalogue.specs if spec.request not in known]
        assert not missing, f"no handler for {missing}"

    async def run(self, request: Request, caller: Caller) -> Reply:
        spec = self._catalogue.spec_of(request)
        assert spec is not None, f"{type(request).__name__} is in no specification"
        self._check(spec, caller)
        reply = await self._handler_of(type(request))(request, caller)
        if not self._ledger.is_stalled:
            await self._ledger.until_all_durable()
        return reply

    def _handler_of(self, request: type[Request]) -> Handler:
        """Those of the built-in commands are loaded with the first of them: most messages are none."""
        if request not in self._handlers:
            from fairlead.flow.commands.built_in import make_built_in_handlers  # noqa: PLC0415 - see above

            self._handlers = make_built_in_handlers(self._parts) | self._handlers
        return self._handlers[request]

    def _check(self, spec: CommandSpec, caller: Caller) -> None:
        state = self._ledger.state
        if not is_allowed(state, caller.person, self._ledger.limits, pre_authorised=caller.pre_authorised):
            raise error(Code.E_OWNER_ONLY)
        if spec.who == "the owner" and not (caller.pre_authorised or caller.person == state.owner_id):
            raise error(Code.E_OWNER_ONLY, f"Only the owner may use /{spec.words}.")
        if not spec.works_on_full_disk:
            # Every other command would wait for the disk without a word to the person.
            self._ledger.check_disk_space()
