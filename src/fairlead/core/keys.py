"""Session keys: building and parsing are exact inverses. Knows no person and no channel.

agent:{agent}:user:{user}
agent:{agent}:channel:{space}:{channel}
agent:{agent}:thread:{space}:{thread}
agent:{agent}:schedule:{number}
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final, Literal

import msgspec

from fairlead.core.ids import SessionKeyText
from fairlead.errors import Code, error

MAX_PART: Final = 128
SEPARATOR: Final = ":"

_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Fillers, variation selectors and the empty Braille cell. Python calls them printable; no reader sees them."""

SessionKind = Literal["user", "channel", "thread", "schedule"]


class SessionKey(msgspec.Struct, frozen=True):
    """The parts of a session key: whose session it is, and for a shared one, in which space."""

    agent_id: str
    kind: SessionKind
    target_id: str
    space_id: str | None = None

    def __str__(self) -> str:
        space = () if self.space_id is None else (self.space_id,)
        return SEPARATOR.join(("agent", self.agent_id, self.kind, *space, self.target_id))

    @property
    def text(self) -> SessionKeyText:
        return SessionKeyText(str(self))

    @property
    def session_id(self) -> str:
        """The name shown to people: the thread's own id for a thread, otherwise the whole key."""
        return self.target_id if self.kind == "thread" else str(self)


def is_valid_part(part: str) -> bool:
    """A part that survives a round trip: not empty, not too long, no separator, nothing invisible."""
    return 0 < len(part) <= MAX_PART and SEPARATOR not in part and part.isprintable() and part.strip() == part


def normalise_id(user_id: str) -> str:
    """One form for ids that are the same text to a reader (NFC): é as one character, or as e and an accent."""
    return unicodedata.normalize("NFC", user_id)


def is_visible(user_id: str) -> bool:
    """Whether a reader sees all of it: some letters and marks are blank, or nothing at all."""
    return not _BLANK.search(user_id)


@lru_cache(maxsize=256)
def user_key(*, agent_id: str, user_id: str) -> SessionKey:
    return SessionKey(_check_part(agent_id, "agent id"), "user", _check_part(user_id, "user id"))


@lru_cache(maxsize=256)
def channel_key(*, agent_id: str, space_id: str, channel_id: str) -> SessionKey:
    return SessionKey(
        _check_part(agent_id, "agent id"),
        "channel",
        _check_part(channel_id, "channel id"),
        _check_part(space_id, "space id"),
    )


@lru_cache(maxsize=256)
def thread_key(*, agent_id: str, space_id: str, thread_id: str) -> SessionKey:
    return SessionKey(
        _check_part(agent_id, "agent id"),
        "thread",
        _check_part(thread_id, "thread id"),
        _check_part(space_id, "space id"),
    )


def schedule_key(*, agent_id: str, number: int) -> SessionKey:
    return SessionKey(_check_part(agent_id, "agent id"), "schedule", str(number))


def parse_session_key(text: str) -> SessionKey | None:
    """The key that `text` names, or None for anything that no builder could have made."""
    match text.split(SEPARATOR):
        case ["agent", agent, ("user" | "schedule") as kind, target]:
            parts = (agent, target)
            key = SessionKey(agent, kind, target)
        case ["agent", agent, ("channel" | "thread") as kind, space, target]:
            parts = (agent, space, target)
            key = SessionKey(agent, kind, target, space)
        case _:
            return None
    return key if all(map(is_valid_part, parts)) else None


def _check_part(part: str, name: str) -> str:
    if is_valid_part(part):
        return part
    raise error(
        Code.E_INVALID_USER if name == "user id" else Code.E_INVALID_ARGS,
        f"The {name} {part[:40]!r} must have 1 to {MAX_PART} visible characters and no '{SEPARATOR}'.",
    )
