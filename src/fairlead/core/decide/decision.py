"""What a decision is: the facts to write, and, where the answer is no, why."""

import msgspec

from fairlead.core.events import JournalEvent
from fairlead.errors import Code, FairleadError, error


class Decision(msgspec.Struct, frozen=True):
    """`events` are written even when there is a refusal: a refused message leaves its mark.

    `subject` names what the decision is about where the caller needs it: a job, a question, a project."""

    events: tuple[JournalEvent, ...] = ()
    refusal: FairleadError | None = None
    subject: str = ""
    duplicate: bool = False


NOTHING = Decision()


def refused(code: Code, message: str = "", *, next_step: str = "") -> Decision:
    return Decision(refusal=error(code, message, next_step=next_step))
