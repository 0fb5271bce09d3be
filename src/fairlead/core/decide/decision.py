"""What a decision is: the facts to write, and, for a refusal, the error."""

import msgspec

from fairlead.core.events import JournalEvent
from fairlead.core.ids import BindingId, EntryId, JobId, QuestionId
from fairlead.errors import Code, FairleadError, error


class Decision(msgspec.Struct, frozen=True):
    """`events` are written even when there is a refusal: a refused message leaves a fact.

    The caller goes on with the object that the field of its kind names; the other fields are empty: the job that was
    made, chosen or changed, the question that is asked, the project, the outbox entry, the binding,
    the schedule, the worktree."""

    events: tuple[JournalEvent, ...] = ()
    refusal: FairleadError | None = None
    duplicate: bool = False
    job_id: JobId = JobId("")
    question_id: QuestionId = QuestionId("")
    project: str = ""
    entry_id: EntryId = EntryId("")
    binding_id: BindingId = BindingId("")
    schedule: int = 0
    worktree: int = 0


NOTHING = Decision()


def refuse(code: Code, message: str = "", *, next_step: str = "") -> Decision:
    return Decision(refusal=error(code, message, next_step=next_step))
