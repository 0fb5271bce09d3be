"""The rule by which a person is mentioned. The settings read it, so it knows nothing of the state."""

from typing import Final, Literal

import msgspec

Ping = Literal["needed", "done", "never"]
"""Only if something needs a person (a question, a failure); also at the end of a long turn; never."""

LONG_TURN_SEC: Final = 60.0


class PingRule(msgspec.Struct, frozen=True):
    ping: Ping = "done"
    long_turn_sec: float = LONG_TURN_SEC
