"""A child's environment, from an allow-list. Knows names of variables, never their values."""

import re
from collections.abc import Iterable, Mapping

from fairlead.settings import OWN_VARIABLES

PASSED_ON = "FAIRLEAD_RUNTIME_ENVIRONMENT"
"""The setting that names further variables for agents."""

_EVERYONES = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TERM",
        "TMPDIR",
        "SSH_AUTH_SOCK",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
        "REQUESTS_CA_BUNDLE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "all_proxy",
        "DBUS_SESSION_BUS_ADDRESS",
        "IS_SANDBOX",
    }
)
_EVERYONES_PREFIXES = ("LC_", "XDG_")
# An agent started from within another agent must not take itself for that one's child.
_NEVER = frozenset({"CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID"})


_SECRET_NAME = re.compile(r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD)$", re.IGNORECASE)


def child_environment(
    source: Mapping[str, str], *, own_prefixes: tuple[str, ...] = (), extra: Iterable[str] = ()
) -> dict[str, str]:
    """`own_prefixes` are the runtime's own variables (its API key among them), `extra` what the person added."""
    wanted = frozenset(extra)
    prefixes = (*_EVERYONES_PREFIXES, *own_prefixes)
    return {
        name: value
        for name, value in source.items()
        if (name in _EVERYONES or name in wanted or name.startswith(prefixes)) and not _is_ours(name)
    }


def withheld_names(source: Mapping[str, str], passed: Mapping[str, str]) -> frozenset[str]:
    """Variables that are set here, that the child does not get, and that the person could have it get."""
    return frozenset(name for name in source if name not in passed and not _is_ours(name))


def secret_values(source: Mapping[str, str]) -> list[str]:
    """What must not be read in a log: the values of all keys, tokens and passwords."""
    return [value for name, value in source.items() if _SECRET_NAME.search(name) and not value.startswith("/")]


def _is_ours(name: str) -> bool:
    return name.startswith(OWN_VARIABLES) or name in _NEVER
