"""What the type of a setting cannot say about its value: a check gives the value back, or says what is wrong."""

import re
from pathlib import Path
from typing import Final

from fairlead.core.agent_tools import TOOL_NAMES
from fairlead.core.identity import LOCAL_USER, IdentityDefaults, link_identities
from fairlead.core.keys import is_valid_part
from fairlead.errors import FairleadError
from fairlead.kit.addresses import parse_address
from fairlead.kit.local_zone import NO_ZONE, load_zone
from fairlead.settings_values import Others, Secret

LEAST_HEARTBEAT_TIMEOUT_SEC: Final = 45.0
IDENTITY_DEFAULTS: Final = IdentityDefaults(numeric_channel="discord", owner_account=f"terminal:{LOCAL_USER}")
"""Discord gives out ids of digits alone, and the owner's known account is the terminal's."""
NO_AGENT_TOOLS: Final = "none"
_HOST_NAME: Final = re.compile(
    r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?"
)


def make_absolute(value: Path, _others: Others) -> Path:
    """No shell expands `~` in `.env`; and a later change of directory must not move the state."""
    return value.expanduser().absolute()


def check_identities(value: dict[str, tuple[str, ...]], _others: Others) -> dict[str, tuple[str, ...]]:
    try:
        link_identities(value, IDENTITY_DEFAULTS)
    except FairleadError as mistake:
        raise ValueError(mistake.message.removeprefix("FAIRLEAD_IDENTITIES: ").rstrip(".")) from None
    return value


def check_key_part(value: str, _others: Others) -> str:
    if not is_valid_part(value):
        raise ValueError("must have 1 to 128 visible characters and no ':'")
    return value


def check_absolute(value: tuple[str, ...], _others: Others) -> tuple[str, ...]:
    relative = [p for p in value if not p.startswith(("/", "~"))]
    if relative:
        raise ValueError(f"not absolute: {', '.join(relative)}")
    return value


def check_command(value: tuple[str, ...], _others: Others) -> tuple[str, ...]:
    if value and (not value[0].strip() or any("\0" in part for part in value)):
        raise ValueError('must name a program, as in ["goose", "acp"]')
    return value


def check_time_zone(value: str, _others: Others) -> str:
    if value:
        try:
            load_zone(value)
        except NO_ZONE:
            raise ValueError("must be a time zone such as Europe/Berlin") from None
    return value


def check_owner(value: Secret, others: Others) -> Secret:
    if not others["discord_owner_id"]:
        raise ValueError(
            "is set, so DISCORD_OWNER_ID is required too: only the owner and the allow-list may use the bot"
        )
    if not others["discord_owner_id"].isdecimal():
        raise ValueError("is set, so DISCORD_OWNER_ID must be a Discord user id, which is a number")
    return value


def check_id(value: str, _others: Others) -> str:
    if not value.isdecimal():
        raise ValueError(
            "must be a Discord id, which is a number: turn on Discord's developer mode and use Copy ID in the menu"
        )
    return value


def check_heartbeat_timeout(value: float, others: Others) -> float:
    """A quiet gateway says nothing between two heartbeats: with a shorter timeout every pause
    would end a healthy connection and use up the day's IDENTIFYs. Only the gateway of the tests beats faster."""
    least = 0.1 if others["discord_gateway_url"] else LEAST_HEARTBEAT_TIMEOUT_SEC
    if not value >= least:
        raise ValueError(
            f"is {value:g} and must be at least {least:g}: Discord's heartbeat comes every 41 s, and a quiet "
            "connection would time out again and again"
        )
    return value


def check_agent_tools(value: tuple[str, ...], _others: Others) -> tuple[str, ...]:
    """`none` alone turns them off; an empty value counts as no value."""
    if value == (NO_AGENT_TOOLS,):
        return ()
    wrong = [name for name in value if name not in TOOL_NAMES]
    if wrong:
        raise ValueError(f"takes {', '.join(TOOL_NAMES)}, or {NO_AGENT_TOOLS} alone: not {', '.join(wrong)}")
    return value


def check_addresses(value: tuple[str, ...], _others: Others) -> tuple[str, ...]:
    wrong = [text for text in value if parse_address(text) is None]
    if wrong:
        raise ValueError(f"takes addresses such as 127.0.0.1 or ::1, without a port: not {', '.join(wrong)}")
    return value


def check_host_names(value: tuple[str, ...], _others: Others) -> tuple[str, ...]:
    """Exact names only: with a pattern, a name that somebody else points at this machine might fit."""
    wrong = [name for name in value if not _HOST_NAME.fullmatch(name)]
    if wrong:
        raise ValueError(f"takes names such as box.example.org, without http://, port or *: not {', '.join(wrong)}")
    return tuple(name.lower().rstrip(".") for name in value)


def check_nats_urls(value: tuple[str, ...], _others: Others) -> tuple[str, ...]:
    if any(not url.startswith(("tls://", "wss://", "nats://", "ws://")) for url in value):
        raise ValueError("must begin with tls://, wss://, nats:// or ws://")
    if any("@" in url for url in value):
        raise ValueError("must hold no password: Fairlead makes keys of its own")
    return value


def check_listen(value: str, _others: Others) -> str:
    host, colon, port = value.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError("must be an address and a port, as in 0.0.0.0:4222")
    return value
