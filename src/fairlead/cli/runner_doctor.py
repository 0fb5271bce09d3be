"""`fairlead runner doctor`: whether this machine has joined, its key is safe and accepted, a runner runs, and agents
are there. Imported only where the extra `machines` is installed."""

import asyncio
import stat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from fairlead.cli.health import check_all, describe_health
from fairlead.cli.installed_files import describe_files
from fairlead.cli.output import tell
from fairlead.core.agents import ConfiguredAgent
from fairlead.errors import Code, FairleadError, error
from fairlead.nats_wire.access import ServerAddress
from fairlead.nats_wire.connection import FAULTS, connect
from fairlead.observe import JobLogDirectory, Redactor
from fairlead.real_runner import read_joined
from fairlead.render.errors import error_sentence, error_text
from fairlead.runtimes.catalogue import Catalogue
from fairlead.settings import Settings
from fairlead.state_directory import JOINED_NAME, take_lock
from fairlead.store.agents_file import AgentsFile

CHECK_SEC: Final = 15.0


def check_runner(settings: Settings) -> bool:
    """Tells of everything. Raises E_CONFIG if this machine has not joined."""
    joining = read_joined(settings.runner_dir)
    _tell("machine", f"this machine is {joining.name}; it dials {', '.join(joining.urls)}", ok=True)
    results = [_check_key(settings), _check_server(joining.address)]
    _check_process(settings)
    return all((*results, asyncio.run(_check_agents(settings))))


def _tell(name: str, sentence: str, *, ok: bool) -> bool:
    tell(f"{name:<10} {'ok  ' if ok else 'FAIL'} {sentence}")
    return ok


def _check_key(settings: Settings) -> bool:
    path = settings.runner_dir / JOINED_NAME
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        return _tell("key", f"{path} can be read by others (its mode is {mode:04o}). Run: chmod 600 {path}", ok=False)
    return _tell("key", f"{path}, for you alone.", ok=True)


def _check_server(address: ServerAddress) -> bool:
    try:
        asyncio.run(try_server(address))
    except FairleadError as refused:
        return _tell("server", error_sentence(refused), ok=False)
    return _tell("server", "the server accepts its key.", ok=True)


def _check_process(settings: Settings) -> None:
    try:
        take_lock(settings.runner_dir).release()
        tell(f"{'runner':<10} -    no runner runs here. `fairlead runner run` starts it.")
    except FairleadError as held:
        _tell("runner", f"a runner runs here: {error_text(held).what}", ok=True)


async def _check_agents(settings: Settings) -> bool:
    """As the runner starts them. One that can run turns is enough, and all that were installed must be whole."""
    agents = _read_agents(settings)
    files = [describe_files(settings.runner_dir, agent, "fairlead runner agent") for agent in agents.values()]
    are_whole = [_tell("installed", sentence, ok=ok) for ok, sentence in files if sentence]
    with TemporaryDirectory(prefix="fairlead-doctor-") as spare:
        catalogue = Catalogue(settings, JobLogDirectory(Path(spare), Redactor([])))
        catalogue.follow(agents)
        healthy = False
        async for name, health in check_all(catalogue.runtimes.values()):
            _tell(f"  {name}", describe_health(health), ok=health.ok)
            healthy = healthy or health.ok
        await catalogue.aclose()
        return healthy and all(are_whole)


def _read_agents(settings: Settings) -> dict[str, ConfiguredAgent]:
    try:
        return AgentsFile(settings.runner_dir).read()
    except FairleadError as mistake:
        _tell("agents", error_sentence(mistake), ok=False)
        return {}


async def try_server(address: ServerAddress) -> None:
    """Raises E_MACHINE_REMOVED if the server does not accept the key, E_CONFIG if it cannot be reached."""
    try:
        async with asyncio.timeout(CHECK_SEC), connect(address, name="fairlead join"):
            pass
    except FAULTS as fault:
        reason = str(fault) or "no answer"
        if "uthorization" in reason or "uthentication" in reason:
            raise error(
                Code.E_MACHINE_REMOVED,
                "The server does not accept this key.",
                next_step="Run `fairlead machine add NAME` on the other machine again: it prints a new line.",
            ) from None
        raise error(
            Code.E_CONFIG,
            f"{', '.join(address.urls)} cannot be reached: {reason}.",
            next_step="Check that Fairlead runs there, that its port is open, and FAIRLEAD_MACHINES_ADDRESS there.",
        ) from None
