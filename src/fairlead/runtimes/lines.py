"""One line of an agent's output to a typed event, or to the reason why not. Knows no agent's events."""

from typing import Any, Literal, TypeVar

import msgspec

from fairlead.core.engine import Diagnostic, EngineEvent

T = TypeVar("T")

EXCERPT = 300
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""All that a decoder raises for a line that it can't read."""


class Unread(msgspec.Struct, frozen=True):
    """`noise` is not a JSON object, `unknown` an event of a kind we do not know, `misshapen` a known one gone wrong."""

    why: Literal["noise", "unknown", "misshapen"]
    excerpt: str
    kind: str = ""
    reason: str = ""


class _Peek(msgspec.Struct):
    type: Any = None


_peek = msgspec.json.Decoder(_Peek)


def read_line(line: bytes, decoder: msgspec.json.Decoder[T], known: frozenset[str]) -> T | Unread:
    """Never raises: whatever an agent prints is data."""
    try:
        return decoder.decode(line)
    except UNREADABLE as fault:
        return why_unread(line, known, fault)


def why_unread(line: bytes, known: frozenset[str], fault: Exception) -> Unread:
    if isinstance(fault, msgspec.ValidationError):
        return _misfit(line.strip(), known, str(fault))
    return Unread("noise", excerpt(line.strip()), reason=str(fault))


def _misfit(line: bytes, known: frozenset[str], reason: str) -> Unread:
    if not line.startswith(b"{"):
        return Unread("noise", excerpt(line))
    try:
        kind = _peek.decode(line).type
    except UNREADABLE:
        return Unread("noise", excerpt(line), reason=reason)
    if isinstance(kind, str) and kind in known:
        return Unread("misshapen", excerpt(line), kind, reason)
    return Unread("unknown", excerpt(line), str(kind), reason)


def excerpt(line: bytes) -> str:
    text = line[: EXCERPT * 4].decode(errors="replace")
    return text if len(text) <= EXCERPT else text[:EXCERPT] + " …"


def diagnostics(unread: Unread) -> list[EngineEvent]:
    """Kept for the log; an empty line is nothing."""
    return [Diagnostic(unread.excerpt)] if unread.excerpt else []
