"""Commands of the owner from the command line: to the daemon that runs here, or, where none runs, to the journal.

Every user who can read the token or write the state directory is the owner.
"""

from fairlead.api import Client
from fairlead.api.client import ServerAway
from fairlead.app import record_alone
from fairlead.channels.http.token import read_token
from fairlead.core.identity import LOCAL_USER
from fairlead.core.replies import Reply
from fairlead.core.requests import Request
from fairlead.errors import Code, FairleadError, error
from fairlead.kit.files import read_if_there
from fairlead.settings import Settings
from fairlead.state_directory import ADDRESS_NAME, take_lock


async def ask(settings: Settings, request: Request) -> Reply:
    """Returns when what was asked for is durable. Raises the refusal, or E_CONFIG if a daemon runs that takes no
    commands."""
    try:
        return await record_alone(settings, request)
    except FairleadError as fault:
        if fault.code is not Code.E_STATE_LOCKED:
            raise
    address = running_address(settings)
    try:
        async with Client(address, read_token(settings.state_dir), channel="terminal") as client:
            return await client.command(request, LOCAL_USER)
    except ServerAway as away:
        raise error(Code.E_CONFIG, f"{away}.", next_step="It may be starting or stopping. Try again.") from None


def check_can_ask(settings: Settings) -> None:
    """Before work that takes minutes. Raises E_CONFIG if a daemon runs that takes no commands."""
    try:
        take_lock(settings.state_dir).release()
    except FairleadError as fault:
        if fault.code is not Code.E_STATE_LOCKED:
            raise
        running_address(settings)


def running_address(settings: Settings) -> str:
    """Where the daemon that holds this state directory serves HTTP. Raises E_CONFIG if it serves none."""
    address = read_if_there(settings.state_dir / ADDRESS_NAME)
    if address is None:
        raise error(
            Code.E_CONFIG,
            f"The Fairlead that uses {settings.state_dir} has its HTTP server turned off.",
            next_step="Start it with FAIRLEAD_HTTP=1.",
        )
    return address.decode().strip()
