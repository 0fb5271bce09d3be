"""What a fork is asked for: a session that begins with all that was said in another one. Plain data."""

from typing import Final

import msgspec

from fairlead.core.engine import ForkOrigin
from fairlead.core.ids import JobId, SessionKeyText

FORK_SPACE: Final = "fork"
"""In the key of a forked session that has no thread: it goes on in the conversation where it was asked for."""


class ForkOrder(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """`forked_from` is the session that is copied, up to the end of its job `after`; `model` is the one that a person
    chose there for the same agent."""

    forked_from: SessionKeyText
    origin: ForkOrigin
    after: JobId = JobId("")
    model: str = ""
