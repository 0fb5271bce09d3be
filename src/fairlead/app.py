"""A daemon on this computer, from its lock to its end: `run_daemon`. `flow.startup.sequence` has the order of a start.

This module is loaded before the gateway is asked, so it imports only what the first steps need; `real_machine` has the
rest."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

from fairlead.core.conversation import ConversationRef
from fairlead.core.identity import LOCAL_USER
from fairlead.core.keys import user_key
from fairlead.errors import Code, FairleadError, error
from fairlead.flow.startup import sequence
from fairlead.kit.files import NO_ROOM, REAL_DISK, Disk
from fairlead.observe import Redactor, RotatingFile, start_logging
from fairlead.runtimes.environment import secret_values
from fairlead.settings import Settings
from fairlead.state_directory import disk_full, explain_full_disk, take_lock

if TYPE_CHECKING:
    from fairlead.channels.discord.gateway.first_connection import FirstConnection
    from fairlead.core.replies import Reply
    from fairlead.core.requests import Caller, Request
    from fairlead.flow.assembly import Flow
    from fairlead.flow.commands.handlers import Commands
    from fairlead.ports import Runtime
    from fairlead.real_machine import RealMachine


class Daemon(msgspec.Struct, frozen=True, kw_only=True):
    """A Fairlead that is up. `notes` are for the person who started it."""

    settings: Settings
    flow: "Flow"
    runtimes: "dict[str, Runtime]"
    notes: tuple[str, ...]
    http_url: str = ""
    token: str = ""
    broken: asyncio.Future[FairleadError]
    count_clients: Callable[[], int]
    """How many connections HTTP clients have open now."""


@asynccontextmanager
async def run_daemon(
    settings: Settings,
    *,
    echo_warnings: bool = False,
    disk: Disk = REAL_DISK,
    commands: "Commands | None" = None,
    lock_note: str = "",
    connects_early: bool = True,
) -> AsyncGenerator[Daemon]:
    """Start in order; leaving the block stops in reverse. `lock_note` is shown to a process that finds the state
    directory in use."""
    async with AsyncExitStack() as stack:
        boot = RealBoot(
            settings,
            disk,
            commands,
            echo_warnings=echo_warnings,
            lock_note=lock_note,
            connects_early=connects_early,
        )
        with explain_full_disk(settings.state_dir):
            started = await sequence.start(boot, stack)
        machine = boot.machine
        yield Daemon(
            settings=settings,
            flow=started.flow,
            runtimes=machine.runtimes,
            notes=started.notes,
            http_url=machine.http_url,
            token=machine.token if machine.http_url else "",
            broken=machine.broken,
            count_clients=machine.count_clients,
        )


async def record_alone(settings: Settings, request: "Request") -> "Reply":
    """Carry out a command of the owner while no daemon runs, through the same handler as a daemon. Raises
    E_STATE_LOCKED if one runs.

    The journal is opened under the lock, because a hand edit of config.json would be decided only at the next start:
    what is refused then (a digest that changed) would stop that start instead of this command."""
    async with AsyncExitStack() as stack:
        boot = RealBoot(settings, REAL_DISK, None, echo_warnings=False)
        flow = await sequence.open_alone(boot, stack)
        return await flow.gate.command(request, _owner_here(settings))


def _owner_here(settings: Settings) -> "Caller":
    """Who may write the state directory is its owner."""
    from fairlead.core.requests import Caller

    person = settings.people().person_of("terminal", LOCAL_USER)
    return Caller(
        person=person,
        conversation=ConversationRef("terminal", settings.agent_id, LOCAL_USER),
        session_key=user_key(agent_id=settings.agent_id, user_id=person),
        pre_authorised=True,
    )


class RealBoot:
    """`Boot` of flow.startup: the first steps on this computer. Without `connects_early` the channels connect when they
    run: a start that is tried again and again must not send an IDENTIFY each time."""

    def __init__(
        self,
        settings: Settings,
        disk: Disk,
        commands: "Commands | None",
        *,
        echo_warnings: bool,
        lock_note: str = "",
        connects_early: bool = True,
    ) -> None:
        self._settings = settings
        self._disk = disk
        self._commands = commands
        self._echo_warnings = echo_warnings
        self._lock_note = lock_note
        self._connects_early = connects_early
        self._redactor = Redactor([*settings.secrets(), *secret_values(os.environ)])
        self._discord: FirstConnection | None = None
        self._machine: RealMachine | None = None

    @property
    def machine(self) -> "RealMachine":
        assert self._machine is not None, "the code has been loaded"
        return self._machine

    @contextmanager
    def lock(self) -> Generator[None]:
        """The logs are open as long as the lock is held, so that whatever the other steps find is in them."""
        with take_lock(self._settings.state_dir, self._lock_note):
            app_log = _open_logs(self._settings, self._redactor, echo_warnings=self._echo_warnings)
            try:
                yield
            finally:
                app_log.close()

    def connect(self, stack: AsyncExitStack) -> None:
        if self._settings.discord_token is None or not self._connects_early:
            return
        from fairlead.channels.discord.gateway.first_connection import FirstConnection

        self._discord = FirstConnection(self._settings)
        stack.push_async_callback(self._discord.aclose)

    async def load(self) -> "RealMachine":
        """In a thread, so that the channels go on connecting."""
        if self._settings.discord_token is not None:
            await asyncio.to_thread(import_module, "fairlead.channels.discord.channel")
        code = await asyncio.to_thread(import_module, "fairlead.real_machine")
        self._machine = code.RealMachine(
            self._settings, self._disk, self._commands, redactor=self._redactor, discord=self._discord
        )
        return self.machine


def _open_logs(settings: Settings, redactor: Redactor, *, echo_warnings: bool) -> RotatingFile:
    try:
        return start_logging(settings.log_dir, redactor, echo_warnings=echo_warnings)
    except OSError as fault:
        if fault.errno in NO_ROOM:
            raise disk_full(fault, settings.log_dir) from fault
        raise error(
            Code.E_CONFIG,
            f"LOG_DIR {settings.log_dir} cannot be written: {fault.strerror or fault}.",
            next_step="Set LOG_DIR to a directory that you can write.",
        ) from fault
