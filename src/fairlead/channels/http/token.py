"""The bearer token: made once, kept 0600 in the state directory, compared in constant time. Knows no request."""

import hmac
import re
import secrets
from pathlib import Path
from typing import Final

from fairlead.errors import Code, error
from fairlead.kit.files import PRIVATE_FILE, read_if_there, replace_durably

FILE_NAME: Final = "http-token"
_FORM: Final = re.compile(r"[A-Za-z0-9_-]{20,}")


def read_or_make_token(state_directory: Path) -> str:
    """The token of this state directory. Only for the one process that holds it: two makers would disagree."""
    path = state_directory / FILE_NAME
    kept = _read(path)
    if kept is None:
        token = secrets.token_urlsafe(32)
        replace_durably(path, f"{token}\n".encode())
        return token
    if path.stat().st_mode & 0o077:
        path.chmod(PRIVATE_FILE)  # a copied or restored file may have become readable for others
    return _parse_token(path, kept)


def read_token(state_directory: Path) -> str:
    """The token that a daemon made here, for its clients."""
    path = state_directory / FILE_NAME
    kept = _read(path)
    if kept is None:
        raise error(Code.E_UNAUTHORIZED, f"There is no {path}.", next_step="`fairlead up` makes it at its first start.")
    return _parse_token(path, kept)


def _read(path: Path) -> bytes | None:
    try:
        return read_if_there(path)
    except OSError as fault:
        raise error(Code.E_CONFIG, f"{path} cannot be read: {fault.strerror or fault}.") from fault


def _parse_token(path: Path, kept: bytes) -> str:
    token = kept.decode("ascii", "replace").strip()
    if _FORM.fullmatch(token):
        return token
    raise error(Code.E_CONFIG, f"{path} holds no token.", next_step="Remove the file; the next start makes a new one.")


def is_bearer(header: str, token: str) -> bool:
    scheme, _, given = header.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(
        given.strip().encode("utf-8", "backslashreplace"), token.encode()
    )
