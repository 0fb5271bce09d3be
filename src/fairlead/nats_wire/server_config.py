"""What a NATS server must be told so that machines can use it and nothing else: accounts, keys, imports. Pure.

1. Every machine has an account of its own, with nothing in it. Its subjects are imports from the daemon's account, one
   by one (`MachineSubjects.for_runner`). Permissions on subjects in one account would not be enough: the server sends
   replies to any subject that a client names, so a machine could have a message of its own delivered as another
   machine's order.
2. JetStream is the daemon's alone. A machine makes no stream, no consumer and no bucket.
3. The configuration holds public keys and no secret. NATS reads JSON.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlead.nats_wire.access import MachineAccess
from fairlead.nats_wire.subjects import MachineSubjects

MAX_PAYLOAD: Final = 1024 * 1024
DAEMON_ACCOUNT: Final = "fairlead"
SYSTEM_ACCOUNT: Final = "fairlead-system"
_ANY: Final = MachineSubjects("*")


class Listeners(msgspec.Struct, frozen=True, kw_only=True):
    """Where an owned server listens. `websocket` is a port on the same host, 0 for none."""

    host: str
    port: int
    websocket: int = 0


def render_accounts(
    daemon_key: str, machines: Iterable[MachineAccess], *, system_key: str = "", account: str = DAEMON_ACCOUNT
) -> dict[str, Any]:
    """The accounts of a server, for an owned one as for one that somebody else runs."""
    accounts: dict[str, Any] = {
        account: {"jetstream": "enabled", "users": [{"nkey": daemon_key}], "exports": _exports()},
        **{f"{account}-{machine.machine_id}": _machine_account(machine, account) for machine in machines},
    }
    if system_key:
        accounts[SYSTEM_ACCOUNT] = {"users": [{"nkey": system_key}]}
    return accounts


def _exports() -> list[dict[str, Any]]:
    """The same for ever: a reload changes accounts of machines only. Orders are many answers to one request."""
    orders = "$JS.API.CONSUMER.MSG.NEXT.*.*"
    others = (
        f"{_ANY.lane('facts')}.*",
        _ANY.lane("live"),
        "$JS.ACK.*.*.>",
        "$KV.*.*",
        "$JS.API.DIRECT.GET.*.>",
        _ANY.every_blob,
        "$JS.API.STREAM.PURGE.*",
    )
    return [{"service": orders, "response": "stream"}, *({"service": subject} for subject in others)]


def _machine_account(machine: MachineAccess, account: str) -> dict[str, Any]:
    subjects = MachineSubjects(machine.machine_id).for_runner
    return {
        "users": [{"nkey": machine.public_key}],
        "imports": [{"service": {"account": account, "subject": subject}} for subject in subjects],
    }


def render_account_file(accounts: Mapping[str, Any]) -> bytes:
    """For the operator of another server: to be included within the `accounts` of its configuration, beside those that
    others have. A file with `accounts` of its own would replace all of them without a word."""
    entries = [f"{_json(name)}: {_json(account, indent=1)}" for name, account in accounts.items()]
    return ("# Written by Fairlead. Include it within `accounts { }`.\n" + ",\n".join(entries) + "\n").encode()


def _json(value: object, *, indent: int = 0) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=indent).decode()


def render_config(accounts: Mapping[str, Any], listeners: Listeners, directory: Path) -> bytes:
    """The whole configuration of an owned server; `directory` has its certificate and its store."""
    tls = {"cert_file": str(directory / "server.pem"), "key_file": str(directory / "server-key.pem"), "timeout": 10}
    # TLS before the first word: a server that offers it in clear text can be imitated on the way.
    tcp_tls = {**tls, "handshake_first": True}
    config: dict[str, Any] = {
        "server_name": "fairlead",
        "host": listeners.host,
        "port": listeners.port,
        "max_payload": MAX_PAYLOAD,
        "tls": tcp_tls,
        "jetstream": {"store_dir": str(directory / "store")},
        "system_account": SYSTEM_ACCOUNT,
        "accounts": accounts,
    }
    if listeners.websocket:
        config["websocket"] = {"host": listeners.host, "port": listeners.websocket, "tls": tls}
    return msgspec.json.format(msgspec.json.encode(config), indent=1)
